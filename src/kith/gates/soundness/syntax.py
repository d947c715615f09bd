"""Files that parsed before a change and do not after it, in Python and other languages."""

import importlib
import json
import re
import tomllib
import warnings
from collections.abc import Iterator
from functools import cache
from posixpath import splitext
from typing import TYPE_CHECKING, Final, Literal

from kith.core.patterns import lazy_pattern
from kith.core.values import SYMLINK, Change
from kith.gates.soundness.bindings import LARGEST, remembered
from kith.gates.soundness.fault import Fault, Suspect

if TYPE_CHECKING:
    from tree_sitter import Node, Parser


# The first bracket or quote of a C-like text without a partner; comments and macro definitions apart.

Branch = Literal["first", "last"]

_TOKEN: Final = lazy_pattern(
    r"""
    (?P<skip>//(?:[^\\\n]|\\.)*|/\*.*?(?:\*/|\Z)
      |(?:u8|[uUL])?R"(?P<mark>[^()\\\s]{0,16})\(.*?(?:\)(?P=mark)"|\Z)
      |"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|(?<![\w.])\.?\d(?:[\w.']|(?<=[eEpP])[+-])*)
    |(?P<directive>^[ \t]*\#(?:[^\\\n]|\\.)*)
    |(?P<bracket>[()\[\]{}"])
    """,
    re.X | re.S | re.M,
)
_PAIRS: Final = {")": "(", "]": "[", "}": "{"}
_WORD: Final = lazy_pattern(r"\s*#\s*(\w*)")


def find_unmatched(text: str, branch: Branch) -> int:
    """The line of a bracket without a partner, or of a string that its line does not end; else 0.

    Of `#if ... #else ... #endif` only the `first` or the `last` branch counts.
    """
    waiting: list[tuple[str, int]] = []
    for bracket, place in _brackets(text, branch):
        if bracket == '"':
            return _line(text, place)
        opening = _PAIRS.get(bracket)
        if opening is None:
            waiting.append((bracket, place))
        elif not waiting or waiting.pop()[0] != opening:
            return _line(text, place)
    return _line(text, waiting[-1][1]) if waiting else 0


def _line(text: str, place: int) -> int:
    return text.count("\n", 0, place) + 1


def _brackets(text: str, branch: Branch) -> Iterator[tuple[str, int]]:
    """The brackets with their places. Of each condition the brackets are held back until it ends."""
    held: list[list[tuple[str, int]]] = []
    for token in _TOKEN.finditer(text):
        if token["bracket"]:
            if not held:
                yield token["bracket"], token.start()
            else:
                held[-1].append((token["bracket"], token.start()))
        elif token["directive"]:
            found = _WORD.match(token["directive"])
            word = found[1] if found else ""
            if word.startswith("if"):
                held.append([])
            elif word in ("else", "elif", "elifdef", "elifndef") and held:
                _begin_branch(held, branch)
            elif word == "endif" and held:
                kept = _finished(held.pop())
                if not held:
                    yield from kept
                else:
                    held[-1] += kept
    for group in held:
        yield from _finished(group)


_ELSE: Final = ("", -1)  # where the first branch of a condition ended


def _begin_branch(held: list[list[tuple[str, int]]], branch: Branch) -> None:
    if branch == "last":
        held[-1].clear()
    elif _ELSE not in held[-1]:
        held[-1].append(_ELSE)


def _finished(group: list[tuple[str, int]]) -> list[tuple[str, int]]:
    return group[: group.index(_ELSE)] if _ELSE in group else group


# Broken files of the languages that tree-sitter reads; C and C++ with the doubt that macros bring.

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
_MARKER: Final = lazy_pattern(rb"^(?:<{7} |={7}\r?$|>{7} )", re.M)
_MACRO: Final = lazy_pattern(rb"\b[A-Z][A-Z0-9_]{2,}\b|^\s*#")


def find_broken(path: str, before: bytes | None, after: bytes) -> Iterator[Suspect]:
    """Yield the syntax fault of a file that parsed before and does not now.

    Macros look like errors to any parser. So in C and C++ a fault also needs an unmatched bracket, or a
    missing semicolon where no macro is near. A shell script counts when a shell rejects it. In new files
    only unmatched brackets count, since it is unknown how the grammar reads the project's style.
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


PYTHON: Final = (".py", ".pyi", ".pyw")
_DATA: Final = (".json", ".toml", ".yaml", ".yml")
# Tests and templates hold files that are meant not to parse.
_ODD_FOLDERS: Final = frozenset(
    (
        *("broken", "cases", "corpus", "data", "examples", "fixtures", "invalid", "samples", "snippets"),
        *("snapshots", "template", "templates", "test", "test_data", "testdata", "tests", "__tests__"),
    )
)
_TEST_MODULE: Final = lazy_pattern(r"test_.*\.py|.*_test\.py|conftest\.py|.*\.(?:test|spec)\.[cm]?[jt]sx?")
# What a newer Python (or Python 2) may read where this one does not; see `_is_version_bound`.
_NEWER_LINE: Final = lazy_pattern(
    r"\b(?:def|class)\s+\w+\s*\[|^\s*type\s+\w|^\s*lazy\s+(?:import|from)\b|\bexcept\b[^(\n]*,|"
    r"\b[tT][rR]?[\"']|\b[rR][tT][\"']|[\[({]\s*\*.*\bfor\b|^\s*(?:print|exec)\b|`|\bur[\"']"
)
_NEWER_WORDS: Final = (
    "f-string",
    "print",
    "exec",
    "leading zeros",
    "multiple exception",
    "unpacking",
    "future feature",
)
_JSON_WITH_COMMENTS: Final = lazy_pattern(
    r"(?:[tj]sconfig|\.eslintrc|\.babelrc|devcontainer|api-extractor|settings|launch|tasks|extensions|deno|"
    r"turbo|biome|\.swcrc|angular|nx|\.jshintrc|\.jscsrc|renovate|composer)[\w.-]*\.json|.*\.code-workspace"
)
_COMMENT: Final = lazy_pattern(r'("(?:[^"\\\n]|\\.)*")|//[^\n]*|/\*.*?\*/', re.S)
_TRAILING: Final = lazy_pattern(r'("(?:[^"\\\n]|\\.)*")|,(?=\s*[}\]])', re.S)


def is_readable(path: str) -> bool:
    """True if a file can be checked, by its name."""
    return splitext(path)[1].lower() in (*PYTHON, *_DATA, *GRAMMARS)


def broken_files(change: Change) -> Iterator[Suspect]:
    """The fault of a file that a change breaks; one that did not parse before is nobody's business."""
    after, before = change.after, change.before
    if after is None or SYMLINK in (change.mode, change.mode_before) or after == before:
        return
    if len(after) > LARGEST or b"\0" in after or (before is None and _may_be_odd(change.path)):
        return
    ending = splitext(change.path)[1].lower()
    if ending in PYTHON:
        yield from _python(change.path, before, after)
    elif ending in _DATA:
        yield from _data(ending, change.path, before, after)
    else:
        yield from find_broken(change.path, before, after)


def _may_be_odd(path: str) -> bool:
    *folders, name = path.lower().split("/")
    odd = not _ODD_FOLDERS.isdisjoint(folders) or any("{{" in each or "template" in each for each in folders)
    return odd and not _TEST_MODULE.fullmatch(name)


# --- Python ----------------------------------------------------------------------------------


def _python(path: str, before: bytes | None, after: bytes) -> Iterator[Suspect]:
    fault = _python_fault(after)
    if fault is None or (before is not None and _python_fault(before) is not None):
        return
    line, words, sure = fault
    yield Suspect(Fault(path, line, "syntax", words), sure)


@remembered
def _python_fault(source: bytes) -> tuple[int, str, bool] | None:
    """Line and words of the first error, and whether every version of Python has it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            compile(source, "<change>", "exec", dont_inherit=True)
        except SyntaxError as error:
            return error.lineno or 1, error.msg, not _is_version_bound(error, source)
        except (ValueError, RecursionError, MemoryError):
            return None  # too deep for this machine: nothing is known
    return None


def _is_version_bound(error: SyntaxError, source: bytes) -> bool:
    if isinstance(error, IndentationError):
        return False
    if any(word in error.msg for word in _NEWER_WORDS):
        return True
    lines = source.decode("utf-8", "replace").splitlines()
    at = (error.lineno or 1) - 1
    return bool(_NEWER_LINE.search("\n".join(lines[max(0, at - 1) : at + 1])))


# --- data ------------------------------------------------------------------------------------


def _data(ending: str, path: str, before: bytes | None, after: bytes) -> Iterator[Suspect]:
    """Only where the file parsed before: templates and dialects are many."""
    if before is None:
        return
    check = {".json": _json_fault, ".toml": _toml_fault}.get(ending, _yaml_fault)
    fault = check(path, after)
    if fault and check(path, before) is None:
        yield Suspect(Fault(path, fault[0], "syntax", fault[1]))


def _json_fault(path: str, content: bytes) -> tuple[int, str] | None:
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return None
    if _JSON_WITH_COMMENTS.fullmatch(path.rpartition("/")[2]) or "/.vscode/" in f"/{path}":
        text = _TRAILING.sub(lambda found: found[1] or " ", _COMMENT.sub(lambda found: found[1] or " ", text))
    try:
        json.loads(text)
    except json.JSONDecodeError as error:
        return error.lineno, error.msg
    except RecursionError:
        return None
    return None


def _toml_fault(path: str, content: bytes) -> tuple[int, str] | None:
    try:
        tomllib.loads(content.decode("utf-8-sig").replace("\r\n", "\n"))
    except tomllib.TOMLDecodeError as error:
        words = str(error)
        found = re.search(r" \(at line (\d+)", words)
        if any(line.count(b"{") > line.count(b"}") for line in content.splitlines()):
            return None  # newer TOML lets an inline table go over several lines
        return (int(found[1]) if found else 1), words.partition(" (at ")[0]
    except (UnicodeDecodeError, RecursionError):
        return None
    return None


def _yaml_fault(path: str, content: bytes) -> tuple[int, str] | None:
    import yaml

    try:
        for _ in yaml.parse(content, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
            pass
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        return (mark.line + 1 if mark else 1), error.problem or "it is not YAML"
    except (yaml.YAMLError, RecursionError, UnicodeDecodeError):
        return None
    return None
