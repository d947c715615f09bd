"""Rows of a log: what no played task shows by itself, and a cache that never says anything else."""

import random
import shutil
import sqlite3
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kith.core.decisions import Cause, Concluded, Delegated, Routed
from kith.core.events import (
    Answered,
    Applied,
    Asked,
    Called,
    Event,
    Judged,
    Options,
    Proposed,
    RunEnded,
    RunStarted,
    Stepped,
    ToolBegan,
    ToolEnded,
)
from kith.core.values import Answer, FileChange, Question, Ran, Usage
from kith.features.measure.measured_rows import Measured, read_measured
from kith.features.measure.rows import LegRow
from kith.memory.log import Log
from measuring import CHECK, MODELS, Told, a_call, a_task, open_log, write

SMALL, LARGE, FAR = MODELS
CHANGE = (FileChange("utils.py", 1, 1, "-a\n+b\n"),)
PASSES, FAILS = Ran(CHECK, 0, "", 0.5), Ran(CHECK, 1, "", 0.5)


@pytest.fixture
def log(tmp_path: Path) -> Log:
    return open_log(tmp_path)


def tell(log: Log, *events: Event | tuple[str, Event], session: str = "s", pace: float = 1.0) -> None:
    """Append events, each with its step where one is given, a second apart."""
    begins = log.extent()[1]
    told = [event if isinstance(event, tuple) else ("", event) for event in events]
    rows: list[Told] = [
        (session, 1_000.0 + begins + number * pace, tuple(filter(None, path.split("/"))), event)
        for number, (path, event) in enumerate(told)
    ]
    write(log, rows)


def started(words: str = "fix mean", kind: str = "") -> RunStarted:
    return RunStarted(words, "/p", "", "0", Options(kind))


def call(model: str = SMALL.model, **changes: object) -> Called:
    found = a_call(next(each for each in MODELS if each.model == model), random.Random(1))
    return Called(**{name: getattr(found, name) for name in Called.__slots__} | changes)  # type: ignore[arg-type]


def judged(ok: bool, attempt: int = 1) -> Judged:
    return Judged(CHECK, ok, attempt, "" if ok else "1 of 3 tests fails", (PASSES if ok else FAILS,))


def before(ok: bool) -> Judged:
    return Judged(CHECK, ok, 0, ran=(PASSES if ok else FAILS,), when="before")


def legs(log: Log) -> tuple[LegRow, ...]:
    return read_measured(log).legs


def test_what_is_known_of_a_model_is_joined_to_its_calls(log: Log) -> None:
    tell(log, started(), SMALL, ("attempt 1", call()), LARGE, call(LARGE.model, purpose="summary"))
    first, second = read_measured(log).calls
    assert (first.digest, first.quantisation, first.machine, first.cloud) == (
        "sha256:a",
        "q4_K_M",
        "desk",
        False,
    )
    assert (first.window, first.step, first.root, first.error) == (16_384, "attempt 1", "/p", "")
    assert second.digest == "sha256:b" and second.purpose == "summary"
    (leg,) = legs(log)  # a summary is nobody's work
    assert (leg.model, leg.digest, leg.reward, leg.steps) == (SMALL.model, "sha256:a", None, 1)


def test_a_task_that_was_handed_on_is_a_leg_for_each_model(log: Log) -> None:
    plan = (SMALL.model, FAR.model)
    tell(
        log,
        started(),
        Routed("fix-failing-test", plan, "cheap first", propensity=0.7),
        SMALL,
        ("attempt 1", call()),
        ("attempt 1", Proposed(CHANGE)),
        ("attempt 1", before(False)),
        ("attempt 1", judged(False)),
        Routed("fix-failing-test", plan[1:], "after one try, 1 of 3 tests fails", "rule", SMALL.model),
        FAR,
        ("attempt 2", Stepped("attempt 2", "began", kind="attempt", attempt=2)),
        ("attempt 2", call(FAR.model, attempt=2, usd=0.02)),
        ("attempt 2", Proposed(CHANGE)),
        ("attempt 2", judged(True, 2)),
        Applied("c1", CHANGE),
        RunEnded("done", ""),
    )
    local, far = legs(log)
    assert (local.model, local.plan, local.propensity, local.after) == (SMALL.model, plan, 0.7, "")
    assert (local.reward, local.reason, local.passed, local.adopted) == (0.0, "tests", False, None)
    assert (far.model, far.after, far.plan, far.cloud) == (FAR.model, SMALL.model, plan[1:], True)
    assert (far.reward, far.reason, far.weight, far.adopted, far.usd) == (1.0, "tests", 1.0, True, 0.02)
    assert far.kind == local.kind == "fix-failing-test" and far.attempts == local.attempts == 1


@pytest.mark.parametrize(
    ("cause", "last", "earned"),
    [
        ("hopeless", {}, (0.0, "hopeless", True)),
        ("", {}, (0.0, "escalated", False)),
        ("absent", {}, (None, "", False)),
        ("failed", {"stop": "error", "error": "nobody answers"}, (None, "", False)),
    ],
)
def test_why_a_model_was_relieved_decides_what_it_earns(
    log: Log, cause: Cause, last: dict[str, object], earned: tuple[float | None, str, bool]
) -> None:
    handed_on = Routed("edit-small", (FAR.model,), "", "rule", SMALL.model, cause=cause)
    tell(
        log, started(), ("attempt 1", call()), ("attempt 1", call(**last)), handed_on, RunEnded("failed", "")
    )
    (leg,) = legs(log)
    assert (leg.reward, leg.reason, leg.cut) == earned


def test_a_person_who_looked_has_the_last_word(log: Log) -> None:
    question = Question("q", "change", "Apply this change?")
    told = [started(), ("attempt 1", call()), ("attempt 1", Proposed(CHANGE)), ("attempt 1", judged(True))]
    tell(
        log,
        *told,
        Asked(question),
        Answered("q", Answer("none")),
        RunEnded("rejected", "Nothing was applied."),
    )
    tell(
        log,
        *told,
        Asked(question),
        Answered("q", Answer("revise", "use tabs")),
        ("attempt 2", call(attempt=2)),
        Asked(Question("r", "change", "Apply this change?")),
        Answered("r", Answer("some")),
        Applied("c1", CHANGE),
        RunEnded("done", ""),
        session="t",
    )
    tell(
        log,
        *told,
        Asked(question),
        Answered("q", Answer("all")),
        Applied("c2", CHANGE),
        RunEnded("done", ""),
        session="u",
        pace=0.01,
    )
    no, yes, unseen = legs(log)
    assert (no.reward, no.weight, no.reason, no.adopted) == (0.0, 1.0, "rejected", False)
    assert (yes.reward, yes.weight, yes.reason, yes.attempts) == (1.0, 1.0, "accepted", 2)
    assert (unseen.reward, unseen.weight, unseen.reason) == (1.0, 0.5, "suite")
    said = [(each.session, each.ok) for each in read_measured(log).verdicts if each.gate == "person"]
    assert said == [("s", False), ("t", False), ("t", True)]


def test_several_tasks_of_a_conversation_are_told_apart(log: Log) -> None:
    one = [
        started("fix mean"),
        ("attempt 1", call()),
        ("attempt 1", Proposed(CHANGE)),
        ("attempt 1", judged(True)),
    ]
    tell(
        log,
        SMALL,
        *one,
        Applied("c1", CHANGE),
        RunEnded("done", ""),
        started("why?"),
        ("answer", call(purpose="chat")),
    )
    tell(log, RunEnded("done", ""))
    tell(log, started("undo"), Applied("c2", CHANGE, undoes="c1"), RunEnded("done", ""), session="later")
    first, second = legs(log)
    assert (first.task, first.reward, first.undone) == (1, 0.0, True)
    assert (second.task, second.words, second.reward, second.undone) == (2, "why?", None, False)


def test_a_task_under_way_earns_nothing_yet(log: Log) -> None:
    tell(log, started(), ("attempt 1", call()), ("attempt 1", Proposed(CHANGE)), ("attempt 1", judged(False)))
    (leg,) = legs(log)
    assert (leg.reward, leg.passed) == (None, False)
    tell(log, RunEnded("interrupted", ""))
    assert legs(log)[0].reward is None
    tell(
        log,
        ("attempt 2", call(attempt=2)),
        ("attempt 2", judged(True, 2)),
        RunEnded("failed", "the disk is full"),
    )
    assert legs(log)[0].reward == 1.0


def test_an_errand_is_judged_by_its_own_check(log: Log) -> None:
    inside = "attempt 1/delegate"
    done = Delegated(FAR.model, SMALL.model, "write a test for mean", True, "`pytest` ends with exit code 0")
    tell(
        log,
        started(),
        ("attempt 1", call(FAR.model)),
        (inside, Stepped("delegate", "began", kind="delegate")),
        (inside, call()),
        (inside, ToolBegan("1", "write", "write", "test.py")),
        (inside, ToolEnded("1", "write", True, 0.1)),
        (inside, done),
        ("attempt 1", call(FAR.model)),
        RunEnded("done", ""),
    )
    taker, giver = legs(log)
    assert (giver.model, giver.part, giver.steps, giver.reward) == (FAR.model, "", 2, None)
    assert (taker.model, taker.part, taker.kind) == (SMALL.model, "errand 1", "write-test")
    assert (taker.reward, taker.weight, taker.reason) == (1.0, 0.5, "suite")


def test_of_a_council_only_whose_proposal_holds_has_worked(log: Log) -> None:
    members = {"A": LARGE.model, "B": SMALL.model}
    concluded = Concluded("k", "edit", "B", "agreement", "", members)
    spoken = [("attempt 1", call(LARGE.model)), ("attempt 1", call())]
    tell(log, started(), *spoken, ("attempt 1", concluded), ("attempt 1", judged(True)), RunEnded("done", ""))
    (leg,) = legs(log)
    assert (leg.model, leg.passed) == (SMALL.model, True)


def test_an_audit_tells_of_the_checks_and_earns_nothing(log: Log) -> None:
    work = [("attempt 1", call()), ("attempt 1", Proposed(CHANGE)), ("attempt 1", judged(True))]
    audit = ("attempt 1", Judged("audit", False, 0, "wrong for []"))
    tell(log, started(), *work, audit, Applied("c1", CHANGE), RunEnded("done", ""))
    assert [(leg.reward, leg.reason, leg.failures) for leg in legs(log)] == [(1.0, "suite", {})]
    assert [(each.gate, each.ok) for each in read_measured(log).verdicts] == [(CHECK, True), ("audit", False)]


def test_sessions_that_are_no_tasks_have_calls_and_no_legs(log: Log) -> None:
    tell(log, started("probe", "probe"), call(purpose="probe"), RunEnded("done", ""))
    found = read_measured(log)
    assert len(found.calls) == 1 and not found.legs


# --- the cache -------------------------------------------------------------------------------


def same(log: Log, cache: Path) -> Measured:
    """The rows by way of the cache, which are those of a fresh fold."""
    kept, fresh = read_measured(log, cache=cache), read_measured(log)
    assert kept.calls == fresh.calls
    assert kept.legs == fresh.legs
    assert kept.verdicts == fresh.verdicts
    return kept


Step = tuple[str, int]


@settings(max_examples=25, deadline=None)
@given(
    st.lists(
        st.tuples(st.sampled_from(["write", "write", "write", "read", "undo", "delete"]), st.integers(0, 3)),
        max_size=30,
    ),
    st.integers(0, 5),
)
def test_a_cached_result_is_a_fresh_fold(
    tmp_path_factory: pytest.TempPathFactory, steps: list[Step], seed: int
) -> None:
    """Events of several sessions come in pieces, in any order, with reading, undoing and deleting between."""
    folder = tmp_path_factory.mktemp("measured")
    log, rng, cache = open_log(folder), random.Random(seed), folder / "cache"
    coming = {
        f"s{n}": list(a_task(f"s{n}", 1_000.0 + n, rng)) + list(a_task(f"s{n}", 2_000.0, rng))
        for n in range(4)
    }
    for act, number in steps:
        session = f"s{number}"
        if act == "write":
            piece, coming[session] = coming[session][:7], coming[session][7:]
            write(log, piece)
        elif act == "undo":
            changes = [each.change_id for _, each in log.applied("/p")]
            if changes:
                undo = Applied(f"u{len(changes)}", (), undoes=changes[number % len(changes)])
                write(log, [(session, 3_000.0, (), undo)])
        elif act == "delete":
            log.delete(session)
        else:
            same(log, cache)
    same(log, cache)
    log.close()


def test_only_sessions_with_new_events_are_folded_again(log: Log, tmp_path: Path) -> None:
    rng = random.Random(0)
    write(log, [told for n in range(3) for told in a_task(f"s{n}", 1_000.0 * n, rng)])
    cache = tmp_path / "cache"
    same(log, cache)
    log._db.execute(
        "UPDATE events SET body = 'broken' WHERE session = 's1'"
    )  # whoever reads this again fails
    write(log, list(a_task("s2", 9_000.0, rng)))
    assert len(read_measured(log, cache=cache).legs) == 4


def test_a_broken_or_foreign_cache_is_made_anew(log: Log, tmp_path: Path) -> None:
    rng = random.Random(0)
    write(log, list(a_task("s", 1_000.0, rng)))
    cache = tmp_path / "cache"
    same(log, cache)
    (place,) = (cache / "measured").glob("*.sqlite3")
    with sqlite3.connect(place) as db:
        db.execute("PRAGMA user_version = 7")
    same(log, cache)
    place.write_bytes(b"no database at all" * 100)
    same(log, cache)
    other = open_log(tmp_path / "other")
    write(other, list(a_task("s", 2_000.0, rng)) + list(a_task("t", 3_000.0, rng)))
    other.close()
    log.close()
    shutil.copy(tmp_path / "other" / "state" / "log.sqlite3", log.path)
    assert len(same(Log(log.path), cache).legs) == 2


def test_without_a_place_for_the_cache_everything_is_still_read(log: Log, tmp_path: Path) -> None:
    write(log, list(a_task("s", 1_000.0, random.Random(0))))
    (tmp_path / "file").write_text("no folder")
    assert len(read_measured(log, cache=tmp_path / "file").legs) == 1


def test_rows_of_one_folder_and_since_a_moment(log: Log, tmp_path: Path) -> None:
    rng = random.Random(0)
    write(
        log,
        [
            *a_task("s", 1_000.0, rng, "/p"),
            *a_task("t", 5_000.0, rng, "/q"),
            *a_task("u", 9_000.0, rng, "/p"),
        ],
    )
    for cache in (None, tmp_path / "cache"):
        found = read_measured(log, Path("/p"), cache=cache)
        assert {leg.session for leg in found.legs} == {"s", "u"} == {each.session for each in found.verdicts}
        late = read_measured(log, since=4_000.0, cache=cache)
        assert {call.session for call in late.calls} == {"t", "u"}
        assert [leg.at for leg in late.legs] == sorted(leg.at for leg in late.legs)


def test_usage_and_prices_are_summed_and_unknown_prices_are_said(log: Log) -> None:
    tell(
        log,
        started(),
        ("attempt 1", call(usd=0.5)),
        ("attempt 1", call(usd=None, stop="error", error="down")),
    )
    tell(log, ("attempt 1", call(usd=0.25, usage=Usage(100, 10, 40, 5), cache=None)), RunEnded("done", ""))
    (leg,) = legs(log)
    assert leg.usd == 0.75 and leg.usage.written == 5
    assert read_measured(log).calls[-1].evaluated == 60
    tell(log, started(), ("attempt 1", call(usd=None)), RunEnded("done", ""), session="t")
    assert legs(log)[-1].usd is None
