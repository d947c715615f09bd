"""Reads the header of a GGUF model file, which is not trusted, without ever touching the weights."""

import hashlib
import struct
from io import FileIO
from pathlib import Path
from stat import S_ISREG
from typing import Any, Final

from msgspec.structs import replace

from kith.core.errors import KithError
from kith.models.traits import Header, describe

# Nothing real comes near these limits: the largest vocabularies make headers of some 20 MB.
MOST_BYTES: Final = 48 << 20
MOST_KEYS: Final = 2048
MOST_STRINGS: Final = 2_000_000  # in all arrays together
MOST_TENSORS: Final = 50_000
MOST_KEPT: Final = 4 << 20  # bytes of values that are kept, all together
LONGEST_KEY: Final = 512
LONGEST_TEXT: Final = 1 << 20  # a longer one is skipped
LONGEST_ARRAY: Final = 1024  # of numbers; a longer one is skipped, and its length kept

_CHUNK: Final = 1 << 20
_SCALARS: Final = dict(enumerate("BbHhIif?", 0)) | {10: "Q", 11: "q", 12: "d"}
_STRING, _ARRAY = 8, 9


class ModelFileError(KithError):
    """A file that is no model, is broken off, or that kith does not read; one sentence says which."""


def read_header(path: Path) -> Header:
    """Read the header of a model file. Raises ModelFileError.

    Layout: docs/gguf.md of ggml. The digest is the SHA-256 of all metadata, tensor descriptions and the
    file's size, not of the weights. It tells models, quantisations and fine-tunes apart in milliseconds.
    Two files that differ only in the numbers of their weights would share it.
    """
    try:
        about = path.stat()
        if not S_ISREG(about.st_mode):  # a pipe or a device would never end
            raise ModelFileError(f"{path} is not a file.")
        with path.open("rb", buffering=0) as file:
            reader = _Reader(file, about.st_size)
            header, described = _read(reader)
    except OSError as error:
        raise ModelFileError(f"{path} cannot be read: {error.strerror}.") from error
    except _Refused as refused:
        raise ModelFileError(f"{path} {refused}.") from None
    digest = hashlib.sha256(reader.digest() + about.st_size.to_bytes(8, "little")).hexdigest()
    return replace(header, digest=digest, parameters=header.parameters or described)


class _Refused(Exception):
    """The reason for rejecting a header, worded to follow the file's name."""


class _Reader:
    """The bytes of an untrusted file, in order, a piece at a time; every byte that is passed is hashed."""

    def __init__(self, file: FileIO, size: int) -> None:
        self._file, self.size = file, size
        self._data, self._at, self._base = b"", 0, 0
        self._hash = hashlib.sha256()
        self.kept = 0
        self.strings = 0

    @property
    def place(self) -> int:
        return self._base + self._at

    def take(self, count: int) -> bytes:
        """The next bytes."""
        self._reach(count)
        self._at += count
        return self._data[self._at - count : self._at]

    def number(self, form: str) -> Any:
        return struct.unpack(f"<{form}", self.take(struct.calcsize(f"<{form}")))[0]

    def skip(self, count: int) -> None:
        """Pass over bytes that nobody wants."""
        self._allow(self.place + count)
        self._at += count

    def skip_strings(self, count: int) -> None:
        """Pass over an array of strings: for 150,000 tokens this loop is all that takes time."""
        self.strings += count
        if self.strings > MOST_STRINGS:
            raise _Refused(f"claims to hold {self.strings:,} words")
        while count:
            self._reach(8)
            data, at, last, whole = self._data, self._at, len(self._data) - 8, int.from_bytes
            while count and at <= last:
                at += 8 + whole(data[at : at + 8], "little")
                count -= 1
            self._at = at
            self._allow(self.place)

    def keep(self, size: int) -> None:
        """Note that a value of this size is held in memory."""
        self.kept += size
        if self.kept > MOST_KEPT:
            raise _Refused("has absurdly large metadata")

    def digest(self) -> bytes:
        """The hash of everything up to this place."""
        self._reach(0)
        self._hash.update(self._data[: self._at])
        return self._hash.digest()

    def _allow(self, place: int) -> None:
        if place > self.size:
            raise _Refused("breaks off inside its header")
        if place > MOST_BYTES:
            raise _Refused("has an absurdly large header")

    def _reach(self, count: int) -> None:
        """Make the next `count` bytes part of the piece at hand."""
        self._allow(self.place + count)
        while self._at + count > len(self._data):
            passed = min(self._at, len(self._data))
            self._hash.update(self._data[:passed])
            more = self._file.read(_CHUNK)
            if not more:  # the file shrank since it was measured
                raise _Refused("breaks off inside its header")
            self._data, self._at, self._base = (
                self._data[passed:] + more,
                self._at - passed,
                self._base + passed,
            )


def _read(reader: _Reader) -> tuple[Header, int]:
    """The header, and the number of weights that the file describes (0 for one of several parts)."""
    tensors, keys = _read_opening(reader)
    values: dict[str, Any] = {}
    for _ in range(keys):
        key = _string(reader, LONGEST_KEY)
        values[key] = _value(reader, reader.number("I"))
    weights, start = _read_tensors(reader, tensors)
    header = describe(values)
    if not header.architecture:
        raise _Refused("does not name its architecture")
    if start > reader.size:
        raise _Refused("is incomplete: its weights would go on beyond the end of the file")
    return header, weights if header.parts == 1 else 0


def _read_opening(reader: _Reader) -> tuple[int, int]:
    """Read the number of tensors and of metadata."""
    if reader.size < 24 or reader.take(4) != b"GGUF":
        raise _Refused("is not a GGUF model file")
    version = reader.number("I")
    if version & 0xFFFF == 0:
        raise _Refused("is a model file for big-endian machines")
    if version not in (2, 3):
        raise _Refused(f"has version {version} of the GGUF format; kith reads 2 and 3")
    tensors, keys = reader.number("Q"), reader.number("Q")
    if tensors > MOST_TENSORS or keys > MOST_KEYS:
        raise _Refused(f"claims to hold {tensors:,} tensors and {keys:,} metadata")
    return tensors, keys


def _read_tensors(reader: _Reader, count: int) -> tuple[int, int]:
    """The weights that the tensors' descriptions add up to, and where the last tensor begins."""
    weights, last = 0, -1
    for _ in range(count):
        reader.skip(_length(reader, LONGEST_KEY, "a name"))
        dimensions = reader.number("I")
        if dimensions > 8:
            raise _Refused(f"describes a tensor of {dimensions:,} dimensions")
        size = 1
        for side in struct.unpack(f"<{dimensions}Q", reader.take(8 * dimensions)):
            size *= side
        reader.skip(4)
        last = max(last, reader.number("Q"))
        weights += size
    # The data follow, aligned; a tensor has at least one byte.
    return min(weights, 1 << 50), reader.place + last + 1


def _value(reader: _Reader, kind: int) -> Any:
    """A value; an array that is long or holds words is skipped, and becomes its length."""
    if kind == _STRING:
        size = _length(reader, MOST_BYTES, "a text")
        if size > LONGEST_TEXT:
            return reader.skip(size)
        reader.keep(size)
        return reader.take(size).decode("utf-8", "replace")
    if kind == _ARRAY:
        kind, count = reader.number("I"), reader.number("Q")
        if kind == _STRING:
            reader.skip_strings(count)
            return count
        return _numbers(reader, _form(kind), count)
    return reader.number(_form(kind))


def _numbers(reader: _Reader, form: str, count: int) -> Any:
    size = struct.calcsize(f"<{form}") * count
    if count > LONGEST_ARRAY:
        reader.skip(size)
        return count
    reader.keep(8 * count)
    return struct.unpack(f"<{count}{form}", reader.take(size))


def _string(reader: _Reader, most: int) -> str:
    size = _length(reader, most, "a name")
    reader.keep(size)
    return reader.take(size).decode("utf-8", "replace")


def _length(reader: _Reader, most: int, what: str) -> int:
    size: int = reader.number("Q")
    if size > most:
        raise _Refused(f"claims to hold {what} of {size:,} bytes")
    return size


def _form(kind: int) -> str:
    if kind not in _SCALARS:
        raise _Refused(f"holds a value of unknown kind {kind}")
    return _SCALARS[kind]
