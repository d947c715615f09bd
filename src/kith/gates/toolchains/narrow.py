"""A toolchain that runs some of its tests only, with a command that a person could type."""

import re
import shlex
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

from kith.gates.toolchains.toolchain import Runner, Toolchain

_GO_TEST: Final = re.compile(r"(.+?)\.((?:Test|Fuzz|Example)\w*)(?:/.*)?")


def narrow(toolchain: Toolchain, only: Sequence[str]) -> Toolchain:
    """The same toolchain for the tests `only` names: ids of earlier reports, or files of tests.

    A runner that cannot choose (or not by file) runs more than was asked, never less.
    """
    choose = _CHOOSERS.get(toolchain.runner)
    if not choose or not only:
        return toolchain
    whole = toolchain.run.removesuffix(f" {toolchain.targets}") if toolchain.targets else toolchain.run
    return replace(toolchain, run=choose(whole, tuple(only)), targets="")


def hand_on(line: str, options: str) -> str:
    """Options for what a script starts; npm wants a mark before them, and only once."""
    return f"{line} -- {options}" if line.startswith("npm ") and " -- " not in line else f"{line} {options}"


def _pytest(line: str, only: tuple[str, ...]) -> str:
    return f"{line} {shlex.join(only)}"


def _unittest(line: str, only: tuple[str, ...]) -> str:
    """`-k` takes patterns over the dotted names; the start folder need not be a part of them."""
    patterns = (f"*{test[:-3].rpartition('/')[2]}.*" if test.endswith(".py") else f"*{test}" for test in only)
    return " ".join([line, *(f"-k {shlex.quote(pattern)}" for pattern in patterns)])


def _ctest(line: str, only: tuple[str, ...]) -> str:
    """An id `test::case` names a googletest or Catch2 case inside a test; only googletest's can be chosen.

    A test may itself have such a name, so both readings are chosen.
    """
    if any("/" in test and re.search(r"\.(?:c|cc|cpp|cxx|h|hpp)$", test) for test in only):
        return line
    pairs = [test.partition("::") for test in only]
    read = [name for name, _, case in pairs for name in (name, f"{name}::{case}" if case else name)]
    names = "|".join(dict.fromkeys(map(_escape, read)))
    cases = [case for _, _, case in pairs if case]
    chosen = len(cases) == len(pairs) and all(re.fullmatch(r"[\w/]+\.[\w/]+", case) for case in cases)
    prefix = f"GTEST_FILTER={shlex.quote(':'.join(cases))} " if chosen else ""
    return f"{prefix}{line} -R {shlex.quote(f'^({names})$')}"


def _escape(text: str) -> str:
    """For the regular expressions of CMake, Go and Node, which agree on these characters."""
    return re.sub(r"([.^$*+?()\[\]{}|\\])", r"\\\1", text)


def _cargo(line: str, only: tuple[str, ...]) -> str:
    if any(test.endswith(".rs") for test in only):
        return line
    return f"{line} -- --exact {shlex.join(only)}"


def _go(line: str, only: tuple[str, ...]) -> str:
    """An id is `package.TestName/subtest`; Go chooses packages and top tests."""
    found = [part for test in only if (part := _GO_TEST.fullmatch(test))]
    if len(found) != len(only):
        return line
    names = "|".join(dict.fromkeys(part[2] for part in found))
    packages = shlex.join(dict.fromkeys(part[1] for part in found))
    return f"{re.sub(r' ([.]/[.]{3}|[$][(].*)$', ' ', line)}{packages} -run {shlex.quote(f'^({names})$')}"


def _jest(line: str, only: tuple[str, ...]) -> str:
    files = [test for test in only if re.search(r"\.[cm]?[jt]sx?$", test)]
    names = shlex.quote(f"^({'|'.join(map(_escape, only))})$")
    return hand_on(line, shlex.join(files) if files else f"-t {names}")


def _mocha(line: str, only: tuple[str, ...]) -> str:
    """Files are added to those that a script names, so only names can be chosen."""
    if any(re.search(r"\.[cm]?[jt]sx?$", test) for test in only):
        return line
    names = shlex.quote(f"^({'|'.join(map(_escape, only))})$")
    return hand_on(line, f"-g {names}")


_CHOOSERS: Final[dict[Runner, Callable[[str, tuple[str, ...]], str]]] = {
    "pytest": _pytest,
    "unittest": _unittest,
    "ctest": _ctest,
    "cargo": _cargo,
    "go": _go,
    "jest": _jest,
    "vitest": _jest,
    "mocha": _mocha,
}
