"""Tensors as the bytes of a safetensors file, and back: plain numbers with a header, nothing in it can run.

The file is 8 bytes with the header's length, the header (JSON: every tensor's type, shape and byte range), the numbers.
Everything that the header claims is checked against limits and against the file's length before a number is read, so
that a hostile file costs no more than its own size.
"""

import math
from collections.abc import Mapping
from typing import Any

import msgspec
import numpy as np

from longshore.core.words.errors import InputError

MAX_BYTES = 64 * 1024**2
"""Of the whole file. A network that decides in a millisecond has a thousandth of it."""
MAX_HEADER_BYTES = 1024**2
MAX_TENSORS = 1000
MAX_DIMENSIONS = 4

DTYPES: dict[str, np.dtype[Any]] = {"F32": np.dtype("<f4"), "I32": np.dtype("<i4"), "I64": np.dtype("<i8")}
"""The types that a network's tensors may have."""

_LENGTH_BYTES = 8
_METADATA = "__metadata__"
_ALIGNMENT = 8
_AGAIN = "copy the bundle again from where it was made"

# What people save models as, by the first bytes of the file.
_OTHER_FORMATS: tuple[tuple[bytes, str], ...] = (
    (b"PK\x03\x04", "a zip archive, as torch.save and numpy.savez write them"),
    (b"\x80\x02", "a pickle"),
    (b"\x80\x03", "a pickle"),
    (b"\x80\x04", "a pickle"),
    (b"\x80\x05", "a pickle"),
    (b"\x93NUMPY", "a NumPy file"),
    (b"\x89HDF", "an HDF5 file"),
    (b"\x1f\x8b", "a gzip archive"),
)


class _Entry(msgspec.Struct, forbid_unknown_fields=True):
    """What the header says about one tensor."""

    dtype: str
    shape: list[int]
    data_offsets: tuple[int, int]


Tensors = dict[str, np.ndarray[Any, Any]]


def write_weights(tensors: Mapping[str, np.ndarray[Any, Any]]) -> bytes:
    """Return tensors as the bytes of a safetensors file, the same bytes for the same tensors.

    Raises:
        InputError: a type that is not of `DTYPES`.
    """
    names = {dtype: name for name, dtype in DTYPES.items()}
    for name, tensor in tensors.items():
        if tensor.dtype not in names:
            raise InputError(
                f"tensor `{name}`: got the type {tensor.dtype}, expected float32, int32 or int64", "convert it first"
            )
    header: dict[str, object] = {}
    chunks: list[bytes] = []
    position = 0
    # The widest types first, so that every tensor begins where its type may.
    for name in sorted(tensors, key=lambda name: (-tensors[name].dtype.itemsize, name)):
        tensor = tensors[name]
        data = tensor.astype(DTYPES[names[tensor.dtype]], order="C", copy=False).tobytes()
        header[name] = {
            "dtype": names[tensor.dtype],
            "shape": list(tensor.shape),
            "data_offsets": [position, position + len(data)],
        }
        chunks.append(data)
        position += len(data)
    text = msgspec.json.encode(header)
    text += b" " * (-len(text) % _ALIGNMENT)
    return b"".join([len(text).to_bytes(_LENGTH_BYTES, "little"), text, *chunks])


def read_weights(data: bytes) -> Tensors:
    """Return the tensors of a safetensors file, as read-only views of the bytes.

    Raises:
        InputError: another format, a truncated file, a limit that is passed, a header that contradicts itself.
    """
    if len(data) > MAX_BYTES:
        raise InputError(f"the weights have {len(data)} bytes, expected at most {MAX_BYTES}", "train a smaller network")
    for magic, what in _OTHER_FORMATS:
        # A header of 640 bytes makes a length that begins as a pickle does; what follows it tells them apart.
        if data.startswith(magic) and not _begins_as_ours(data):
            raise InputError(
                f"the weights are {what}, expected safetensors",
                "such files can run code when they are opened, so longshore never does; export with `longshore train`",
            )
    start = _data_start(data)
    entries = _entries(data[_LENGTH_BYTES:start])
    _check_ranges(entries, len(data) - start)
    return {
        name: np.frombuffer(
            data, DTYPES[entry.dtype], count=math.prod(entry.shape), offset=start + entry.data_offsets[0]
        ).reshape(entry.shape)
        for name, entry in entries.items()
    }


def _begins_as_ours(data: bytes) -> bool:
    """Tell whether a length within the limit and a JSON object stand first, as in every safetensors file."""
    length = int.from_bytes(data[:_LENGTH_BYTES], "little")
    return length <= MAX_HEADER_BYTES and data[_LENGTH_BYTES : _LENGTH_BYTES + 1] == b"{"


def _data_start(data: bytes) -> int:
    if len(data) < _LENGTH_BYTES:
        raise InputError(f"the weights are cut off after {len(data)} bytes", _AGAIN)
    length = int.from_bytes(data[:_LENGTH_BYTES], "little")
    if length > MAX_HEADER_BYTES:
        raise InputError(
            f"the weights' header claims {length} bytes, expected at most {MAX_HEADER_BYTES}",
            "the file is not safetensors, or not a policy's",
        )
    if len(data) < _LENGTH_BYTES + length:
        raise InputError(f"the weights are cut off after {len(data)} bytes, inside their header", _AGAIN)
    return _LENGTH_BYTES + length


def _entries(header: bytes) -> dict[str, _Entry]:
    try:
        raw = msgspec.json.decode(header, type=dict[str, msgspec.Raw])
        raw.pop(_METADATA, None)
        if len(raw) > MAX_TENSORS:
            raise InputError(
                f"the weights hold {len(raw)} tensors, expected at most {MAX_TENSORS}", "train a smaller network"
            )
        return {name: msgspec.json.decode(text, type=_Entry) for name, text in raw.items()}
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InputError(f"the weights' header cannot be read: {error}", f"the file is damaged; {_AGAIN}") from error


def _check_ranges(entries: Mapping[str, _Entry], num_bytes: int) -> None:
    """Refuse types and shapes that are not ours, and byte ranges that do not cover the data exactly once."""
    position = 0
    for name, entry in sorted(entries.items(), key=lambda item: (item[1].data_offsets, item[0])):
        if entry.dtype not in DTYPES:
            raise InputError(
                f"tensor `{name}`: got the type `{entry.dtype}`, expected one of: {', '.join(DTYPES)}",
                "convert the tensors to float32",
            )
        if len(entry.shape) > MAX_DIMENSIONS or any(size < 0 for size in entry.shape):
            raise InputError(f"tensor `{name}`: got the shape {entry.shape}", f"the file is damaged; {_AGAIN}")
        begin, end = entry.data_offsets
        if begin != position or end - begin != math.prod(entry.shape) * DTYPES[entry.dtype].itemsize:
            raise InputError(
                f"tensor `{name}`: got the bytes {begin} to {end} for the shape {entry.shape}, which does not fit",
                f"the file is damaged; {_AGAIN}",
            )
        position = end
    if num_bytes != position:
        what = "cut off" if num_bytes < position else "longer than its header says"
        raise InputError(f"the weights are {what}: got {num_bytes} bytes of numbers, expected {position}", _AGAIN)
