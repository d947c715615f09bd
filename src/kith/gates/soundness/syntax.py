"""Files that parsed before a change and do not after it, as far as that is sure."""

import json
import re
import tomllib
import warnings
from collections.abc import Iterator
from posixpath import splitext
from typing import Final

from kith.core.values import SYMLINK, Change
from kith.gates.soundness.bindings import LARGEST
from kith.gates.soundness.fault import Fault, Suspect
from kith.gates.soundness.grammars import GRAMMARS, find_broken

PYTHON: Final = (".py", ".pyi", ".pyw")
_DATA: Final = (".json", ".toml", ".yaml", ".yml")
# Tests and templates hold files that are meant not to parse.
_ODD_FOLDERS: Final = frozenset(
    (
        *("broken", "cases", "corpus", "data", "examples", "fixtures", "invalid", "samples", "snippets"),
        *("snapshots", "template", "templates", "test", "test_data", "testdata", "tests", "__tests__"),
    )
)
_TEST_MODULE: Final = re.compile(r"test_.*\.py|.*_test\.py|conftest\.py|.*\.(?:test|spec)\.[cm]?[jt]sx?")
# What a newer Python (or Python 2) may read where this one does not; see `_is_version_bound`.
_NEWER_LINE: Final = re.compile(
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
_JSON_WITH_COMMENTS: Final = re.compile(
    r"(?:[tj]sconfig|\.eslintrc|\.babelrc|devcontainer|api-extractor|settings|launch|tasks|extensions|deno|"
    r"turbo|biome|\.swcrc|angular|nx|\.jshintrc|\.jscsrc|renovate|composer)[\w.-]*\.json|.*\.code-workspace"
)
_COMMENT: Final = re.compile(r'("(?:[^"\\\n]|\\.)*")|//[^\n]*|/\*.*?\*/', re.S)
_TRAILING: Final = re.compile(r'("(?:[^"\\\n]|\\.)*")|,(?=\s*[}\]])', re.S)


def is_readable(path: str) -> bool:
    """Whether anything can be said of a file, by its name."""
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
