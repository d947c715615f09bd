"""Whatever is allowed changes nothing and reads nothing outside, whichever way a command is twisted."""

import shutil
from itertools import islice
from pathlib import Path

import pytest
from test_shell_decide import ASKED, HARMLESS

from jail import SECRET, Jail
from kith.shell import decide
from mutating import mutate

pytestmark = pytest.mark.skipif(not shutil.which("bwrap"), reason="there is no jail here")


def harmful(tmp_path: Path, lines: list[str]) -> list[str]:
    """Those of the commands that changed or read what they should not have."""
    jail = Jail.make(tmp_path / "jail")
    before = jail.state()
    output = jail.run(lines)
    if jail.state() == before and SECRET.encode() not in output:
        return []
    found = []
    for number, line in enumerate(lines):
        own = Jail.make(tmp_path / str(number))
        before = own.state()
        if SECRET.encode() in own.run([line]) or own.state() != before:
            found.append(line)
    return found


@pytest.mark.slow
def test_the_jail_notices_harm(tmp_path: Path) -> None:
    for line in ("touch a", "cat ../outside/secret.txt", "./x.sh", "sort -o a b"):
        assert harmful(tmp_path / line.replace("/", "_"), ["ls", line]) == [line]


@pytest.mark.slow
def test_what_needs_no_question_does_no_harm(tmp_path: Path) -> None:
    assert harmful(tmp_path, [*HARMLESS, *(line for line in ASKED if decide(line).allowed)]) == []


@pytest.mark.slow
def test_no_mutation_that_is_allowed_does_harm(tmp_path: Path) -> None:
    lines = list(islice(mutate((*HARMLESS, *HARMLESS, *ASKED), seed=7), 6_000))
    allowed = sorted({line for line in lines if decide(line).allowed})
    assert len(allowed) > 200
    assert harmful(tmp_path, allowed) == []
