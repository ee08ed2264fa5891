"""Tensors as safetensors bytes: nothing is lost, and nothing is believed that was not checked."""

import contextlib
import io
import pickle
import zipfile
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from longshore.core.network import weights as module
from longshore.core.network.weights import DTYPES, read_weights, write_weights
from longshore.core.words.errors import InputError

TENSORS = {
    "w": np.arange(6, dtype=np.float32).reshape(2, 3),
    "steps": np.array(7, np.int64),
    "index": np.array([-1, 2**31 - 1], np.int32),
}


def make_file(header: object, data: bytes = b"", length: int | None = None) -> bytes:
    text = msgspec.json.encode(header)
    return (len(text) if length is None else length).to_bytes(8, "little") + text + data


def entry(shape: list[int], begin: int, end: int, dtype: str = "F32") -> dict[str, Any]:
    return {"dtype": dtype, "shape": shape, "data_offsets": [begin, end]}


@settings(max_examples=50)
@given(st.data())
def test_tensors_come_back_bit_for_bit(data: st.DataObject):
    shapes = data.draw(st.lists(st.lists(st.integers(0, 3), max_size=4), max_size=4))
    tensors = {}
    for number, shape in enumerate(shapes):
        dtype = data.draw(st.sampled_from(list(DTYPES.values())))
        size = int(np.prod(shape)) * dtype.itemsize
        raw = data.draw(st.binary(min_size=size, max_size=size))
        tensors[f"tensor {number} ä"] = np.frombuffer(raw, dtype).reshape(shape)
    found = read_weights(write_weights(tensors))
    assert {name: (t.dtype, t.shape, t.tobytes()) for name, t in found.items()} == {
        name: (t.dtype, t.shape, t.tobytes()) for name, t in tensors.items()
    }


def test_the_order_of_tensors_and_of_memory_does_not_change_the_bytes():
    other = {name: TENSORS[name].copy(order="F") for name in reversed(TENSORS)}
    assert write_weights(other) == write_weights(TENSORS)


def test_tensors_that_were_read_cannot_be_changed():
    with pytest.raises(ValueError, match="read-only"):
        read_weights(write_weights(TENSORS))["w"][0, 0] = 5


def test_the_file_is_laid_out_as_the_format_says():
    data = write_weights({"b": np.array([1.5], np.float32), "a": np.array([3], np.int64)})
    length = int.from_bytes(data[:8], "little")
    assert length % 8 == 0
    assert msgspec.json.decode(data[8 : 8 + length]) == {
        "a": {"dtype": "I64", "shape": [1], "data_offsets": [0, 8]},
        "b": {"dtype": "F32", "shape": [1], "data_offsets": [8, 12]},
    }
    assert data[8 + length :] == b"\x03" + bytes(7) + np.float32(1.5).tobytes()


def test_metadata_of_other_writers_is_passed_over():
    data = make_file({"__metadata__": {"format": "pt"}, "w": entry([1], 0, 4)}, bytes(4))
    assert list(read_weights(data)) == ["w"]


def test_a_type_that_is_not_ours_is_not_written():
    with pytest.raises(InputError, match="float64, expected float32"):
        write_weights({"w": np.zeros(1)})


def zip_bytes() -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("archive/data.pkl", pickle.dumps({}))
    return file.getvalue()


def numpy_bytes() -> bytes:
    file = io.BytesIO()
    np.save(file, np.zeros(3))
    return file.getvalue()


@pytest.mark.parametrize(
    ("data", "want"),
    [
        *(pytest.param(pickle.dumps([1], protocol), "pickle", id=f"pickle {protocol}") for protocol in (2, 3, 4, 5)),
        pytest.param(zip_bytes(), "torch.save", id="torch"),
        pytest.param(numpy_bytes(), "NumPy file", id="numpy"),
        pytest.param(b"\x89HDF\r\n\x1a\n" + bytes(40), "HDF5", id="hdf5"),
    ],
)
def test_other_formats_are_named_and_not_opened(data: bytes, want: str):
    with pytest.raises(InputError, match=want) as caught:
        read_weights(data)
    assert "longshore train" in (caught.value.hint or "")


@pytest.mark.parametrize("kept", [0, 7, 8, 60, -1])
def test_a_truncated_file_is_refused(kept: int):
    with pytest.raises(InputError, match="cut off") as caught:
        read_weights(write_weights(TENSORS)[:kept])
    assert "copy the bundle again" in (caught.value.hint or "")


@pytest.mark.parametrize(
    ("data", "want"),
    [
        pytest.param(write_weights(TENSORS) + b"x", "longer than its header", id="bytes behind the end"),
        pytest.param(make_file({"w": entry([2], 0, 4)}, bytes(4)), "does not fit", id="shape larger than range"),
        pytest.param(make_file({"w": entry([1], 4, 8)}, bytes(8)), "does not fit", id="hole before"),
        pytest.param(make_file({"a": entry([1], 0, 4), "b": entry([1], 0, 4)}, bytes(4)), "does not fit", id="overlap"),
        pytest.param(make_file({"w": entry([-1], 0, -4)}), "shape", id="negative size"),
        pytest.param(make_file({"w": entry([2**40, 2**40], 0, 4)}, bytes(4)), "does not fit", id="astronomic shape"),
        pytest.param(make_file({"w": entry([2**28], 0, 2**30)}), "cut off", id="claims more than there is"),
        pytest.param(make_file({"w": entry([1] * 5, 0, 4)}, bytes(4)), "shape", id="too many dimensions"),
        pytest.param(make_file({"w": entry([1], 0, 8, "F64")}, bytes(8)), "the type `F64`", id="type"),
        pytest.param(make_file({"w": {"dtype": "F32"}}), "header cannot be read", id="entry without shape"),
        pytest.param(make_file([1]), "header cannot be read", id="header is a list"),
        pytest.param((4).to_bytes(8, "little") + b"\xff{}}", "header cannot be read", id="no JSON"),
        pytest.param((200_000).to_bytes(8, "little") + b"[" * 200_000, "header cannot be read", id="deep JSON"),
        pytest.param(make_file({}, length=2**62), "header claims", id="oversized header"),
        pytest.param(b"once upon a time there was a file", "header claims", id="text"),
        pytest.param(make_file({str(n): entry([0], 0, 0) for n in range(1001)}), "1001 tensors", id="too many tensors"),
    ],
)
def test_a_header_that_cannot_be_true_is_refused(data: bytes, want: str):
    with pytest.raises(InputError, match=want):
        read_weights(data)


def test_a_file_over_the_limit_is_refused(monkeypatch: pytest.MonkeyPatch):
    data = write_weights(TENSORS)
    monkeypatch.setattr(module, "MAX_BYTES", len(data) - 1)
    with pytest.raises(InputError, match=f"{len(data)} bytes, expected at most {len(data) - 1}"):
        read_weights(data)


@settings(max_examples=300)
@given(st.integers(0, 400), st.binary(min_size=1, max_size=4))
def test_damage_is_refused_or_harmless(position: int, noise: bytes):
    data = bytearray(write_weights(TENSORS))
    data[position : position + len(noise)] = noise
    with contextlib.suppress(InputError):
        read_weights(bytes(data))
