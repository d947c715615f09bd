"""Background processes of a trial: reached over loopback, held to their limits, gone with the trial."""

import asyncio
import os
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest

from confined import find_abilities
from kith.core.errors import TreeError
from kith.core.values import Changes
from kith.core.workspace import EndedBy, ExecLimits, Job, ShellCommand, Trial
from kith.trees.jobs import KEPT, MOST_PRINTED, MOST_RUNNING, Printing
from kith.trees.local import open_tree
from kith.trees.sandbox import WithoutKilled
from places import ROOT
from projects import TRIALS, needs
from waiting import running, soon, until

SERVER = "python3 -u -m http.server 8000"
GET = "curl -s --retry 20 --retry-connrefused --retry-delay 0 --retry-max-time 20 -m 5 localhost:8000"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "tree"
    root.mkdir()
    (root / "a").write_text("first")
    reason = find_abilities().no_overlay
    if reason:
        pytest.skip(reason)
    return root


@asynccontextmanager
async def trial_of(root: Path, hosts: tuple[str, ...] = ()) -> AsyncIterator[Trial]:
    tree = open_tree(root, root.parent / "state", root.parent / "cache", hosts=hosts)
    async with tree.trial() as trial, trial.turn():
        yield trial


async def start(trial: Trial, line: str, limits: ExecLimits = ExecLimits()) -> Job:
    return await trial.launch(ShellCommand(line), lambda job: None, limits)


async def output_of(trial: Trial, line: str) -> str:
    return (await trial.exec(ShellCommand(line))).output


SAID = b"unshare: sigprocmask unblock failed: Invalid argument\n"


@pytest.mark.parametrize("size", [1, 4, 9, 25, len(SAID)])
def test_what_a_sandbox_says_when_it_is_ended_is_not_output_of_the_process(size: int) -> None:
    heard = bytearray()
    filtered = WithoutKilled(heard.extend)
    filtered(b"ready in the menu")
    filtered(SAID[:9])
    for begin in range(9, len(SAID), size):
        filtered(SAID[begin : begin + size])
    filtered(b"unshare: not this")
    assert heard == b"ready in the menuunshare: not this"


def test_words_that_only_begin_like_it_are_passed_on_at_the_end() -> None:
    heard = bytearray()
    filtered = WithoutKilled(heard.extend)
    filtered(b"usage\nunshare: sigproc")
    assert heard == b"usage\n"
    filtered.end()
    assert heard == b"usage\nunshare: sigproc"


def test_later_commands_reach_a_server_and_its_log_grows(root: Path) -> None:
    async def main() -> None:
        async with trial_of(root) as trial:
            job = await start(trial, SERVER)
            assert await output_of(trial, f"{GET}/a") == "first"
            await job.wait(10, for_news=True)
            assert b"GET /a" in job.news().data
            assert not job.news().data
            await output_of(trial, f"{GET}/missing")
            assert b"GET /missing" in job.news().data and job.ran is None

    asyncio.run(main())


def test_a_server_sees_every_edit_and_its_files_are_part_of_the_change(root: Path) -> None:
    changes: Changes = ()

    async def main() -> None:
        nonlocal changes
        async with trial_of(root) as trial:
            await start(trial, f"{SERVER} & while sleep 0.02; do cmp -s a copy || cp a copy; done")
            assert await output_of(trial, f"{GET}/a") == "first"
            await trial.write("a", b"second")
            await trial.write("new/b", b"new")
            assert await output_of(trial, f"{GET}/a; {GET}/new/b") == "secondnew"
            await output_of(trial, "echo -n third > a")
            assert await output_of(trial, f"{GET}/a") == "third"
            assert await trial.read("a") == b"third"
            await trial.write("new/b", None)
            assert "404" in await output_of(trial, f"{GET}/new/b")
            await output_of(trial, "until cmp -s a copy; do sleep 0.01; done")
            changes = await trial.remember()
            assert await output_of(trial, "cat a copy") == "thirdthird"

    asyncio.run(main())
    assert {change.path: change.after for change in changes} == {"a": b"third", "copy": b"third"}
    assert (root / "a").read_text() == "first"


def test_a_watcher_is_told_of_an_edit(root: Path) -> None:
    watch = (
        "require('fs').watch('a', () => { console.log('changed'); process.exit() });"
        "console.log('watching'); setTimeout(() => {}, 60000)"
    )

    async def main() -> None:
        async with trial_of(root) as trial:
            job = await start(trial, f'node -e "{watch}"')
            await soon(lambda: b"watching" in job.printed().data or job.ran)
            await trial.write("a", b"x")
            await job.wait(10)
            assert b"changed" in job.printed().data, job.printed()

    asyncio.run(main())


def test_the_loopback_of_this_machine_stays_out_of_reach(root: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        line = f"(exec 3<>/dev/tcp/127.0.0.1/{port}) && echo reached; ls /sys/class/net /proc/net/route"

        async def main() -> None:
            async with trial_of(root) as trial:
                job = await start(trial, line)
                await job.wait(10)
                assert b"reached" not in job.printed().data and job.ran
                assert "reached" not in await output_of(trial, line)

        asyncio.run(main())


def test_a_server_is_not_reached_from_this_machine_or_by_a_check(root: Path) -> None:
    async def main() -> None:
        async with trial_of(root) as trial:
            await start(trial, SERVER)
            assert await output_of(trial, f"{GET}/a") == "first"
            checked = await trial.check(ShellCommand("curl -s -m 5 localhost:8000/a; cat a; ls -A ~"))
            assert checked.output == "first"
            with pytest.raises(OSError), socket.create_connection(("127.0.0.1", 8000), 1):
                pass
            async with trial.trial() as above:
                assert await output_of(above, "curl -s -m 5 localhost:8000/a; cat a") == "first"

    asyncio.run(main())


def test_a_host_that_one_command_may_reach_is_no_way_out_for_others(root: Path) -> None:
    async def main() -> None:
        async with trial_of(root) as trial:
            job = await start(trial, "while :; do curl -s -m 1 localhost:3128; sleep 0.02; done")
            asked = ShellCommand("sleep 0.5; curl -s -m 5 localhost:8000; env", hosts=("example.org",))
            ran = await trial.exec(asked)
            assert "http_proxy=http://127.0.0.1:3128" in ran.output
            assert not job.printed().data

    asyncio.run(main())


def test_hosts_of_the_person_are_reached_through_one_proxy(root: Path) -> None:
    # The name leads nowhere: kith's proxy answers for it, and refuses any other.
    line = (
        "curl -s -m 9 http://host.invalid; curl -s -m 9 http://other.invalid; curl -s -m 9 localhost:8000/a"
    )

    async def main() -> None:
        async with trial_of(root, ("host.invalid",)) as trial:
            job = await start(trial, f"{SERVER} & curl -s -m 9 http://more.invalid; wait")
            assert await output_of(trial, f"{GET}/a") == "first"
            ran = await trial.exec(ShellCommand(line))
            assert ran.output.endswith("first")
            refused = {each.place: each.refused for each in ran.reached}
            assert refused["other.invalid:80"] == "not allowed"
            assert "known" in refused["host.invalid:80"]
            await soon(lambda: b"more.invalid:80: not allowed" in job.printed().data)

    asyncio.run(main())


# Where the machine refuses a fork before kith counts, the others stay.
FORKS = "import os, time\nwhile 1:\n try: os.fork()\n except OSError: time.sleep(60)"


@pytest.mark.parametrize(
    ("line", "limits", "words"),
    [
        ("yes", ExecLimits(), f"it printed more than {MOST_PRINTED:,} bytes"),
        (f"python3 -c '{FORKS}'", ExecLimits(processes=50), "processes"),
        ("python3 -c 'x = bytearray(900 << 20); input()' </dev/zero", ExecLimits(memory=200 << 20), ""),
        ("head -c 99M /dev/zero >/tmp/x; sleep 60", ExecLimits(scratch=9 << 20), "it left too much in /tmp"),
        ("head -c 99M /dev/zero >x || sleep 0.1", ExecLimits(file_size=9 << 20), ""),
    ],
)
def test_a_process_is_held_to_its_limits(root: Path, line: str, limits: ExecLimits, words: str) -> None:
    async def main() -> None:
        async with trial_of(root) as trial:
            job = await start(trial, line, limits)
            await job.wait(30)
            assert job.ran is not None
            if words:
                assert words in job.ran.stopped and job.ended_by == "limit"
            else:
                assert job.ended_by == "itself"
            assert len(job.printed().data) <= KEPT
            assert await output_of(trial, "cat a") == "first"

    asyncio.run(main())
    assert not (root / "x").exists()


def test_what_was_printed_outlives_the_process_and_a_full_tmp(root: Path) -> None:
    async def main() -> None:
        async with trial_of(root) as trial:
            job = await start(trial, "echo kept; sleep 60")
            await job.wait(10, for_news=True)
            ran = await trial.exec(
                ShellCommand("head -c 30M /dev/zero > /tmp/x; sleep 9"), ExecLimits(scratch=9 << 20)
            )
            assert ran.stopped and job.ran is None
            await job.stop()
            assert job.printed().data == b"kept\n"
            await trial.remember()
            assert trial.jobs[0].printed().data == b"kept\n"

    asyncio.run(main())


def test_stopping_takes_all_that_it_started(root: Path) -> None:
    ended: list[EndedBy] = []

    async def main() -> None:
        async with trial_of(root) as trial:
            line = "trap '' TERM; setsid sleep 98761 & (sleep 98761 &) ; echo up; sleep 98761"
            job = await trial.launch(ShellCommand(line), lambda job: ended.append(job.ended_by))
            await job.wait(10, for_news=True)
            await job.stop()
            assert job.ran and job.ran.code == 128 + signal.SIGKILL
            await job.stop()

    asyncio.run(main())
    assert ended == ["asked"] and not running("sleep\00098761")


@pytest.mark.parametrize("ending", ["remember", "leave", "error", "cancel"])
def test_processes_end_with_the_turn_and_with_the_trial(root: Path, ending: str) -> None:
    ended: list[EndedBy] = []
    seconds = 9_000_000 + os.getpid()  # which tells them from those of a test beside this one
    mark = f"sleep\0{seconds}"

    async def work() -> None:
        async with trial_of(root) as trial:
            for _ in range(3):
                await trial.launch(ShellCommand(f"sleep {seconds}"), lambda job: ended.append(job.ended_by))
            await soon(lambda: len(running(mark)) >= 3)
            if ending == "remember":
                await trial.remember()
                assert len(ended) == 3 and not running(mark)
            elif ending == "error":
                raise ValueError
            elif ending == "cancel":
                await asyncio.sleep(60)

    async def main() -> None:
        task = asyncio.create_task(work())
        if ending == "cancel":
            await soon(lambda: len(running(mark)) >= 3)
            await asyncio.sleep(0.1)
            task.cancel()
        with suppress(asyncio.CancelledError, ValueError):
            await task

    asyncio.run(main())
    assert ended == ["turn"] * 3 and not running(mark)
    assert not list((root.parent / "state" / "trials").iterdir())


KILLED = """
import asyncio, sys
from pathlib import Path
from kith.core.workspace import ShellCommand
from kith.trees.environment import Surroundings
from kith.trees.overlay import open_overlay

async def main():
    async with open_overlay(Path(sys.argv[1]), Path(sys.argv[2]), Surroundings()) as trial, trial.turn():
        for _ in range(3):
            sleep = ShellCommand("(setsid sleep 98763 &); setsid sleep 98763 & sleep 98763")
            await trial.launch(sleep, print)
        print("started", flush=True)
        await trial.exec(ShellCommand("sleep 98763"))

asyncio.run(main())
"""


def test_nothing_is_left_when_kith_is_killed(root: Path) -> None:
    words = [sys.executable, "-c", KILLED, str(root), str(root.parent / "state")]
    with subprocess.Popen(
        words, stdout=subprocess.PIPE, env={**os.environ, "PYTHONPATH": str(ROOT / "src")}
    ) as kith:
        assert kith.stdout and kith.stdout.readline() == b"started\n"
        until(lambda: len(running("sleep\00098763")) >= 10)
        kith.kill()
    until(lambda: not running("98763"), "processes are left")
    assert str(root) not in Path("/proc/self/mountinfo").read_text()


def test_none_is_started_once_the_turn_is_over(root: Path) -> None:
    async def main() -> None:
        tree = open_tree(root, root.parent / "state", root.parent / "cache")
        async with tree.trial() as trial:
            with pytest.raises(TreeError, match="while"):
                await start(trial, "true")
            async with trial.turn():
                busy = asyncio.create_task(trial.exec(ShellCommand("touch begun; sleep 0.5")))
                await soon(lambda: list((root.parent / "state").glob("trials/*/upper/begun")))
                late = asyncio.create_task(start(trial, "true"))  # waits for the command
                await asyncio.sleep(0.05)
            with pytest.raises(TreeError, match="while"):
                await late
            await busy

    asyncio.run(main())


def test_only_so_many_run_at_once(root: Path) -> None:
    async def main() -> None:
        async with trial_of(root) as trial:
            jobs = [await start(trial, "sleep 60") for _ in range(MOST_RUNNING)]
            with pytest.raises(TreeError, match="stop one"):
                await start(trial, "sleep 60")
            await jobs[0].stop()
            await start(trial, "sleep 60")

    asyncio.run(main())


@pytest.mark.parametrize("name", ["copy", "plain"])
def test_a_trial_without_an_overlay_says_so(tmp_path: Path, name: str) -> None:
    (tmp_path / "tree").mkdir()
    needs(name)

    async def main() -> None:
        async with TRIALS[name](tmp_path / "tree", tmp_path / "state") as trial, trial.turn():
            with pytest.raises(TreeError, match="overlay"):
                await start(trial, "true")

    asyncio.run(main())


def test_a_tree_knows_the_trials_at_work(root: Path, tmp_path: Path) -> None:
    async def main() -> None:
        tree = open_tree(root, tmp_path / "state", tmp_path / "cache")
        assert tree.hosts_jobs
        async with tree.trial("abc-1") as trial, tree.trial("xyz-1"):
            assert tree.open_trials("abc-") == (trial,)
        assert tree.open_trials("") == ()

    asyncio.run(main())


def test_printing_keeps_the_end_and_counts_what_it_lost() -> None:
    printing = Printing(keep=10)
    for _ in range(9):
        printing.add(b"0123456789")
    assert printing.since(0).data == b"0123456789" and printing.since(0).missed == 80
    assert printing.since(85).data == b"56789" and printing.since(85).missed == 0
    assert printing.since(90).data == b"" and printing.since(90).end == 90
