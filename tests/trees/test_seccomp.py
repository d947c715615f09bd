"""The filter answers what it should, for both kinds of processors, and what programs need goes on."""

import asyncio
import errno
import platform
import struct
from collections.abc import Sequence
from pathlib import Path

import pytest

from kith.core.workspace import ExecLimits, ShellCommand
from kith.trees.sandbox import Box, run_boxed
from kith.trees.seccomp import ALLOW, ERRNO, KILL, MACHINES, make_filter


def answer(program: bytes, audit: int, number: int, arguments: Sequence[int] = ()) -> int:
    """What the kernel would answer, by the rules of classic BPF (linux/filter.h)."""
    padded = [*arguments, *[0] * 6][:6]
    data = struct.pack("<IIQ6Q", number, audit, 0, *(each & (1 << 64) - 1 for each in padded))
    code = [struct.unpack_from("<HBBI", program, at) for at in range(0, len(program), 8)]
    at = held = 0
    while True:
        what, yes, no, value = code[at]
        at += 1
        if what == 0x20:
            (held,) = struct.unpack_from("<I", data, value)
        elif what == 0x54:
            held &= value
        elif what == 0x06:
            return int(value)
        else:
            at += yes if {0x15: held == value, 0x25: held > value, 0x45: bool(held & value)}[what] else no


REFUSED, ABSENT, FAMILY, PROTOCOL = (
    ERRNO | each for each in (errno.EPERM, errno.ENOSYS, errno.EAFNOSUPPORT, errno.EPROTONOSUPPORT)
)
CASES: list[tuple[str, Sequence[int], int]] = [
    *((name, (), REFUSED) for name in ("ptrace", "keyctl", "bpf", "mount", "setns", "userfaultfd", "chroot")),
    *((name, (), ABSENT) for name in ("clone3", "io_uring_setup", "io_uring_enter")),
    ("clone", (17,), ALLOW),
    ("clone", (0x003D0F00,), ALLOW),  # a thread
    ("clone", (0x10000000 | 17,), REFUSED),
    ("clone", (0x40000000 | 17 | 1 << 40,), REFUSED),
    ("unshare", (0x400,), ALLOW),  # files
    ("unshare", (0x20000,), REFUSED),
    ("unshare", (0x80,), REFUSED),  # time
    ("socket", (1, 1, 0), ALLOW),
    ("socket", (1, 5 | 0o2000000, 0), ALLOW),
    ("socket", (2, 1 | 0o2000000 | 0o4000, 6), ALLOW),
    ("socket", (10, 2, 0), ALLOW),
    ("socket", (10, 1, 262), ALLOW),  # Go listens so
    ("socket", (2, 3, 1), REFUSED),  # raw
    ("socket", (2, 1, 132), PROTOCOL),  # SCTP would load a module
    ("socket", (16, 3, 0), ALLOW),  # what are my addresses
    ("socket", (16, 3, 9), PROTOCOL),  # audit
    *(("socket", (family, 1, 0), FAMILY) for family in (0, 17, 38, 40, 44)),
    ("socketpair", (1, 1, 0), ALLOW),
    ("socketpair", (30, 1, 0), FAMILY),
    ("personality", (0xFFFFFFFF,), ALLOW),
    ("personality", (0x0040000,), ALLOW),  # sanitizers
    ("personality", (0x0400000,), REFUSED),  # everything that is read may be run
    ("ioctl", (0, 0x5401), ALLOW),
    ("ioctl", (0, 0x5412), REFUSED),
    ("ioctl", (0, 0x5412 | 1 << 32), REFUSED),  # the kernel looks at the lower half only
    ("mknodat", (0, 0, 0o10644), ALLOW),  # a FIFO
    ("mknodat", (0, 0, 0o20644), REFUSED),
    ("mknodat", (0, 0, 0o60644), REFUSED),
]


@pytest.mark.parametrize("machine", MACHINES)
def test_calls_are_answered_by_number_and_arguments(machine: str) -> None:
    program, known = make_filter(machine), MACHINES[machine]
    for name, arguments, wanted in CASES:
        assert answer(program, known.audit, known.numbers[name], arguments) == wanted, (name, arguments)
    harmless = set(range(400)) - set(known.numbers.values())
    assert all(answer(program, known.audit, number, [~0] * 6) == ALLOW for number in harmless)


@pytest.mark.parametrize("machine", MACHINES)
def test_other_ways_into_the_kernel_are_closed(machine: str) -> None:
    program, known = make_filter(machine), MACHINES[machine]
    for audit in (0x40000003, 0x40000028, 0, *(each.audit for each in MACHINES.values())):
        assert audit == known.audit or answer(program, audit, 1) == KILL
    assert answer(program, known.audit, 500) == ABSENT  # not invented yet
    assert answer(program, known.audit, 0x40000000 | 1) == ABSENT  # x32
    assert answer(program, known.audit, 0xFFFFFFFF) == ABSENT


def test_a_kernel_takes_it(tmp_path: Path, sandbox: None) -> None:
    if platform.machine() not in MACHINES:
        pytest.skip("no filter for this processor")
    assert len(make_filter()) < 8 * 4096
    ran = asyncio.run(
        run_boxed(
            Box(tmp_path, tmp_path, True), ShellCommand("grep Seccomp: /proc/self/status"), ExecLimits()
        )
    )
    assert ran.output.split() == ["Seccomp:", "2"]


def test_one_that_is_not_known_gets_none() -> None:
    assert make_filter("mips") == b""


PROGRAM = """
import asyncio, multiprocessing, os, pty, socket, threading
from multiprocessing.connection import Client, Listener

def square(number): return number * number

async def main():
    process = await asyncio.create_subprocess_exec("echo", "child", stdout=-1)
    assert (await process.communicate())[0] == b"child\\n"
    server = await asyncio.start_unix_server(lambda reader, writer: writer.close(), "/tmp/own.sock")
    reader, _ = await asyncio.open_unix_connection("/tmp/own.sock")
    assert await reader.read() == b""
    assert await asyncio.get_running_loop().getaddrinfo("localhost", 80)

if __name__ == "__main__":
    asyncio.run(main())
    for kind in ("fork", "forkserver"):
        context = multiprocessing.get_context(kind)
        with context.Pool(1) as pool:
            assert pool.map(square, [3]) == [9]
        with context.Manager() as manager:
            assert manager.list([1])[0] == 1
    listener = Listener(family="AF_UNIX")
    threading.Thread(target=lambda: listener.accept().send("word")).start()
    assert Client(listener.address).recv() == "word"
    with socket.create_server(("127.0.0.1", 0)) as server:
        socket.create_connection(server.getsockname()).close()
    os.mkfifo("/tmp/fifo"); pty.openpty(); socket.socketpair()
    open("/dev/shm/x", "w").close(); open("/var/tmp/x", "w").close(); open("/run/x", "w").close()
    print("all")
"""


@pytest.mark.slow
def test_what_tests_do_works(tmp_path: Path, sandbox: None) -> None:
    (tmp_path / "program.py").write_text(PROGRAM)
    ran = asyncio.run(
        run_boxed(
            Box(tmp_path, tmp_path, True), ShellCommand("/usr/bin/python3 program.py"), ExecLimits(seconds=60)
        )
    )
    assert ran.output.strip().endswith("all"), ran.output
