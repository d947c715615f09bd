"""The overlay's layers, from outside and from inside, and what becomes of a trial when things go wrong."""

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kith.core.errors import BusyError, TreeError
from kith.core.workspace import ExecLimits, ShellCommand
from kith.trees.environment import Surroundings
from kith.trees.local import open_tree
from kith.trees.overlay import Layers, open_overlay
from kith.trees.sandbox import BARE, Abilities, look, probe
from places import ROOT
from waiting import running, soon, until

SRC = ROOT / "src"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "tree"
    (root / "d/e").mkdir(parents=True)
    for path in ("a", "d/b", "d/e/c"):
        (root / path).write_text(path)
    reason = look(root, tmp_path / "probe").no_overlay
    if reason:
        pytest.skip(reason)
    return root


# --- inside and outside agree ------------------------------------------------------------------

paths = st.sampled_from(["a", "d/b", "d/e/c", "d/new", "n/o/p", "d/e"])
lines = st.sampled_from(
    [
        "rm -rf d",
        "mkdir -p d/e; echo i > d/e/c",
        "mv d n",
        "rm -rf a; mkdir a",
        "rm -rf d/e; echo file > d/e",
        "rm -rf n; ln -s d n",
    ]
)
steps = st.one_of(
    st.tuples(st.just("write"), paths, st.binary(max_size=3)),
    st.tuples(st.just("delete"), paths, st.just(b"")),
    st.tuples(st.just("run"), lines, st.just(b"")),
)


@pytest.mark.slow
@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(steps, max_size=6))
def test_a_command_sees_what_is_read_from_outside(
    root: Path, tmp_path: Path, plan: list[tuple[str, str, bytes]]
) -> None:
    async def main() -> None:
        async with open_overlay(root, tmp_path / "state", Surroundings()) as trial:
            for kind, what, data in plan:
                try:
                    if kind == "run":
                        await trial.exec(ShellCommand(what))
                    else:
                        await trial.write(what, data if kind == "write" else None)
                except TreeError:
                    continue
            ran = await trial.exec(
                ShellCommand("find . -type f -exec sh -c 'echo {}; od -An -tx1 -v {}' ';'")
            )
            lines = iter(ran.output.splitlines())
            inside = dict[str, bytes]()
            for line in lines:
                if line.startswith("./"):
                    inside[name := line[2:]] = b""
                else:
                    inside[name] += bytes.fromhex(line)
            assert sorted(inside) == [
                path for path in await trial.files() if not (path == "n" and path not in inside)
            ]
            for path, content in inside.items():
                assert await trial.read(path) == content
            changed = {change.path for change in await trial.changes()}
            for path in ("a", "d/b", "d/e/c"):
                assert (path in changed) == (inside.get(path) != path.encode())

    asyncio.run(main())
    assert (root / "d/e/c").read_text() == "d/e/c"


def test_links_in_the_upper_layer_lead_nowhere(root: Path, tmp_path: Path) -> None:
    secret = tmp_path / "outside"
    secret.mkdir()
    (secret / "b").write_text("secret")

    async def main() -> None:
        async with open_overlay(root, tmp_path / "state", Surroundings()) as trial:
            await trial.exec(
                ShellCommand(f"rm -r d a; ln -s {secret} d; ln -s {secret}/b a; ln -s ../../.. up")
            )
            for path in ("d/b", "a", "up/x"):
                with pytest.raises(TreeError):
                    await trial.read(path)
                with pytest.raises(TreeError):
                    await trial.write(path, b"x")
            assert b"secret" not in {change.after for change in await trial.changes()}
            await trial.write("d", None)
            await trial.write("d/b", b"mine")
            assert await trial.read("d/b") == b"mine"

    asyncio.run(main())
    assert (secret / "b").read_text() == "secret"


def test_a_command_cannot_forge_the_kernels_marks(root: Path, tmp_path: Path) -> None:
    async def main() -> None:
        async with open_overlay(root, tmp_path / "state", Surroundings()) as trial:
            await trial.exec(
                ShellCommand("mknod a2 c 0 0; setfattr -n user.overlay.opaque -v y d; echo x > d/new")
            )
            assert [change.path for change in await trial.changes()] == ["d/new"]

    asyncio.run(main())


def test_a_folder_that_comes_back_hides_the_old_one(root: Path, tmp_path: Path) -> None:
    layers = Layers(root, tmp_path / "upper")
    layers.upper.mkdir()
    for path in ("d/b", "d/e/c"):
        layers.put(path, None)
    assert layers.look("d/b") is None and layers.shows("d/e")
    os.mknod(layers.upper / "whole", 0o020000, 0)
    (root / "whole/inner").mkdir(parents=True)
    (root / "whole/inner/old").write_text("old")
    assert not layers.shows("whole/inner/old")
    found = layers.look("a")
    assert found
    layers.put("whole/inner/new", found)
    assert layers.shows("whole/inner/new") and not layers.shows("whole/inner/old")


def test_permissions_are_kept(root: Path, tmp_path: Path) -> None:
    (root / "a").chmod(0o750)
    (root / "d").chmod(0o700)

    async def main() -> None:
        async with open_overlay(root, tmp_path / "state", Surroundings()) as trial:
            await trial.write("a", b"new")
            await trial.write("d/b", b"new")
            ran = await trial.exec(ShellCommand("stat -c %a a d; test -x a"))
            assert (ran.code, ran.output) == (0, "750\n700\n")

    asyncio.run(main())


def test_the_users_own_ignore_rules_count(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home"
    (home / ".config/git").mkdir(parents=True)
    (home / ".config/git/ignore").write_text("*.swp\n")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    subprocess.run(["git", "init", "-q", root], check=True)

    async def main() -> None:
        async with open_overlay(root, tmp_path / "state", Surroundings()) as trial:
            await trial.exec(ShellCommand("touch a.swp b.txt"))
            assert [change.path for change in await trial.changes()] == ["b.txt"]

    asyncio.run(main())


# --- a trial's life ----------------------------------------------------------------------------


def test_leaving_removes_it_whatever_permissions_it_has(root: Path, tmp_path: Path) -> None:
    async def main() -> None:
        async with open_overlay(root, tmp_path / "state", Surroundings()) as trial:
            await trial.exec(
                ShellCommand("mkdir -p x/y/z; touch x/y/z/f; chmod 000 x/y/z/f x/y/z x/y x; chmod 500 d")
            )
            await trial.changes()

    asyncio.run(main())
    assert list((tmp_path / "state/trials").iterdir()) == []


def test_after_an_error_only_a_named_trial_is_kept(root: Path, tmp_path: Path) -> None:
    async def fail(name: str) -> None:
        with pytest.raises(ZeroDivisionError):
            async with open_overlay(root, tmp_path / "state", Surroundings(), name):
                raise ZeroDivisionError

    asyncio.run(fail(""))
    assert list((tmp_path / "state/trials").iterdir()) == []
    asyncio.run(fail("named"))
    assert [path.name for path in (tmp_path / "state/trials").iterdir()] == ["named"]


CRASH = """
import asyncio, os, sys
from pathlib import Path
from kith.core.workspace import ShellCommand
from kith.trees.environment import Surroundings
from kith.trees.overlay import open_overlay
async def main():
    async with open_overlay(Path(sys.argv[1]), Path(sys.argv[2]), Surroundings(), sys.argv[3]) as trial:
        await trial.exec(ShellCommand("echo survived > a; rm d/b"))
        await trial.check(ShellCommand("echo junk > report"))
        print("ready", flush=True)
        await trial.exec(ShellCommand(f"sleep {sys.argv[4]}"))
asyncio.run(main())
"""


def crash(root: Path, state: Path, name: str) -> None:
    env, token = {**os.environ, "PYTHONPATH": str(SRC)}, f"90{os.getpid()}"
    command = [sys.executable, "-c", CRASH, root, state, name, token]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, env=env)
    assert child.stdout and child.stdout.readline() == b"ready\n"
    until(lambda: running(f"sleep\0{token}"))  # killed while it starts, bubblewrap would wait for ever
    child.send_signal(signal.SIGKILL)
    child.wait()
    child.stdout.read()  # a process it was just starting holds its locks until it too is gone


@pytest.mark.slow
def test_a_named_trial_survives_a_crash(root: Path, tmp_path: Path) -> None:
    state = tmp_path / "state"
    crash(root, state, "task-1")
    crash(root, state, "")  # nobody can ask for this one again

    async def main() -> None:
        async with open_overlay(root, state, Surroundings(), "task-1") as trial:
            assert [path.name for path in (state / "trials").iterdir()] == ["task-1"]
            assert [(c.path, c.after) for c in await trial.changes()] == [("a", b"survived\n"), ("d/b", None)]
            assert (await trial.exec(ShellCommand("cat a report; ls d"))).output == "survived\njunk\ne\n"

    asyncio.run(main())


@pytest.mark.slow
def test_a_trial_in_use_and_another_trees_trial_are_refused(root: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()

    async def main() -> None:
        async with open_overlay(root, tmp_path / "state", Surroundings(), "mine"):
            with pytest.raises(BusyError):
                async with open_overlay(root, tmp_path / "state", Surroundings(), "mine"):
                    pass
        for name in ("../x", "a/b", "~x", ".hidden", ""):
            if name:
                with pytest.raises(TreeError):
                    async with open_overlay(root, tmp_path / "state", Surroundings(), name):
                        pass

    asyncio.run(main())
    crash(root, tmp_path / "state", "theirs")

    async def second() -> None:
        with pytest.raises(TreeError, match="belongs"):
            async with open_overlay(other, tmp_path / "state", Surroundings(), "theirs"):
                pass

    asyncio.run(second())
    assert (tmp_path / "state/trials/theirs/upper/a").read_text() == "survived\n"


def test_paths_with_any_character(tmp_path: Path, root: Path) -> None:
    odd = tmp_path / "a b,c:d'e\"f\\g\nh=lowerdir"
    odd.mkdir()
    (odd / "x").write_text("x")
    state = tmp_path / "st,ate:\n'"

    async def main() -> None:
        async with open_overlay(odd, state, Surroundings()) as trial:
            ran = await trial.exec(ShellCommand("echo y > x; pwd; echo new > 'n,\n'"))
            assert ran.output == f"{odd}\n"
            assert [(c.path, c.after) for c in await trial.changes()] == [("n,\n", b"new\n"), ("x", b"y\n")]

    asyncio.run(main())


def test_one_command_at_a_time(root: Path, tmp_path: Path) -> None:
    async def main() -> None:
        async with open_overlay(root, tmp_path / "state", Surroundings()) as trial:
            await asyncio.gather(
                *(
                    trial.exec(ShellCommand("n=$(cat n || echo 0); sleep .02; echo $((n+1)) > n"))
                    for _ in range(5)
                )
            )
            assert await trial.read("n") == b"5\n"

    asyncio.run(main())


def test_a_cancelled_command_leaves_the_trial_usable(root: Path, tmp_path: Path) -> None:
    async def main() -> None:
        token = f"99{os.getpid()}"
        async with open_overlay(root, tmp_path / "state", Surroundings()) as trial:
            task = asyncio.create_task(trial.exec(ShellCommand(f"echo x > a; sleep {token}")))
            await soon(lambda: running(f"sleep\0{token}"))
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert (await trial.exec(ShellCommand("cat a"), ExecLimits(seconds=60))).output == "x\n"

    asyncio.run(main())


# --- the machine -------------------------------------------------------------------------------


def test_what_works_is_looked_up_once(root: Path, tmp_path: Path) -> None:
    state, cache = tmp_path / "state", tmp_path / "cache"
    assert probe(root, state, cache) == Abilities()
    file = cache / "abilities.json"
    file.write_text(file.read_text().replace('"no_overlay": ""', '"no_overlay": "remembered"'))
    assert probe(root, state, cache).no_overlay == "remembered"
    file.write_text("{broken")
    assert probe(root, state, cache).overlay
    assert list((state / "trials").iterdir()) == []


def test_a_machine_that_is_too_busy_does_not_mean_that_there_is_no_sandbox(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow = tmp_path / "slow" / "bwrap"
    slow.parent.mkdir()
    slow.write_text("#!/bin/sh\nexec sleep 60\n")
    slow.chmod(0o755)
    monkeypatch.setitem(BARE, "PATH", f"{slow.parent}:{BARE['PATH']}")
    with pytest.raises(BusyError):
        look(root, tmp_path / "state", seconds=0.5)
    assert not list((tmp_path / "state").glob("trials/*"))


def test_a_state_below_the_tree_is_refused_with_a_sentence(root: Path) -> None:
    with pytest.raises(TreeError, match="own files"):
        open_tree(root, root / "state", root / "cache")


def test_without_bubblewrap_it_says_so(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    state, cache = tmp_path / "state", tmp_path / "cache"
    with pytest.raises(TreeError, match="bubblewrap"):
        open_tree(root, state, cache, sandbox="require")
    assert not open_tree(root, state, cache).confined


def test_the_real_tree_is_read_only_for_commands(root: Path, tmp_path: Path) -> None:
    tree = open_tree(root, tmp_path / "state", tmp_path / "cache", sandbox="require")

    async def main() -> None:
        assert (await tree.exec(ShellCommand("cat a; echo x > a"))).code == 1
        async with tree.trial("t") as trial:
            assert (await trial.exec(ShellCommand("echo x > a"))).code == 0 and trial.confined
            changes = await trial.changes()
        await tree.apply(changes)

    asyncio.run(main())
    assert (root / "a").read_text() == "x\n"
