"""Every run ends once, with one result: fence, budget, slots, shares, and what dead workers leave behind."""

import asyncio
from typing import Any

import pytest

from fleet_support import Within
from kith.features.fleet.attempts import Attempt, Batch, Database, Result, Spent, all_rows, report
from kith.features.fleet.batches import find_batch, list_runs, make_report
from kith.features.fleet.database import Fleet, make_schema
from kith.features.fleet.settings import Limits
from kith.features.fleet.tasks import FleetTask, name_tasks

LIMITS = Limits(attempts=3, silence_s=1.0)
DONE = Result("held", 0)


def tasks(number: int, **more: Any) -> list[FleetTask]:
    return name_tasks([FleetTask("/repository", f"task {each}", **more) for each in range(number)])


async def submit(fleet: Fleet, number: int = 1, submitter: str = "ada", **batch: Any) -> str:
    return await fleet.submit(Batch("a batch", submitter, **batch), tasks(number))


async def runs_of(fleet: Fleet, batch: str) -> list[int]:
    rows = await fleet.rows("SELECT id FROM fleet_runs WHERE batch = %(batch)s ORDER BY share", batch=batch)
    return [row["id"] for row in rows]


async def begin(fleet: Fleet, run: int, worker: str = "w") -> Attempt:
    attempt = await fleet.begin(run, worker, LIMITS)
    assert attempt
    return attempt


async def states(fleet: Fleet, batch: str) -> list[str]:
    return [run.state for run in await list_runs(fleet, batch)]


def test_a_superseded_attempt_changes_nothing(within: Within) -> None:
    async def look(fleet: Fleet) -> None:
        batch = await submit(fleet)
        (run,) = await runs_of(fleet, batch)
        old = await begin(fleet, run, "frozen")
        new = await begin(fleet, run, "alive")
        assert new.number == old.number + 1
        assert await fleet.report(old, Spent(1)) == "superseded"
        assert await fleet.keep_checkpoint(old, "digest", 1) is None
        assert not await fleet.settle(old, Spent(2, 100, 10), Result("proven", 0))
        assert not await fleet.give_back(old, Spent(), "late", failed=True)
        assert await fleet.settle(new, Spent(3, 200, 20), DONE)
        (row,) = await list_runs(fleet, batch)
        assert (row.state, row.verdict, row.worker) == ("done", "held", "alive")
        assert (row.turns, row.read, row.written) == (5, 300, 30)  # what both have used

    within(look)


def test_a_run_that_ended_is_not_begun_again(within: Within) -> None:
    async def look(fleet: Fleet) -> None:
        (run,) = await runs_of(fleet, await submit(fleet))
        assert await fleet.settle(await begin(fleet, run), Spent(), DONE)
        assert await fleet.begin(run, "w", LIMITS) is None

    within(look)


def test_attempts_that_die_are_counted_and_the_run_is_set_aside(within: Within) -> None:
    async def look(fleet: Fleet) -> None:
        batch = await submit(fleet)
        (run,) = await runs_of(fleet, batch)
        for _ in range(LIMITS.attempts):
            await begin(fleet, run)
        assert await fleet.begin(run, "w", LIMITS) is None
        (row,) = await list_runs(fleet, batch)
        assert row.state == "set aside" and row.reason
        assert await fleet.retry(batch, (), None) == 1
        assert (await begin(fleet, run)).failures == 0

    within(look)


def test_a_drained_worker_does_not_count_as_a_failure(within: Within) -> None:
    async def look(fleet: Fleet) -> None:
        (run,) = await runs_of(fleet, await submit(fleet))
        for _ in range(LIMITS.attempts + 2):
            assert await fleet.give_back(await begin(fleet, run), Spent(), "drained", failed=False)
        assert (await begin(fleet, run)).failures == 0

    within(look)


def test_keys_are_submitted_once(within: Within) -> None:
    async def look(fleet: Fleet) -> None:
        batch = await submit(fleet, 3)
        assert await submit(fleet, 5, id=batch) == batch
        assert (await find_batch(fleet, batch)).total == 5
        (jobs,) = await fleet.rows("SELECT count(*) AS number FROM procrastinate_jobs")
        assert jobs["number"] == 5

    within(look)


def test_two_submitters_take_turns_however_long_their_lists_are(within: Within) -> None:
    async def look(fleet: Fleet) -> None:
        many = await submit(fleet, 40, "ada")
        for run in (await runs_of(fleet, many))[:10]:  # ada's first are at work when bob comes
            await begin(fleet, run)
        few = await submit(fleet, 10, "bob")
        rows = await fleet.rows(
            """
            SELECT runs.batch FROM procrastinate_jobs jobs JOIN fleet_runs runs ON runs.job = jobs.id
            WHERE runs.state = 'waiting' ORDER BY jobs.priority DESC, jobs.id
            """
        )
        first = [row["batch"] for row in rows][:20]
        assert first.count(few) == 10 and first.count(many) == 10
        assert [first[place : place + 2].count(few) for place in range(0, 20, 2)] == [1] * 10

    within(look)


def test_a_priority_goes_before_the_shares(within: Within) -> None:
    async def look(fleet: Fleet) -> None:
        await submit(fleet, 5)
        urgent = await fleet.submit(Batch("urgent", "ada"), tasks(2, priority=1))
        rows = await fleet.rows("SELECT args FROM procrastinate_jobs ORDER BY priority DESC, id LIMIT 2")
        assert [row["args"]["run"] for row in rows] == await runs_of(fleet, urgent)

    within(look)


def test_a_budget_stops_runs_at_work_and_lets_no_other_begin(within: Within) -> None:
    async def look(fleet: Fleet) -> None:
        batch = await submit(fleet, 2, max_usd=1.0)
        one, other = await runs_of(fleet, batch)
        attempt = await begin(fleet, one)
        assert attempt.left_usd == 1.0
        assert await fleet.report(attempt, Spent(1, usd=0.6)) == "go on"
        assert await fleet.report(attempt, Spent(1, usd=0.6)) == "go on"  # said twice, counted once
        assert await fleet.report(attempt, Spent(2, usd=1.1)) == "over budget"
        assert await fleet.begin(other, "w", LIMITS) is None
        assert (await states(fleet, batch))[1] == "set aside"
        assert (await find_batch(fleet, batch)).usd == pytest.approx(1.1)
        assert await fleet.retry(batch, (), 5.0) == 1
        assert (await begin(fleet, other)).left_usd == pytest.approx(3.9)

    within(look)


def test_a_report_without_news_writes_nothing(within: Within) -> None:
    async def look(fleet: Fleet) -> None:
        (run,) = await runs_of(fleet, await submit(fleet, max_usd=1.0))
        attempt = await begin(fleet, run)

        async def writes(spent: Spent) -> bool:
            async def told(database: Database) -> bool:
                assert await report(database, attempt, spent) == "go on"
                (row,) = await all_rows(
                    database, "SELECT pg_current_xact_id_if_assigned() IS NOT NULL AS number", {}
                )
                return bool(row["number"])

            return await fleet.within(told)

        third = 0.1 + 0.2  # which no column holds exactly
        told = [Spent(), Spent(1, 10, 2, third), Spent(1, 10, 2, third), Spent(2, 20, 4, third), Spent(1)]
        assert [await writes(spent) for spent in told] == [False, True, False, True, False]

    within(look)


def test_slots_of_a_server_are_never_taken_twice(within: Within) -> None:
    async def look(fleet: Fleet) -> None:
        await fleet.announce("w", 4, [], {"http://box": 2})
        runs = await runs_of(fleet, await submit(fleet, 4))
        attempts = [await begin(fleet, run) for run in runs]
        taken = await asyncio.gather(*(fleet.take_slot(each, "http://box") for each in attempts))
        assert sorted(taken) == [False, False, True, True]
        holder = attempts[taken.index(True)]
        waiting = attempts[taken.index(False)]
        assert await fleet.settle(holder, Spent(), DONE)
        assert await fleet.take_slot(waiting, "http://box")
        assert not await fleet.settle(holder, Spent(), DONE)  # once more: it frees nobody else's slot
        other = attempts[[place for place, each in enumerate(taken) if not each][1]]
        assert not await fleet.take_slot(other, "http://box")

    within(look)


def test_tasks_that_run_alone_wait_for_each_other(within: Within) -> None:
    async def look(fleet: Fleet) -> None:
        await fleet.submit(Batch("alone", "ada"), tasks(2, alone=True))
        fetch = "SELECT id FROM procrastinate_fetch_job_v2(ARRAY['any']::varchar[], NULL)"
        (first,) = await fleet.rows(fetch)
        assert first["id"] and (await fleet.rows(fetch))[0]["id"] is None
        await fleet.rows("SELECT procrastinate_finish_job_v1(%(job)s, 'succeeded', true)", job=first["id"])
        assert (await fleet.rows(fetch))[0]["id"]

    within(look)


def test_a_slot_of_a_dead_attempt_is_freed_when_the_run_begins_again(within: Within) -> None:
    async def look(fleet: Fleet) -> None:
        await fleet.announce("w", 1, [], {"http://box": 1})
        (run,) = await runs_of(fleet, await submit(fleet))
        assert await fleet.take_slot(await begin(fleet, run, "dead"), "http://box")
        assert await fleet.take_slot(await begin(fleet, run, "alive"), "http://box")

    within(look)


def test_an_attempt_that_is_over_takes_no_slot_and_one_at_work_only_one(within: Within) -> None:
    """A worker that was cut off asks for a slot later, or asks again because no answer came."""

    async def look(fleet: Fleet) -> None:
        await fleet.announce("w", 1, [], {"http://box": 2})
        (run,) = await runs_of(fleet, await submit(fleet))
        cut_off, alive = await begin(fleet, run, "cut off"), await begin(fleet, run, "alive")
        assert [await fleet.take_slot(each, "http://box") for each in (cut_off, alive, alive)] == [
            False,
            True,
            True,
        ]
        assert await held(fleet) == [(alive.run, alive.number)]
        assert await fleet.settle(alive, Spent(), DONE)
        assert not await fleet.take_slot(alive, "http://box")
        assert await held(fleet) == []

    within(look)


def test_what_an_attempt_holds_that_is_over_is_freed_and_nothing_else(within: Within) -> None:
    """As an older kith left it."""

    async def look(fleet: Fleet) -> None:
        await fleet.announce("w", 1, [], {"http://box": 3})
        first, second = await runs_of(fleet, await submit(fleet, 2))
        over, works = await begin(fleet, first), await begin(fleet, second)
        assert await fleet.take_slot(works, "http://box")
        assert await fleet.settle(over, Spent(), DONE)
        await fleet.rows(
            "UPDATE fleet_slots SET run = %(run)s, attempt = 1 WHERE number = 2 RETURNING number",
            run=over.run,
        )
        await fleet.sweep(LIMITS)
        assert await held(fleet) == [(works.run, works.number)]

    within(look)


async def held(fleet: Fleet) -> list[tuple[int, int]]:
    rows = await fleet.rows("SELECT run, attempt FROM fleet_slots WHERE run IS NOT NULL ORDER BY number")
    return [(row["run"], row["attempt"]) for row in rows]


def test_a_cancelled_run_ends_whether_it_waits_or_works(within: Within) -> None:
    async def look(fleet: Fleet) -> None:
        batch = await submit(fleet, 2)
        one, waiting = await runs_of(fleet, batch)
        attempt = await begin(fleet, one)
        assert await fleet.cancel(batch) == 2
        assert await fleet.report(attempt, Spent()) == "cancelled"
        assert await fleet.settle(attempt, Spent(), Result("", 143), "cancelled")
        assert await fleet.begin(waiting, "w", LIMITS) is None
        assert await states(fleet, batch) == ["cancelled", "cancelled"]

    within(look)


def test_jobs_of_silent_workers_and_lost_jobs_come_back(within: Within) -> None:
    async def look(fleet: Fleet) -> None:
        batch = await submit(fleet, 2)
        await fleet.rows(
            """
            WITH dead AS (
              INSERT INTO procrastinate_workers (last_heartbeat) VALUES (now() - interval '1 hour')
              RETURNING id)
            UPDATE procrastinate_jobs SET status = 'doing', worker_id = (SELECT id FROM dead)
            WHERE id = (SELECT min(id) FROM procrastinate_jobs) RETURNING id
            """
        )
        await fleet.rows(
            "DELETE FROM procrastinate_jobs WHERE id = (SELECT max(id) FROM procrastinate_jobs) RETURNING id"
        )
        assert await fleet.sweep(LIMITS) == 2
        assert await fleet.sweep(LIMITS) == 0
        rows = await fleet.rows("SELECT status::text FROM procrastinate_jobs")
        assert [row["status"] for row in rows] == ["todo", "todo"]
        assert await states(fleet, batch) == ["waiting", "waiting"]

    within(look)


def test_the_search_for_a_job_is_planned_each_time(within: Within) -> None:
    """Also in tables that an older kith made, once `kith fleet init` was run again."""

    async def look(fleet: Fleet) -> None:
        settings = "SELECT proconfig FROM pg_proc WHERE proname = 'procrastinate_fetch_job_v2'"
        await fleet.within(
            lambda database: database.execute("ALTER FUNCTION procrastinate_fetch_job_v2 RESET ALL")
        )
        assert (await fleet.rows(settings))[0]["proconfig"] is None
        assert not await make_schema(fleet)
        assert (await fleet.rows(settings))[0]["proconfig"] == ["plan_cache_mode=force_custom_plan"]

    within(look)


def test_the_report_counts_every_run_once(within: Within) -> None:
    async def look(fleet: Fleet) -> None:
        batch = await submit(fleet, 4)
        ends = [Result("proven", 0), Result("unproven", 6, "held back"), Result("failed", 1, "no idea")]
        for run, end in zip(await runs_of(fleet, batch), ends, strict=False):
            assert await fleet.settle(await begin(fleet, run), Spent(1, 10, 2, 0.5), end)
        report = await make_report(fleet, await find_batch(fleet, batch))
        assert (report.solved, report.batch.done, report.batch.waiting) == (1, 3, 1)
        assert report.verdicts == {"proven": 1, "unproven": 1}
        assert report.failures == {"held back": 1, "no idea": 1}
        assert (report.read, report.written, report.usd) == (30, 6, 1.5)
        assert 0.0 < report.solved_low < 1 / 3 < report.solved_high < 1.0

    within(look)
