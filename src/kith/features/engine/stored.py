"""The models that lie on this machine's disk as GGUF files, each with a short name of its own."""

import json
import os
import re
import stat
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from msgspec import Struct, field
from msgspec.structs import replace

from kith.core.codec import decode, encode
from kith.core.errors import NoModelError
from kith.features.engine.file_names import (
    part_of,
    parts_of,
    quant_of,
)
from kith.features.engine.gguf import ModelFileError, read_header
from kith.features.engine.libraries import StoredFile, libraries_of, look_through, usual_libraries
from kith.models.discovery.stored import Stored
from kith.models.providers.faults import nearest
from kith.models.traits import Header

_FORMAT: Final = 2  # to be raised when Header or its reading changes


class KnownHeaders(Struct):
    """The headers of known files, cached in one file; None keeps them in memory only.

    The file is a convenience: an unreadable or unwritable one is ignored.
    """

    file: Path | None = None
    headers: dict[str, Any] = field(default_factory=dict)
    _used: dict[str, Any] = field(default_factory=dict)
    _fresh: bool = False

    @classmethod
    def load(cls, file: Path | None) -> "KnownHeaders":
        data: Any = None
        if file is not None:
            with suppress(OSError, ValueError, RecursionError):
                data = json.loads(file.read_text(encoding="utf-8"))
        good = (
            isinstance(data, dict) and data.get("format") == _FORMAT and isinstance(data.get("files"), dict)
        )
        return cls(file, data["files"] if good else {})

    def read(self, path: Path, about: os.stat_result) -> Header | None:
        """A file's header, None where it has none that kith reads; a broken file is remembered too."""
        key = f"{path}|{about.st_size}|{about.st_mtime_ns}|{about.st_ino}"
        if key not in self.headers:
            self._fresh = True
            try:
                self.headers[key] = encode(read_header(path))
            except ModelFileError:
                self.headers[key] = None
        self._used[key] = self.headers[key]
        try:
            header: Header | None = decode(self.headers[key], Header)
        except (TypeError, ValueError, AttributeError, KeyError):
            return None
        return header

    def save(self) -> None:
        """Keep what was read, and forget files that were not met."""
        if self.file is None or not (self._fresh or len(self._used) < len(self.headers)):
            return
        text = json.dumps({"format": _FORMAT, "files": self._used}, ensure_ascii=True)
        beside = self.file.with_name(f"{self.file.name}.{os.getpid()}")
        with suppress(OSError):
            self.file.parent.mkdir(parents=True, exist_ok=True)
            beside.write_text(text, encoding="utf-8")
            beside.replace(self.file)


# --- models on the disk ----------------------------------------------------------------------------


MOST_MODELS: Final = 500
# File names that tell nothing: the folder's name has to.
_VAGUE: Final = re.compile(r"(ggml-|gguf-)?model|weights|main|", re.IGNORECASE)


def find_stored(
    folders: Iterable[Path] = (),
    *,
    cache: Path | None = None,
    environ: Mapping[str, str] = os.environ,
    platform: str = sys.platform,
) -> tuple[Stored, ...]:
    """Every model that answers in words, in the usual libraries and in `folders`; each file once.

    `cache` is kith's own cache folder: what was read of a file is kept there, so that it is read once. What
    is no model, or is not whole, is left out; a model that lacks one of its parts has a `fault`.
    """
    libraries = (*libraries_of(folders), *usual_libraries(environ, platform, cache))
    known = KnownHeaders.load(cache / "headers.json" if cache else None)
    found = (each for library in libraries for each in look_through(library))
    stored = tuple(_named(_read_all(found, known)))
    known.save()
    return stored


def pick_stored(name: str, stored: Sequence[Stored]) -> Stored:
    """The model of that name, in any case; the quantisation may be left out where only one is there.

    A path of a GGUF file is a name too. Raises NoModelError naming the nearest, or saying what is wrong.
    """
    wanted = name.casefold()
    found = [each for each in stored if each.name.casefold() == wanted]
    found = found or [each for each in stored if each.name.casefold().rpartition(":")[0] == wanted]
    if not found and wanted.endswith(".gguf"):
        found = [read_stored(Path(name).expanduser())]
    if len(found) == 1 and not found[0].fault:
        return found[0]
    if len(found) == 1:
        raise NoModelError(f"{found[0].path} cannot be run: {found[0].fault}.")
    there = [each.name for each in found or stored if not each.fault]
    if found:
        raise NoModelError(f"There are several models {name!r}: {', '.join(there)}.")
    hint = f"there are: {', '.join(there[:8])}." if there else "there is none."
    if near := nearest(name, there):
        hint = f"did you mean {' or '.join(near)}?"
    raise NoModelError(f"No model file on this machine is called {name!r}; {hint}")


def read_stored(path: Path) -> Stored:
    """One file as a model, whatever library it is in. Raises ModelFileError."""
    header = read_header(path)
    if not header.talks:
        raise ModelFileError(f"{path} is not a text model.")
    parts, size, fault = _measure(path, path.stat().st_size)
    quantisation = quant_of(path.name) or header.quantisation
    name = next(_names(StoredFile(path, "file"), quantisation))
    return Stored(name, path, size, "file", header, quantisation, parts, fault)


def _read_all(found: Iterable[StoredFile], known: KnownHeaders) -> Iterator[tuple[StoredFile, Stored]]:
    """The files that are models, each once: by what it is on the disk, not by what it is called."""
    seen: set[tuple[int, int]] = set()
    count = 0
    for each in found:
        if part_of(each.path.name)[1] != 1:
            continue
        try:
            about = each.path.stat()
        except OSError:
            continue
        if not stat.S_ISREG(about.st_mode) or (about.st_dev, about.st_ino) in seen:
            continue
        seen.add((about.st_dev, about.st_ino))
        header = known.read(each.path, about)
        if header is None or not header.talks:
            continue
        parts, size, fault = _measure(each.path, about.st_size)
        quantisation = quant_of(each.path.name) or header.quantisation
        yield each, Stored("", each.path, size, each.source, header, quantisation, parts, fault)
        count += 1
        if count == MOST_MODELS:
            return


def _measure(path: Path, size: int) -> tuple[int, int, str]:
    """Return the number of a model's parts, their total size, and a note on a missing one."""
    (_, *others), lacking = parts_of(path.name), []
    for number, name in enumerate(others, 2):
        try:
            size += path.with_name(name).stat().st_size
        except OSError:
            lacking.append(number)
    count = len(others) + 1
    return count, size, f"part {lacking[0]} of {count} is missing" if lacking else ""


def _named(models: Iterable[tuple[StoredFile, Stored]]) -> Iterator[Stored]:
    """The models with names: the shortest that is still free, in the order in which they were found."""
    taken: set[str] = set()
    for found, model in models:
        name = next(name for name in _names(found, model.quantisation) if name.casefold() not in taken)
        taken.add(name.casefold())
        yield replace(model, name=name)


def _names(found: StoredFile, quantisation: str) -> Iterator[str]:
    """Yield possible names of a model, best first, without end."""
    stem = part_of(found.path.name)[0].removesuffix(".gguf").removesuffix(".GGUF")
    plain = (
        re.sub(rf"[-_.]*{re.escape(quantisation)}$", "", stem, flags=re.IGNORECASE) if quantisation else stem
    )
    base = found.name or (found.path.parent.name if _VAGUE.fullmatch(plain) else plain)
    mark = f":{quantisation}" if quantisation and not found.exact else ""
    names = [f"{base}{mark}", f"{plain}{mark}", f"{found.owner}/{base}{mark}", stem]
    for name in names[:1] if found.exact else names:
        yield _safe(name)
    for number in range(2, MOST_MODELS + 9):
        yield _safe(f"{base}-{number}{mark}")


def _safe(name: str) -> str:
    """A foreign name as one word that no shell and no terminal reads as anything else."""
    return re.sub(r"-+(?=:)", "", re.sub(r"[^\w.:+@/]+", "-", name)).strip("-./:") or "model"
