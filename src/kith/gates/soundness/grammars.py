"""Broken files of the languages that tree-sitter reads; C and C++ with the doubt that macros bring."""

import importlib
import re
from collections.abc import Iterator
from functools import cache
from posixpath import splitext
from typing import TYPE_CHECKING, Final

from kith.gates.soundness.brackets import find_unmatched
from kith.gates.soundness.fault import Fault, Suspect

if TYPE_CHECKING:
    from tree_sitter import Node, Parser

_SHELL: Final = frozenset({".bash", ".sh"})
_C: Final = (".c", ".cc", ".cpp", ".cu", ".cxx", ".h", ".hh", ".hpp", ".hxx", ".inl", ".ipp", ".tpp")
GRAMMARS: Final[dict[str, tuple[str, str]]] = {
    **dict.fromkeys(_SHELL, ("tree_sitter_bash", "language")),
    **dict.fromkeys(_C, ("tree_sitter_cpp", "language")),
    **dict.fromkeys((".cjs", ".js", ".jsx", ".mjs"), ("tree_sitter_javascript", "language")),
    **dict.fromkeys((".cts", ".mts", ".ts"), ("tree_sitter_typescript", "language_typescript")),
    ".tsx": ("tree_sitter_typescript", "language_tsx"),
    ".go": ("tree_sitter_go", "language"),
    ".rs": ("tree_sitter_rust", "language"),
}
_NO_SEMICOLON: Final = "; is missing"
_MARKER: Final = re.compile(rb"^(?:<{7} |={7}\r?$|>{7} )", re.M)
_MACRO: Final = re.compile(rb"\b[A-Z][A-Z0-9_]{2,}\b|^\s*#")


def find_broken(path: str, before: bytes | None, after: bytes) -> Iterator[Suspect]:
    """The fault of a file whose text the grammar took as a whole before, and does not now.

    Macros look like errors to any parser, so C and C++ count where a bracket has lost its partner, too, or
    a semicolon is missing where no macro is near. A shell script counts when a shell says so. Of new files,
    in which nobody knows what the grammar makes of the project's style, only such brackets count.
    """
    ending = splitext(path)[1].lower()
    if ending not in GRAMMARS:
        return
    if ending in _C:
        yield from _c_like(path, before, after)
        return
    if before is None:
        return
    parser = _parser(ending)
    if parser is None:
        return
    error = _first_error(parser, after)
    if error and not _first_error(parser, before):
        yield Suspect(Fault(path, error[0], "syntax", error[1]), sure=ending not in _SHELL)


def _c_like(path: str, before: bytes | None, after: bytes) -> Iterator[Suspect]:
    parser = _parser(splitext(path)[1].lower())
    error = _first_error(parser, after) if parser else None
    if parser is None or error is None:
        return
    line = _unmatched(after)
    mark = _conflict(after)
    if mark and not _conflict(before or b""):
        yield Suspect(Fault(path, mark, "syntax", "a marker of a merge conflict"))
    elif line and not (before is not None and _unmatched(before)):
        yield Suspect(Fault(path, line, "syntax", "a bracket or a quote has no partner"))
    elif error[1] == _NO_SEMICOLON and before is not None and not _first_error(parser, before):
        around = after.splitlines()[max(0, error[0] - 2) : error[0] + 1]
        if not any(_MACRO.search(each) for each in around):
            yield Suspect(Fault(path, error[0], "syntax", error[1]))


def _conflict(content: bytes) -> int:
    """The line of a merge conflict's marker, 0 without one."""
    found = _MARKER.search(content)
    return content.count(b"\n", 0, found.start()) + 1 if found else 0


def _unmatched(content: bytes) -> int:
    """The line of a bracket without a partner, whichever branches of conditions are compiled; else 0."""
    text = content.decode("utf-8", "replace").replace("\r\n", "\n")
    first = find_unmatched(text, "first")
    return first and find_unmatched(text, "last") and first


@cache
def _parser(ending: str) -> "Parser | None":
    """The parser of a language, None where its grammar is not installed."""
    import tree_sitter

    name, function = GRAMMARS[ending]
    try:
        module = importlib.import_module(name)
    except ImportError:
        return None
    return tree_sitter.Parser(tree_sitter.Language(getattr(module, function)()))


def _first_error(parser: "Parser", content: bytes) -> tuple[int, str] | None:
    """Line and words of the first place that the grammar does not take."""
    root = parser.parse(content).root_node
    if not root.has_error:
        return None
    node = root
    while (
        inner := next((each for each in node.children if each.has_error or each.is_missing), None)
    ) is not None:
        if node.is_error or node.is_missing:
            break
        node = inner
    return node.start_point.row + 1, _words(node)


def _words(node: "Node") -> str:
    if node.is_missing:
        return f"{node.type} is missing"
    text = re.sub(r"\s+", " ", (node.text or b"").decode("utf-8", "replace")).strip()
    return f"unexpected `{text:.40}`" if text else "unexpected end"
