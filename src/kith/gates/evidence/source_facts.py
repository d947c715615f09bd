"""Read the names that each source text uses; a content that was read once is not read again."""

import sys
from collections.abc import Iterable, Mapping
from hashlib import blake2b, sha256
from pathlib import Path
from posixpath import splitext
from typing import Final, Protocol

import msgspec
from msgspec import Struct

from kith import __version__
from kith.context.imports import SCRIPT_ENDINGS, find_imports, imports_of_python
from kith.context.symbols import PYTHON_ENDINGS
from kith.core.patterns import lazy_pattern
from kith.gates.evidence.script_imports import find_names

MOST_BYTES: Final = 1_000_000  # of one source file; a larger one counts as empty
_FORM: Final = "1"  # of what is kept
WORTH: Final = 200  # texts; fewer are read sooner than a store
_FEW_NEW: Final = 0.02  # of the texts: so little is not worth writing the others again
_MOST_KEPT: Final = 30_000_000  # bytes
# At most so many parts, and none from the middle of a word: long lines of data hold no names.
_DOTTED: Final = lazy_pattern(r"(?<![\w.])[A-Za-z_]\w*(?:\.[A-Za-z_]\w*){1,9}")
_QUOTED: Final = lazy_pattern(r"""(?:["'`]|-m[ \t]+)([A-Za-z_]\w*(?:\.[A-Za-z_]\w*){1,9})""")
_IMPORTED: Final = lazy_pattern(r"(?m)^[ \t]*(?:import|from)[ \t]+(\w+)")
_PROGRAM: Final = lazy_pattern(r"""["'`\s]([\w./-]*[\w-]\.(?:py|[cm]?[jt]s|rb|php|pl))["'`\s]""")


class SourceFacts(Struct, frozen=True, array_like=True):
    """Names in one text, whatever else the tree holds.

    `imports` as `context/imports.py` writes them. `packages`: what a script imports by other names than
    paths. `programs`: paths of scripts, in quotes or between blanks. Python's: `dotted` names that begin
    with an imported one, and `quoted` ones, as strings or behind `-m`.
    """

    imports: tuple[str, ...] = ()
    packages: tuple[str, ...] = ()
    programs: tuple[str, ...] = ()
    dotted: tuple[str, ...] = ()
    quoted: tuple[str, ...] = ()


class TextStore(Protocol):
    """A store of texts between tasks; all of it may be deleted."""

    def load(self, key: str) -> str | None: ...

    def save(self, key: str, text: str) -> None: ...


class KnownSources:
    """The facts of one tree's texts, in memory and, of many texts, in a store: a text is read once.

    A digest of the content stands for a text, so an edit, a rename or a time stamp cannot mislead it. The
    store is asked from `worth` texts on.
    """

    def __init__(self, store: TextStore | None = None, root: Path = Path(), worth: int = WORTH) -> None:
        self._store, self._worth = store, worth
        told = "\0".join((_FORM, __version__, sys.version, str(root)))
        self._key = f"sources_{sha256(told.encode('utf-8', 'surrogateescape')).hexdigest()[:40]}"
        self._known: Mapping[str, SourceFacts] | None = None

    def look(self, contents: Mapping[str, bytes]) -> dict[str, SourceFacts]:
        """The facts of each file; only new contents are read."""
        keys = {path: _key_of(path, content) for path, content in contents.items()}
        stored = self._store if len(keys) >= self._worth else None
        if self._known is None:
            self._known = {} if stored is None else self._load(stored)
        known, now = self._known, dict[str, SourceFacts]()
        for path, key in keys.items():
            if key not in now:
                now[key] = known.get(key) or read_facts(path, text_of(contents[path]))
        new = len(now.keys() - known.keys())
        self._known = now
        if stored is not None and new > _FEW_NEW * len(now):
            self._save(stored, now)
        return {path: now[key] for path, key in keys.items()}

    def _load(self, store: TextStore) -> Mapping[str, SourceFacts]:
        try:
            return msgspec.json.decode(store.load(self._key) or "{}", type=dict[str, SourceFacts])
        except (msgspec.DecodeError, UnicodeError, RecursionError):  # damaged: all of it is read again
            return {}

    def _save(self, store: TextStore, facts: Mapping[str, SourceFacts]) -> None:
        text = msgspec.json.encode(facts)
        if len(text) <= _MOST_KEPT:
            store.save(self._key, text.decode())


def text_of(content: bytes) -> str:
    """A source's text; a file so large that nobody wrote it has none."""
    return content.decode("utf-8", "replace") if len(content) <= MOST_BYTES else ""


def read_facts(path: str, text: str) -> SourceFacts:
    """Read a text; only the ending of its path counts."""
    ending = splitext(path)[1].lower()
    programs = _sorted(_PROGRAM.findall(text))
    if ending not in PYTHON_ENDINGS:
        packages = _sorted(find_names(text)) if ending in SCRIPT_ENDINGS else ()
        return SourceFacts(find_imports(path, text), packages, programs)
    if not path.endswith(".py"):
        return SourceFacts(imports_of_python(text), programs=programs)
    heads = frozenset(_IMPORTED.findall(text))
    dotted = (name for name in _DOTTED.findall(text) if name.partition(".")[0] in heads)
    return SourceFacts(
        imports_of_python(text),
        programs=programs,
        dotted=_sorted(dotted),
        quoted=_sorted(_QUOTED.findall(text)),
    )


def _key_of(path: str, content: bytes) -> str:
    """A digest of all that `read_facts` looks at: the end of the path's name, and the content."""
    ending = splitext(path)[1]
    return blake2b(content, digest_size=16, key=ending.encode("utf-8", "surrogateescape")[:64]).hexdigest()


def _sorted(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(set(names)))
