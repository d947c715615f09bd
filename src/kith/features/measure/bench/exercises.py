"""Small tasks that come with kith: a tiny project with a test that fails, and what is wanted, in words."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Final

from kith.agent.front_matter import read_front_matter
from kith.core.errors import UsageError

_FILE: Final = re.compile(r"^## (\S+)\n```\w*\n(.*?)^```$\n?", re.M | re.S)
_TEST: Final = re.compile(r"(?:^|/)test_[^/]*\.py$")


@dataclass(frozen=True, slots=True)
class Exercise:
    """One task: what sort of work it is, the project's files by path, what is asked, and the judge.

    `check` is a command that fails in the project as it is, and succeeds when the task is solved.
    """

    name: str
    kind: str
    files: Mapping[str, str]
    words: str
    check: str

    @property
    def tests(self) -> tuple[str, ...]:
        """The files that judge, which nobody may change."""
        return tuple(path for path in self.files if _TEST.search(path))


@cache
def find_exercises() -> tuple[Exercise, ...]:
    """All exercises, those that ask for the least first."""
    folder = files("kith.features.measure.bench") / "tasks"
    read = (
        read_exercise(entry.name.removesuffix(".md"), entry.read_text(encoding="utf-8"))
        for entry in folder.iterdir()
        if entry.name.endswith(".md")
    )
    return tuple(sorted(read, key=lambda each: (sum(map(len, each.files.values())), each.name)))


def read_exercise(name: str, text: str) -> Exercise:
    """The exercise written in `text`: `kind` and `check`, the words, then each file below its name.

    Raises UsageError naming what is missing.
    """
    written = read_front_matter(text, f"{name}.md", ("kind", "check"))
    found = dict(_files(written.words))
    if not found:
        raise UsageError(f"{name}.md: it has no files, each below a line such as `## name.py`.")
    words = written.words.partition("\n## ")[0].strip()
    return Exercise(name, written.values["kind"], found, words, written.values["check"])


def _files(text: str) -> Iterator[tuple[str, str]]:
    for found in _FILE.finditer(text):
        yield found[1], found[2]
