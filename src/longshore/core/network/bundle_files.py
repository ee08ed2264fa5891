"""A trained policy as a bundle: files by name with their bytes, and back.

A bundle is `policy.json` (what the policy reads, its network as a list of operations, how it came to be),
`weights.safetensors` (the network's tensors) and `README.md` (the model card, for people). It is data: reading one
executes nothing of it, and whatever could not run is refused here, with a sentence that says what to do.
"""

import hashlib
from collections.abc import Mapping
from typing import Annotated

import msgspec
import numpy as np

from longshore.core.arrays.features import feature_hash, names_of
from longshore.core.network.bundle import LOAD_SCALE, Bundle, BundleFacts, Envelope, Interval, Weight, check_bundle
from longshore.core.network.forward import LOAD, reads
from longshore.core.network.model_card import render_card
from longshore.core.network.weights import read_weights, write_weights
from longshore.core.words.errors import InputError

__all__ = ["Bundle", "Envelope", "Interval", "Weight", "read_bundle", "write_bundle"]

FORMAT_VERSION = 2
POLICY_FILE, WEIGHTS_FILE, CARD_FILE = "policy.json", "weights.safetensors", "README.md"
MAX_POLICY_BYTES = 1024**2


class Document(BundleFacts, frozen=True, kw_only=True, eq=False, forbid_unknown_fields=True):
    """What `policy.json` holds."""

    format: Annotated[int, msgspec.Meta(description="the version of this format: 2; 1 is read too")] = FORMAT_VERSION
    feature_hash: Annotated[str, msgspec.Meta(description="SHA-256 of `features`, one a line, in hex")]
    weights_sha256: Annotated[str, msgspec.Meta(description=f"SHA-256 of `{WEIGHTS_FILE}`, in hex")]


class _Format(msgspec.Struct):
    """The one field that every version of the format has."""

    format: int


def write_bundle(bundle: Bundle) -> dict[str, bytes]:
    """Return a policy's files by name.

    Raises:
        InputError: the policy could not be read back.
    """
    bundle = msgspec.structs.replace(bundle, tensors={k: np.asarray(v) for k, v in bundle.tensors.items()})
    check_bundle(bundle)
    weights = write_weights(bundle.tensors)
    document = Document(
        **{name: getattr(bundle, name) for name in BundleFacts.__struct_fields__},
        feature_hash=feature_hash(bundle.feature_names),
        weights_sha256=hashlib.sha256(weights).hexdigest(),
    )
    text = msgspec.json.format(msgspec.json.encode(document), indent=2) + b"\n"
    files = {POLICY_FILE: text, WEIGHTS_FILE: weights, CARD_FILE: render_card(bundle).encode()}
    read_bundle(files)  # what is written can be read: the limits hold for both
    return files


def read_bundle(files: Mapping[str, bytes]) -> Bundle:
    """Return the policy of a bundle's files; the model card is for people and is not read.

    Raises:
        InputError: a file is missing, damaged, foreign, too large, of another version, or could not run.
    """
    for name in (POLICY_FILE, WEIGHTS_FILE):
        if name not in files:
            raise InputError(
                f"the bundle has no `{name}`", f"a bundle is a folder with `{POLICY_FILE}` and `{WEIGHTS_FILE}`"
            )
    document = _read_document(files[POLICY_FILE])
    _check_features(document)
    weights = files[WEIGHTS_FILE]
    tensors = read_weights(weights)
    if hashlib.sha256(weights).hexdigest() != document.weights_sha256:
        raise InputError(
            f"`{WEIGHTS_FILE}` is not the file that `{POLICY_FILE}` was written with: their SHA-256 differ",
            "copy the whole bundle again from where it was made; do not mix files of several bundles",
        )
    facts = {name: getattr(document, name) for name in BundleFacts.__struct_fields__}
    bundle = Bundle(**facts, tensors=tensors, version=hashlib.sha256(files[POLICY_FILE]).hexdigest())
    check_bundle(bundle)
    return bundle


def _read_document(data: bytes) -> Document:
    if len(data) > MAX_POLICY_BYTES:
        raise InputError(
            f"`{POLICY_FILE}` has {len(data)} bytes, expected at most {MAX_POLICY_BYTES}", "this is no policy of ours"
        )
    try:
        version = msgspec.json.decode(data, type=_Format).format
        if version not in (1, FORMAT_VERSION):
            raise InputError(
                f"`{POLICY_FILE}`: got the format version {version}, expected 1 or {FORMAT_VERSION}",
                "use the release of longshore that wrote the bundle, or train the policy again",
            )
        document = msgspec.json.decode(data, type=Document)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InputError(
            f"`{POLICY_FILE}` cannot be read: {error}", "copy the bundle again from where it was made"
        ) from error
    if version > 1:
        return document
    if document.load is not None:
        raise InputError(f"`{POLICY_FILE}`: got the field `load` in format 1, which has none", "set `format` to 2")
    return msgspec.structs.replace(document, load=LOAD_SCALE if reads(document.ops, LOAD) else None)


def _check_features(document: Document) -> None:
    if feature_hash(names_of(document.features)) != document.feature_hash:
        raise InputError(
            f"`{POLICY_FILE}`: the feature hash is not that of the features listed",
            "the list was changed after training; copy the bundle again from where it was made",
        )
