"""Bundles: what is written comes back bit for bit, and whatever is wrong with one is said in a sentence."""

import hashlib
import pickle
from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import msgspec
import numpy as np
import pytest

from longshore.core.arrays.features import feature_hash, feature_specs
from longshore.core.network import bundle_files as module
from longshore.core.network.bundle import LOAD_SCALE, Bundle, BundleFacts, LoadScale, blank_inputs
from longshore.core.network.bundle_files import CARD_FILE, POLICY_FILE, WEIGHTS_FILE, read_bundle, write_bundle
from longshore.core.network.forward import SCORE, Op, forward
from longshore.core.network.weights import write_weights
from longshore.core.words.errors import InputError
from longshore.policies.bundle_folder import SHIPPED, read_folder
from support import jax_arrays
from support.bundle_samples import (
    FEATURES,
    deepsets_tensors,
    make_bundle,
    make_by_load,
    make_dial,
    make_fixed,
    make_hybrid,
)

Files = dict[str, bytes]
OTHER_LOAD = LoadScale(0.1, 0.2, scarce_from=0.5, scarce_over=0.25, little_below=0.3)

SAMPLES = [
    pytest.param(make_bundle(), id="plain"),
    pytest.param(make_hybrid("kube-default"), id="hybrid"),
    pytest.param(make_dial(), id="with a preference"),
    pytest.param(make_fixed(4), id="of fixed size"),
    pytest.param(make_by_load(load=OTHER_LOAD), id="by load"),
]


def changed(files: Files, **changes: Any) -> Files:
    """Change fields of policy.json."""
    document = msgspec.json.decode(files[POLICY_FILE]) | changes
    return files | {POLICY_FILE: msgspec.json.encode(document)}


def with_weights(files: Files, weights: bytes) -> Files:
    """Put other weights there, with the digest that belongs to them."""
    return changed(files | {WEIGHTS_FILE: weights}, weights_sha256=hashlib.sha256(weights).hexdigest())


def score(policy: Bundle) -> np.ndarray[Any, Any]:
    inputs = blank_inputs(policy, policy.num_nodes or 5)
    draw = np.random.default_rng(3)
    rows = draw.random(inputs.rows.shape, np.float32)
    found: np.ndarray[Any, Any] = forward(policy.ops, policy.tensors, inputs._replace(rows=rows))[SCORE]
    return found


@pytest.mark.parametrize("policy", SAMPLES)
def test_a_policy_comes_back_as_it_was(policy: Bundle):
    found = read_bundle(write_bundle(policy))
    for name in BundleFacts.__struct_fields__:
        assert getattr(found, name) == getattr(policy, name), name
    jax_arrays.assert_same_trees(found.tensors, policy.tensors)


@pytest.mark.parametrize("policy", SAMPLES)
def test_scores_are_bit_equal_after_reload(policy: Bundle):
    assert score(read_bundle(write_bundle(policy))).tobytes() == score(policy).tobytes()


def test_writing_again_what_was_read_gives_the_same_bytes():
    files = write_bundle(make_dial())
    assert write_bundle(read_bundle(files)) == files


def test_arrays_of_jax_are_written_like_those_of_numpy():
    policy = make_bundle()
    on_device = msgspec.structs.replace(policy, tensors={k: jnp.asarray(v) for k, v in policy.tensors.items()})
    assert write_bundle(on_device) == write_bundle(policy)


def test_policy_json_names_its_format_its_features_and_the_digest_of_its_weights():
    files = write_bundle(make_bundle())
    document = msgspec.json.decode(files[POLICY_FILE])
    assert document["format"] == 2
    assert document["features"] == list(feature_specs(FEATURES))
    assert document["feature_hash"] == feature_hash(FEATURES)
    assert document["weights_sha256"] == hashlib.sha256(files[WEIGHTS_FILE]).hexdigest()


def test_format_1_means_the_load_scale_that_it_does_not_name():
    files = changed(write_bundle(make_by_load(load=OTHER_LOAD)), format=1)
    text = {name: value for name, value in msgspec.json.decode(files[POLICY_FILE]).items() if name != "load"}
    assert read_bundle(files | {POLICY_FILE: msgspec.json.encode(text)}).load == LOAD_SCALE


def test_format_1_names_no_load_scale_where_none_is_read():
    assert read_bundle(changed(write_bundle(make_bundle()), format=1)).load is None


def test_format_1_has_no_field_for_the_load_scale():
    with pytest.raises(InputError, match="field `load` in format 1"):
        read_bundle(changed(write_bundle(make_by_load()), format=1))


@pytest.mark.parametrize("name", ["openb", "openb-nodes", "openb-power"])
def test_shipped_bundles_of_format_1_are_read_as_before(name: str):
    assert b'"format": 1' in (SHIPPED / name / POLICY_FILE).read_bytes()
    assert read_folder(SHIPPED / name).load == LoadScale(
        cpu_beforehand=0.024, gpus_beforehand=0.03, scarce_from=0.9, scarce_over=1.05 - 0.9, little_below=0.1
    )


@pytest.mark.parametrize(
    ("policy", "changes", "want"),
    [
        pytest.param(make_by_load(), {"load": None}, "load scale None, expected one", id="none where it is read"),
        pytest.param(make_bundle(), {"load": LOAD_SCALE}, "and only there", id="one where it is not read"),
        pytest.param(
            make_by_load(), {"load": msgspec.structs.asdict(LOAD_SCALE) | {"scarce_over": 0.0}},
            "scarce_over 0.0, expected a finite number above 0", id="no width",
        ),
        pytest.param(make_by_load(), {"load": {"scarce_from": 0.9}}, "missing required field", id="a part of it"),
    ],
)  # fmt: skip
def test_a_load_scale_that_is_not_sound_is_refused(policy: Bundle, changes: dict[str, Any], want: str):
    with pytest.raises(InputError, match=want):
        read_bundle(changed(write_bundle(policy), **changes))


def test_the_model_card_is_for_people_and_not_needed():
    files = write_bundle(make_bundle())
    del files[CARD_FILE]
    assert read_bundle(files).name == "sample"


def foreign(files: Files) -> Files:
    return with_weights(files, write_weights({"encoder.weight": np.zeros((3, 3), np.float32)}))


def of_another_shape(files: Files) -> Files:
    return with_weights(files, write_weights(deepsets_tensors(len(FEATURES) + 1)))


def not_finite(value: float) -> Callable[[Files], Files]:
    def change(files: Files) -> Files:
        tensors = deepsets_tensors(len(FEATURES))
        tensors["w2"][3, 0] = value
        return with_weights(files, write_weights(tensors))

    return change


def without(name: str) -> Callable[[Files], Files]:
    return lambda files: {other: data for other, data in files.items() if other != name}


def with_op(**fields: Any) -> Callable[[Files], Files]:
    def change(files: Files) -> Files:
        ops = msgspec.json.decode(files[POLICY_FILE])["ops"]
        return changed(files, ops=[*ops[:2], ops[2] | fields, *ops[3:]])

    return change


def with_policy_text(text: bytes) -> Callable[[Files], Files]:
    return lambda files: files | {POLICY_FILE: text}


@pytest.mark.parametrize(
    ("change", "want", "want_hint"),
    [
        pytest.param(without(POLICY_FILE), "has no `policy.json`", "a folder with", id="no policy.json"),
        pytest.param(without(WEIGHTS_FILE), "has no `weights.safetensors`", "a folder with", id="no weights"),
        pytest.param(lambda f: with_weights(f, f[WEIGHTS_FILE][:-4]), "cut off", "copy the bundle", id="truncated"),
        pytest.param(
            lambda f: f | {WEIGHTS_FILE: f[WEIGHTS_FILE][:-1] + b"\x01"}, "SHA-256 differ", "copy", id="wrong digest"
        ),
        pytest.param(foreign, "do not belong to the network", "of the same bundle", id="foreign weights"),
        pytest.param(of_another_shape, "expected \\(4, n\\)", "all files of one bundle", id="weights of another shape"),
        pytest.param(not_finite(np.nan), "`w2` holds numbers that are not finite", "diverged", id="nan"),
        pytest.param(not_finite(-np.inf), "`w2` holds numbers that are not finite", "diverged", id="infinity"),
        pytest.param(lambda f: with_weights(f, pickle.dumps([1])), "a pickle", "never does", id="pickle"),
        pytest.param(
            lambda f: changed(f, features=["latency@2", "node_is_on@2", "cost@1", "carbon@1"]),
            "`latency@2`, expected `latency@1`",
            "release of longshore",
            id="feature of another version",
        ),
        pytest.param(
            lambda f: changed(f, features=["latencies@1"]), "unknown feature", "`latency`", id="unknown feature"
        ),
        pytest.param(lambda f: changed(f, feature_hash="0" * 64), "feature hash", "copy", id="wrong feature hash"),
        pytest.param(lambda f: changed(f, format=3), "format version 3, expected 1 or 2", "release", id="later format"),
        pytest.param(with_op(kind="eval"), "unknown operation `eval`", "", id="unknown operation"),
        pytest.param(with_op(code="1/0"), "cannot be read", "copy", id="unknown field of an operation"),
        pytest.param(lambda f: changed(f, colour="red"), "unknown field `colour`", "copy", id="unknown field"),
        pytest.param(lambda f: changed(f, name=5), "cannot be read", "copy", id="field of another type"),
        pytest.param(lambda f: changed(f, name="a\nb"), "printable", "another name", id="name of two lines"),
        pytest.param(with_policy_text(b"{"), "cannot be read", "copy", id="bad JSON"),
        pytest.param(with_policy_text(b'{"name": "x"}'), "cannot be read", "copy", id="no format"),
        pytest.param(with_policy_text(b"\xff\xfe"), "cannot be read", "copy", id="no text"),
        pytest.param(with_policy_text(b"[" * 100_000), "cannot be read", "copy", id="deep JSON"),
        pytest.param(with_policy_text(b" " * (1024**2 + 1)), "at most 1048576", "no policy", id="oversized JSON"),
    ],
)
def test_a_bundle_that_is_not_sound_is_refused(change: Callable[[Files], Files], want: str, want_hint: str):
    with pytest.raises(InputError, match=want) as caught:
        read_bundle(change(write_bundle(make_bundle())))
    assert want_hint in (caught.value.hint or "")


def test_weights_over_the_limit_are_refused():
    files = write_bundle(make_bundle())
    with pytest.raises(InputError, match="expected at most 67108864"):
        read_bundle(files | {WEIGHTS_FILE: bytes(64 * 1024**2 + 1)})


def test_what_could_not_be_read_is_not_written():
    with pytest.raises(InputError, match="at most"):
        write_bundle(make_bundle(provenance={"log": "x" * module.MAX_POLICY_BYTES}))


def test_reading_runs_nothing_of_the_bundle(monkeypatch: pytest.MonkeyPatch):
    def forbidden(*_arguments: object, **_options: object) -> None:
        raise AssertionError("a bundle was executed")

    files = write_bundle(make_bundle(objective="!code.py", ops=(Op("scale", ("prior",), "score", ("s",)),),
                                     prior="__import__('os')", tensors={"s": np.ones(1, np.float32)}))  # fmt: skip
    for name in ("eval", "exec", "compile"):
        monkeypatch.setattr(f"builtins.{name}", forbidden)
    monkeypatch.setattr(pickle, "loads", forbidden)
    assert read_bundle(files).prior == "__import__('os')"
