"""Read from a request which tests are its goal, and which tests it lets change."""

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Final

from kith.core.evidence import Tries

# A request that asks for tests to change, and not only for them to pass.
_CHANGE: Final = (
    r"\b(?:updat|chang|adapt|adjust|edit|modif|rewrit|remov|delet|drop|skip|disabl|renam|mov|replac|simplif|weaken"
    r"|relax|merg|split|parametri|clean|tid|refactor|reorgani|convert|migrat)\w*\b"
    r"(?:\(\)|(?!\b(?:so|that|then|until|makes?|pass(?:es|ing)?|without|unless|while|but|not|keep|see|runs?)\b)"
    r"[^.,;()\n]){0,60}"
)
_TESTS: Final = r"\b(?:tests?|specs?|assertions?)\b(?!\s+(?:pass|succeed|run|are green))"
_NOT: Final = re.compile(r"(?:\bnot|n't|\bwithout|\bnever|\bno)\s+(?:\w+\s+){0,2}$", re.I)
_FORBIDDEN: Final = re.compile(
    r"[^.\n]{0,20}\b(?:is|are)\s+(?:forbidden|prohibited|not\s+(?:allowed|wanted|needed))", re.I
)
# What leaves a program's behaviour as it is: expected values have no reason to change with it.
_KEEPS: Final = re.compile(
    r"\b(?:fast|speed|optimi[sz]|perform|refactor|clean|tid[yi]|simplif|document|docstring|comment|renam|mov(?:e|ing)"
    r"|extract|inlin|format|reformat|lint|type hint|annotat)\w*",
    re.I,
)
# A file of tests whose failures are to be mended: "fix the failing tests in FILE", "make FILE pass".
_MEND: Final = r"\b(?:fix|repair|mend|solv|pass|green|mak|fail)\w*\b[^.\n]{0,60}"
_LEAST: Final = 5  # letters of a name that is looked for


@dataclass(frozen=True, slots=True)
class Claims:
    """The words about a change: the person's `request`, the `tests` that the model had to change.

    `tries`: where nobody tries again, a goal that is not reached is the person's to judge.
    """

    request: str = ""
    tests: tuple[str, ...] = ()
    tries: Tries = "none"

    def allow(self, test: str) -> bool:
        """True if the request asks for this test, its file, or tests in general to change."""
        names = (
            rf"(?<![\w/]){re.escape(each)}(?![\w/])" for each in (_short(test), *_files_of(test)) if each
        )
        return any(map(self._asks_to_change, (_TESTS, *names)))

    def _asks_to_change(self, what: str) -> bool:
        found = re.finditer(_CHANGE + what, self.request, re.I)
        return any(
            not _NOT.search(self.request[: each.start()]) and not _FORBIDDEN.match(self.request, each.end())
            for each in found
        )

    def mention(self, names: Collection[str]) -> bool:
        """True if the request wants one of these functions to behave otherwise, as far as its words tell."""
        return not _KEEPS.search(self.request) and self.speak_of(names)

    def speak_of(self, names: Collection[str]) -> bool:
        """True if the request speaks of one of these functions."""
        return not {*re.findall(r"\w+", self.request)}.isdisjoint(names)

    def want(self, test: str) -> bool:
        """True if the test is to pass: the request names it, or its file as one with failures to mend."""
        if mentions(self.request, _short(test)):
            return True
        files = (re.escape(each) for each in _files_of(test))
        return any(
            re.search(
                rf"{_MEND}(?<![\w/]){each}(?![\w/:])|(?<![\w/]){each}\s+(?:\w+\s+)?(?:pass|fail)",
                self.request,
                re.I,
            )
            for each in files
        )

    def concede(self, test: str) -> bool:
        """True if the model says that it had to change this test."""
        return any(
            test == each or test.startswith((f"{each}::", f"{each}[")) or each in test for each in self.tests
        )


def mentions(text: str, name: str) -> bool:
    """True if a text speaks of a name, and not only of one that holds it."""
    return len(name) >= _LEAST and re.search(rf"(?<![\w/]){re.escape(name)}(?![\w/])", text) is not None


def _short(test: str) -> str:
    """The last part of a test's name, without its parameters."""
    rest = test.partition("::")[2]
    return re.sub(r"\[.*$", "", rest.rpartition("::")[2] or test.rpartition(".")[2])


def _files_of(test: str) -> Iterator[str]:
    """The file of a test as it may be named: pytest's ids say it, unittest's name modules."""
    file, found, _ = test.partition("::")
    if found or "/" in file:
        yield file
        return
    parts = file.split(".")
    yield from ("/".join(parts[:end]) + ".py" for end in range(1, len(parts)))
