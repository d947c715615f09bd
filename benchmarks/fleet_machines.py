"""Machines for benchmarks of the fleet: folders of their own, and namespaces of their own where wanted.

A machine in namespaces has its own processes, network, host name and mounts. It reaches the model and the
database through a bridge, which needs root; `cut` takes its network away, as a pulled cable does. What still
runs in it after its worker has ended is an orphan. A machine may have a wrong clock (faketime).
"""

import asyncio
import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Final

from msgspec import Struct

from kith.memory.log import LOG_FILE, Log

MODEL: Final = "box/standin"
SETTINGS: Final = """\
discovery = "off"
check = "{check}"
[endpoints.box]
kind = "vllm"
url = "{url}"
[fleet]
store = "{store}"
silence_seconds = {silence}
attempts = 50
checkpoint_turns = {turns}
free_mb = 0
servers = ["box={slots}"]
"""
# Process 1 of a machine: its folder is at the same path as that of every machine, and orphans are reaped.
# There is a process 2 at all times: without one, bubblewrap fails as kith starts it.
_INIT: Final = """\
sleep infinity &
hostname "$1" && mount --bind "$2" "$3" && echo ready || exit 1
trap '' INT
while :; do sleep 1000 & wait; done
"""
_FAKETIME: Final = "*/faketime/libfaketime.so.1"
_TICK: Final = os.sysconf("SC_CLK_TCK")


class Space(Struct):
    """The namespaces of a machine. `init`: process 1, seen from outside."""

    name: str
    link: str
    init: int
    process: subprocess.Popen[str]


class Bridge:
    """A network of machines, with this one at `address`."""

    def __init__(self) -> None:
        self.name = f"kf{os.getpid()}"
        self.net = f"10.77.{os.getpid() % 250}"
        self.address = f"{self.net}.1"
        _ip("link", "add", self.name, "type", "bridge")
        _ip("addr", "add", f"{self.address}/24", "dev", self.name)
        _ip("link", "set", self.name, "up")
        self.spaces = dict[int, Space]()

    def add(self, number: int, own: Path, shared: Path) -> Space:
        name, link = f"{self.name}m{number}", f"{self.name}v{number}"
        _ip("netns", "add", name)
        _ip("link", "add", link, "type", "veth", "peer", "name", "eth0", "netns", name)
        _ip("link", "set", link, "master", self.name, "up")
        _ip("-n", name, "addr", "add", f"{self.net}.{number + 2}/24", "dev", "eth0")
        for each in ("eth0", "lo"):
            _ip("-n", name, "link", "set", each, "up")
        outer = ["ip", "netns", "exec", name, "unshare", "--fork", "--pid", "--mount-proc", "--uts", "--ipc"]
        inner = ["--kill-child", "bash", "-c", _INIT, "init", name, str(own), str(shared)]
        process = subprocess.Popen([*outer, *inner], stdout=subprocess.PIPE, text=True)
        assert process.stdout and process.stdout.readline() == "ready\n"
        self.spaces[number] = space = Space(name, link, _child(process.pid), process)
        return space

    def cut(self, number: int, up: bool) -> None:
        _ip("link", "set", self.spaces[number].link, "up" if up else "down")

    def orphans(self) -> list[str]:
        """What runs on the machines beside process 1 and its sleep."""
        found = list[str]()
        for space in self.spaces.values():
            mine = Path(f"/proc/{space.init}/ns/pid").readlink()
            for each in Path("/proc").iterdir():
                with suppress(OSError):
                    if each.name != str(space.init) and (each / "ns" / "pid").readlink() == mine:
                        words = (each / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                        found += [words[:200]] * (words.strip() not in ("", "sleep 1000", "sleep infinity"))
        return found

    def close(self) -> None:
        for space in self.spaces.values():
            space.process.kill()
            space.process.wait()
            _ip("netns", "del", space.name)
        _ip("link", "del", self.name)


class Machines:
    """Workers, each with folders of its own, started again when they end.

    With a `bridge`, each is in namespaces of its own. `clocks`: seconds by which machines' clocks are wrong.
    """

    def __init__(
        self, folder: Path, dsn: str, url: str, silence: float, slots: int, bridge: Bridge | None = None
    ) -> None:
        self.folder, self.dsn, self.url, self.silence, self.slots = folder, dsn, url, silence, slots
        self.check, self.turns = "python3 -m unittest -q", 1
        self.processes: dict[int, subprocess.Popen[bytes]] = {}
        self.bridge, self.clocks = bridge, dict[int, float]()

    def home(self, number: int) -> Path:
        """The folder of a machine, as the machine itself sees it."""
        own = self.folder / f"machine{number}"
        own.mkdir(exist_ok=True)
        if not self.bridge:
            return own
        here = self.folder / "here"
        here.mkdir(exist_ok=True)
        if number not in self.bridge.spaces:
            self.bridge.add(number, own, here)
        return here

    def environment(self, number: int) -> dict[str, str]:
        home = self.home(number)
        config = self.folder / f"machine{number}" / "config" / "kith"
        config.mkdir(parents=True, exist_ok=True)
        (config / "config.toml").write_text(
            SETTINGS.format(
                url=self.url,
                store=self.folder / "store",
                silence=self.silence,
                slots=self.slots,
                check=self.check,
                turns=self.turns,
            )
        )
        return {
            **os.environ,
            "XDG_CONFIG_HOME": str(home / "config"),
            "XDG_STATE_HOME": str(home / "state"),
            "KITH_FLEET_FOLDER": str(home / "fleet"),
            "KITH_FLEET_DSN": self.dsn,
        }

    def command(self, number: int, words: list[str]) -> list[str]:
        """A command as it runs on a machine."""
        command = ["setpriv", "--pdeathsig", "KILL", "--", *words]
        if not self.bridge:
            return command
        enter = ["nsenter", f"--target={self.bridge.spaces[number].init}", "-m", "-u", "-i", "-n", "-p", "--"]
        return [*enter, *command]

    def start(self, number: int, slots: int = 1) -> None:
        words = ["fleet", "worker", "--models", MODEL, "--slots", str(slots), "--grace", "0"]
        env = self.environment(number)
        if clock := self.clocks.get(number, 0.0):
            env |= {"LD_PRELOAD": str(next(Path("/usr/lib").glob(_FAKETIME))), "FAKETIME": f"{clock:+.0f}s"}
            env["FAKETIME_DONT_FAKE_MONOTONIC"] = "1"
        command = self.command(number, [sys.executable, "-m", "kith", *words])
        quiet = subprocess.DEVNULL
        with (self.folder / f"machine{number}.log").open("ab") as log:
            self.processes[number] = subprocess.Popen(
                command, env=env, stdin=quiet, stdout=quiet, stderr=log, cwd=self.folder
            )

    def worker(self, number: int) -> int:
        """The process of a worker, seen from outside; 0 while it is not there."""
        pid = self.processes[number].pid
        return _child(pid) if self.bridge else pid

    async def kill(self, number: int, how: signal.Signals) -> None:
        process = self.processes[number]
        while process.poll() is None:
            if pid := self.worker(number):
                with suppress(ProcessLookupError):
                    os.kill(pid, how)
                break
            await asyncio.sleep(0.01)
        await asyncio.to_thread(process.wait)  # a drained one still needs the proxy of this loop

    async def stop(self) -> None:
        await asyncio.gather(*(self.kill(number, signal.SIGTERM) for number in self.processes))

    def cpu_s(self) -> float:
        """CPU seconds of all workers so far, with the kiths that have ended."""
        return sum(_cpu_s(self.worker(number)) for number in self.processes)

    def sessions_left(self) -> list[str]:
        """Trials, logs and folders of runs that are left on the machines, and parts of files in the store."""
        left = list[str]()
        for own in self.folder.glob("machine*"):
            for pattern in ("fleet/runs/*", "fleet/runs/.[!.]*", "state/kith/trials/*"):
                left += [str(each) for each in own.glob(pattern)]
            log = own / "state" / "kith" / LOG_FILE
            left += [each.id for each in Log(log).sessions(limit=10)] if log.exists() else []
        return left + [str(each) for each in (self.folder / "store").glob("*/.*")]


def _ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True)


def _child(pid: int) -> int:
    with suppress(OSError):
        words = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        return int(words[0]) if words else 0
    return 0


def _cpu_s(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(int(each) for each in fields[11:15]) / _TICK
