"""A role that is several models: they answer, criticise and revise in one call, and one reply comes out."""

import json
from pathlib import Path
from typing import Any

import pytest

from kith.agent.roles import read_role
from kith.context.task_kinds import kind_of
from kith.core.decisions import Claimed, Concluded
from kith.core.events import (
    Applied,
    Called,
    Event,
    Judged,
    Options,
    Proposed,
    RunEnded,
    RunStarted,
    Said,
    Stepped,
)
from kith.core.values import FileChange, Ran, Usage
from kith.memory.log import Log
from kith.memory.session import Session
from outside import Kith

ROLE = """\
---
purpose: review
panel: {models}
tools:
policy: read-only
---
Review this change. Answer with one JSON object: {{"findings": [...]}}
"""
DIVIDES = "    return sum(numbers) / len(numbers)"
FINDING = {"path": "utils.py", "line": 6, "severity": "error", "evidence": DIVIDES, "why": "Divides by zero."}
FOUND, NOTHING = json.dumps({"findings": [FINDING]}), json.dumps({"findings": []})


@pytest.fixture
def changed(kith: Kith) -> Kith:
    file = kith.folder / "utils.py"
    file.write_text(file.read_text().replace("(len(numbers) + 1)", "len(numbers)"))
    return kith


def seat(home: Path, folder: Path, **scripts: Any) -> None:
    """Make the finder a panel of these models."""
    names = []
    for name, replies in scripts.items():
        (folder.parent / f"{name}.json").write_text(json.dumps(replies))
        names.append(f"replay/{folder.parent / name}.json")
    roles = home / ".config" / "kith" / "roles"
    roles.mkdir(parents=True, exist_ok=True)
    (roles / "finder.md").write_text(ROLE.format(models=", ".join(names)))


def review(kith: Kith) -> tuple[dict[str, Any], str]:
    done = kith("review", "--json", code=None)
    return json.loads(done.stdout), done.stderr


def events(home: Path) -> list[Event]:
    log = Log(home / ".local/state/kith/log.sqlite3")
    return [record.event for id in log.session_ids() for record in log.events(id)]


def test_a_claim_that_quotes_what_was_shown_moves_its_author(changed: Kith, home: Path) -> None:
    claim = f"claim: it misses the division by zero\nat: utils.py:6\nquote: {DIVIDES.strip()}"
    seat(home, changed.folder, one=[FOUND, claim], two=[NOTHING, "claim: none", f"accept: c1\n{FOUND}"])
    told, _ = review(changed)
    assert [each["why" if "why" in each else "text"] for each in told["findings"] if each["rule"] == "review"]
    (concluded,) = [each for each in events(home) if isinstance(each, Concluded)]
    assert concluded.kind == "review" and concluded.by == "evidence"
    assert sorted(concluded.members.values()) == ["replay/one", "replay/two"]
    threads = {each.thread for each in events(home) if isinstance(each, Said)}
    assert {f"council/{concluded.council}/{label}" for label in "AB"} <= threads


@pytest.mark.slow
def test_a_claim_that_quotes_nothing_that_is_there_moves_nobody(changed: Kith, home: Path) -> None:
    claim = "claim: it is wrong\nat: utils.py:6\nquote: return nothing_like_this()"
    seat(home, changed.folder, one=[FOUND, "claim: none"], two=[NOTHING, claim])
    told, _ = review(changed)
    assert [each.check for each in events(home) if isinstance(each, Claimed)] == ["refuted"]
    assert any(each["rule"] == "review" for each in told["findings"])  # the first of the panel holds


def test_one_that_fails_leaves_the_other(changed: Kith, home: Path) -> None:
    seat(home, changed.folder, one=[{"error": "out of memory"}], two=[FOUND])
    told, said = review(changed)
    assert "drops out" in said and any(each["rule"] == "review" for each in told["findings"])


def test_a_panel_shows_its_blocks_afterwards(changed: Kith, home: Path) -> None:
    seat(home, changed.folder, one=[FOUND, "claim: none"], two=[NOTHING, "claim: none"])
    told, said = review(changed)
    assert "│ {" in said and "┌ replay/one" in said  # and as they came
    assert "replay/two" in changed("confer", "--show", told["session"]).stdout


@pytest.mark.parametrize(
    ("panel", "policy"),
    [("a", "read-only"), ("a, a", "read-only"), ("a, b, c, d", "read-only"), ("a, b", "trial")],
)
def test_a_panel_that_cannot_be_is_said_with_its_line(panel: str, policy: str) -> None:
    from kith.core.errors import UsageError

    with pytest.raises(UsageError, match=r"x\.md, line 3: a panel is two or three"):
        read_role("x", f"---\npurpose: plan\npanel: {panel}\ntools: read\npolicy: {policy}\n---\nWords.\n")


# --- where councils do not pay ---------------------------------------------------------------------


def remember(home: Path, kind: str, words: str, councils: int, others: int, command: str = "run") -> None:
    """A log in which councils solved nothing of a kind, and others all of it, for a tenth of the tokens."""
    ran = Ran("python3 -m unittest", 0, "", 0.1)
    log = Log(home / ".local/state/kith/log.sqlite3")
    for number in range(councils + others):
        with Session(log, f"past{number}") as session:
            session.emit(RunStarted(words, "/elsewhere", "one", "1", Options(command)))
            with_council = number < councils
            usage = Usage(20_000, 900) if with_council else Usage(2_000, 90)
            session.emit(Stepped("attempt 1", "began", kind="attempt", attempt=1), ("attempt 1",))
            session.emit(Called("one", "edit", 1, usage), ("attempt 1",))
            session.emit(Proposed((FileChange("a.py", 1, 0, ""),)), ("attempt 1",))
            session.emit(Judged("tests", not with_council, 1, "no", (ran,)), ("attempt 1",))
            if with_council:
                session.emit(Concluded(f"past{number}", kind, "A", "tests", "", {}))
            else:
                session.emit(Applied(f"change{number}", (FileChange("a.py", 1, 0, ""),)))
            session.emit(RunEnded("failed" if with_council else "done", ""))


@pytest.mark.slow
def test_councils_that_do_not_pay_are_said_and_held_when_named(kith: Kith, home: Path) -> None:
    words = "add a flag to utils.py"
    remember(home, kind_of(words), words, councils=50, others=25)
    for name in ("one", "two"):
        (kith.folder.parent / f"{name}.json").write_text(json.dumps(["approach: Do it.\nfiles: utils.py"]))
    models = ",".join(f"replay/{kith.folder.parent / name}.json" for name in ("one", "two"))
    done = kith("confer", words, "--apply", "--models", models, code=None)
    assert f"Councils do not pay for {kind_of(words)} here" in done.stderr and "it takes place" in done.stderr


@pytest.mark.slow
def test_a_panel_that_does_not_pay_answers_alone(changed: Kith, home: Path) -> None:
    remember(home, "review", "add a flag to utils.py", councils=50, others=25, command="review")
    seat(home, changed.folder, one=[FOUND], two=[{"error": "nobody is to ask me"}])
    told, said = review(changed)
    assert "Councils do not pay for review here" in said and "The finder answers alone." in said
    assert "nobody is to ask me" not in said and told["findings"]


def test_without_anything_to_hold_it_against_a_panel_stays(changed: Kith, home: Path) -> None:
    remember(home, "review", "add a flag to utils.py", councils=50, others=0, command="review")
    seat(home, changed.folder, one=[FOUND, "claim: none"], two=[NOTHING, "claim: none"])
    assert "answers alone" not in review(changed)[1]
