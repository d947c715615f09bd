"""The short name of a check: a long command fills lines in which what runs the tests would do."""

import posixpath
import re
import shlex
from typing import Final

_MOST: Final = 60  # characters of a command that is shown whole
_VARIABLE: Final = re.compile(r"\w+=.*", re.S)
_AROUND: Final = "(){} \t"  # what groups steps
_NO_TEST: Final = frozenset({"true", ":", "exit", "cd", "echo", "export", "set"})
_RUNNERS: Final = frozenset(
    ["pytest", "unittest", "nose2", "tox", "nox", "ctest", "jest", "vitest", "mocha", "phpunit", "rspec"]
)
_PYTHON: Final = re.compile(r"python[\d.]*")
_TARGET: Final = re.compile(r"(?:[\w.-]+[:_-])?(?:tests?|check|verify)(?:[:_-][\w.-]+)?")


def name_check(command: str) -> str:
    """A short command as it is, a long one by what runs the tests: `ctest`, `mvn test`, `make check`."""
    if len(command) <= _MOST and "\n" not in command:
        return command
    steps = [words for step in _steps(command) if (words := _words(step))]
    if not steps:
        return _clip(command.strip())
    programs = [posixpath.basename(words[0]) for words in _programs(steps)]
    runners = dict.fromkeys(filter(None, map(_runner, steps)))
    return _clip(", ".join([*runners, *programs]) or _name(steps[-1]))


def _steps(command: str) -> list[list[str]]:
    """The words of each step, of a pipe those of its first program, without redirections."""
    lexer = shlex.shlex(command.replace("\n", " ; "), posix=True, punctuation_chars=True)
    lexer.whitespace_split, lexer.commenters = True, ""
    steps, skipped, is_target = [list[str]()], False, False
    try:
        for word in lexer:
            if is_target:
                is_target = False
            elif set(word) <= set("<>&") and set(word) & set("<>"):
                is_target = True
                if steps[-1] and steps[-1][-1].isdigit():
                    del steps[-1][-1]
            elif word == "|":
                skipped = True
            elif set(word) <= set(";&|"):
                skipped = False
                steps.append([])
            elif not skipped and word.strip(_AROUND):
                steps[-1].append(word)
    except ValueError:  # a quote that is never closed
        return []
    return steps


def _words(words: list[str]) -> list[str]:
    """A step's words, without variables before them; none where it tests nothing."""
    while words and _VARIABLE.fullmatch(words[0]):
        del words[0]
    if words[:3] == ["cmake", "-E", "chdir"]:
        del words[:4]
    return [] if not words or words[0] in _NO_TEST else words


def _programs(steps: list[list[str]]) -> list[list[str]]:
    """The last steps, as far as each only starts a program that was built."""
    first = len(steps)
    while first and len(steps[first - 1]) == 1 and "/" in steps[first - 1][0]:
        first -= 1
    return steps[first:]


def _runner(words: list[str]) -> str:
    return next((name for word in words if (name := posixpath.basename(word)) in _RUNNERS), "")


def _name(words: list[str]) -> str:
    """Name a step by its program and target, or in full where it has none; Python is only what runs one."""
    inner = words[1:] if _PYTHON.fullmatch(posixpath.basename(words[0])) else []
    while inner and inner[0].startswith("-"):
        del inner[: 2 if inner[0] in ("-W", "-X") else 1]
    words = inner or words
    target = next((word for word in words[1:] if _TARGET.fullmatch(word)), "")
    return f"{posixpath.basename(words[0])} {target}" if target else " ".join(words)


def _clip(text: str) -> str:
    line = text.partition("\n")[0]
    return line if len(line) <= _MOST else f"{line[: _MOST - 4].rstrip()} ..."
