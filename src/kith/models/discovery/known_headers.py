"""Headers that were read before: a model file is read once, and again only when it has changed."""

import json
import os
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from kith.core.codec import decode, encode
from kith.models.discovery.gguf import ModelFileError, read_header
from kith.models.discovery.header import Header

_FORMAT: Final = 1  # to be raised when Header or its reading changes


@dataclass(slots=True)
class KnownHeaders:
    """What files said of themselves, kept in one file in the cache; None in memory only.

    The file is a convenience: one that cannot be read or written is done without.
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
