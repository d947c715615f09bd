"""One failing test with its source: all that a model with little room is shown at a time."""

import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Final

from kith.core.errors import TreeError
from kith.core.run import Run
from kith.features.build.suite import Standing, is_of
from kith.gates.reason import lexical_tests

_MOST_LINES: Final = 40


async def show_first(run: Run, standing: Standing, files: Iterable[str]) -> str:
    """The first failure of a run, and the source of its test where one of these files holds it."""
    texts: dict[str, str] = {}
    for path in files:
        with suppress(TreeError):
            texts[path] = (await run.workspace.read(path)).decode("utf-8", "replace")
    letter, found = standing.letter(first_only=True), next(_sources(standing, texts), "")
    return f"{letter}\n\n{found}" if found else letter


def _sources(standing: Standing, texts: dict[str, str]) -> Iterator[str]:
    """The tests that have to pass and do not, as they stand in their files, those that failed first."""
    known = [(path, test) for path, text in texts.items() for test in lexical_tests(path, text)]
    for id in (*(case.id for case in standing.counting.failed), *standing.missing):
        for path, test in known:
            # A module that cannot be imported fails by its own path, of which every test in it begins.
            if is_of(id, test) or is_of(test, id):
                yield f"{path}\n{cut_test(texts[path], test)}"


def cut_test(text: str, test: str) -> str:
    """The lines of one test: to the next line that is not deeper, or to its closing brace."""
    words = re.split(r"::|\.", test)
    name = r"\W+(?:\w+\W+)?".join(map(re.escape, words[-2:])) if "::" not in test else re.escape(words[-1])
    lines = text.splitlines()
    start = next((at for at, line in enumerate(lines) if re.search(rf"(?<!\w){name}(?!\w)", line)), None)
    if start is None:
        return ""
    depth = len(lines[start]) - len(lines[start].lstrip())
    end = start + 1
    while end < len(lines) and not _ends(lines[end], depth):
        end += 1
    closing = lines[end : end + 1] if end < len(lines) and lines[end].strip().startswith("}") else []
    return "\n".join([*lines[start:end], *closing][:_MOST_LINES]).rstrip()


def _ends(line: str, depth: int) -> bool:
    return bool(line.strip()) and len(line) - len(line.lstrip()) <= depth
