"""A command ends at its limits, its output is bounded, and nothing of it is left behind."""

import asyncio
import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from kith.core.values import Ran
from kith.core.workspace import ExecLimits
from kith.trees.exec import run_process
from waiting import running, soon

ENV = {"PATH": os.environ["PATH"]}


def run(line: str, limits: ExecLimits = ExecLimits(), input: bytes = b"") -> Ran:
    return asyncio.run(
        run_process(
            ["bash", "-c", line],
            command=line,
            env=ENV,
            cwd=Path("/tmp"),
            limits=limits,
            input=input,
            sandboxed=False,
        )
    )


def test_code_and_output_of_both_streams() -> None:
    ran = run("echo out; echo err >&2; exit 3")
    assert (ran.command, ran.code, ran.output) == ("echo out; echo err >&2; exit 3", 3, "out\nerr\n")
    assert not ran.timed_out and ran.cut == 0 and not ran.sandboxed and ran.seconds > 0


def test_a_signal_is_128_and_its_number() -> None:
    assert run("kill -TERM $$").code == 128 + signal.SIGTERM


def test_a_missing_program_is_a_failure_and_no_error() -> None:
    ran = asyncio.run(
        run_process(
            ["/no/such/program"], command="x", env=ENV, cwd=Path("/"), limits=ExecLimits(), sandboxed=False
        )
    )
    assert ran.code == 127 and "/no/such/program" in ran.output


def test_standard_input_is_empty_or_what_was_given() -> None:
    assert run("cat; echo end", ExecLimits(seconds=60)).output == "end\n"
    data = os.urandom(100_000).hex().encode()
    assert (
        run("sha256sum", input=data).output == run("sha256sum", input=data).output != run("sha256sum").output
    )
    assert run("true", input=data * 10).code == 0  # nobody reads it


def test_broken_utf8_is_replaced() -> None:
    assert run(r"printf 'a\377b'").output == "a\ufffdb"


def test_a_flood_is_cut_in_the_middle_and_memory_stays_small() -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    ran = run("echo first; yes | head -c 200000000; echo last", ExecLimits(output=3000))
    assert ran.output.startswith("first\ny\n") and ran.output.endswith("y\nlast\n")
    assert ran.cut == 200_000_000 + len("first\nlast\n") - 3000
    head, tail = ran.output.split(f"\n[... {ran.cut:,} bytes left out ...]\n")
    assert (len(head), len(tail)) == (1000, 2000)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 30_000  # kilobytes


@pytest.mark.parametrize(
    "line",
    [
        "sleep {0}",
        "sleep {0} & sleep {0} & wait",
        "setsid sleep {0} & trap '' TERM INT; sleep {0}",
        "(setsid setsid sleep {0} &) & sleep {0}",
    ],
)
def test_time_out_kills_the_whole_tree(line: str) -> None:
    token = f"98{os.getpid()}.{abs(hash(line)) % 10000}"
    ran = run(line.format(token), ExecLimits(seconds=0.3))
    assert ran.timed_out and ran.code == 124
    assert running(token) == []


def test_a_background_child_does_not_keep_the_command_open() -> None:
    token = f"97{os.getpid()}"
    ran = run(f"sleep {token} & setsid sleep {token} & echo done", ExecLimits(seconds=60))
    assert ran.code == 0 and ran.output == "done\n"
    assert running(token) == []


def test_cancelling_leaves_nothing() -> None:
    token = f"96{os.getpid()}"

    async def main() -> None:
        task = asyncio.create_task(
            run_process(
                ["bash", "-c", f"setsid sleep {token} & sleep {token}"],
                command="",
                env=ENV,
                cwd=Path("/"),
                limits=ExecLimits(),
                sandboxed=False,
            )
        )
        await soon(lambda: len(running(token)) == 3)  # bash and both sleeps
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    for _ in range(3):
        asyncio.run(main())
        assert running(token) == []


def test_cancelling_during_the_start_leaves_nothing() -> None:
    token = f"92{os.getpid()}"

    async def main(turns: int) -> None:
        limits, argv = ExecLimits(), ["bash", "-c", f"setsid sleep {token} & sleep {token}"]
        task = asyncio.create_task(
            run_process(argv, command="", env=ENV, cwd=Path("/"), limits=limits, sandboxed=False)
        )
        for _ in range(turns):
            await asyncio.sleep(0)
        time.sleep(0.02)  # bash goes on while nobody here has heard of it yet
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    for turns in range(8):
        asyncio.run(main(turns))
        assert running(token) == []


def test_limits_are_set_for_the_command() -> None:
    limits = ExecLimits(memory=1 << 28, processes=321, file_size=1 << 20)
    ran = run("ulimit -d -u -f -c", limits)
    numbers = [line.split()[-1] for line in ran.output.splitlines()]
    assert numbers == [str((1 << 28) // 1024), "321", str((1 << 20) // 1024), "0"]


def test_processes_that_together_use_too_much_memory_are_stopped() -> None:
    line = f"{sys.executable} -c 'import time; x = b\"1\" * 60_000_000; time.sleep(600)'"
    ran = run(f"{line} & {line} & wait", ExecLimits(seconds=60, memory=90_000_000))
    assert ran.code == 137 and "90,000,000 bytes of memory" in ran.output


FULL = """
import os, sys
from pathlib import Path
from kith.core.workspace import ExecLimits
from kith.trees.limits import Allowance
place = Path(sys.argv[1])
disk, machine = Allowance(ExecLimits(), place), Allowance(ExecLimits())
assert (disk.excess(os.getpid()), machine.excess(os.getpid())) == ("", "")
(place / "meminfo").write_text("MemTotal: 16000000 kB\\nMemAvailable: 1000 kB\\n")
os.system(f"mount --bind {place}/meminfo /proc/meminfo")
print(machine.excess(os.getpid()))
os.system("umount /proc/meminfo")
(place / "large").write_bytes(bytes(5 << 20))
print(disk.excess(os.getpid()))
"""


@pytest.mark.slow
def test_a_full_disk_and_a_machine_without_memory_are_noticed(tmp_path: Path) -> None:
    script = 'mount -t tmpfs -o size=8m none "$1" && exec "$2" -c "$3" "$1"'
    argv = ["unshare", "-Urm", "sh", "-c", script, "sh", str(tmp_path), sys.executable, FULL]
    ran = subprocess.run(argv, capture_output=True, text=True)
    if "unshare" in ran.stderr or "mount" in ran.stderr:
        pytest.skip("nothing can be mounted here")
    said = ["the machine had almost no memory left", "it used half of what was free on the disk"]
    assert ran.stdout.splitlines() == said, ran.stderr
