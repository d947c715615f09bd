"""A trial's /tmp: kept between its commands, closed to links, limited in size, gone with the trial."""

import asyncio
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from confined import find_abilities
from kith.core.values import Ran
from kith.core.workspace import ExecLimits, ShellCommand, Trial
from kith.trees.copy import open_copy
from kith.trees.environment import Surroundings
from kith.trees.overlay import open_overlay
from kith.trees.scratch import Scratch

Shell = Callable[..., Awaitable[Ran]]
LIMITS = ExecLimits(seconds=60)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "tree"
    root.mkdir()
    (root / "a").write_text("a")
    return root


@pytest.fixture(params=["overlay", "copy", "plain"])
def ground(request: pytest.FixtureRequest, root: Path, tmp_path: Path) -> str:
    can = find_abilities()
    missing = {"overlay": can.no_overlay, "copy": can.no_sandbox, "plain": ""}[request.param]
    if missing:
        pytest.skip(missing)
    return str(request.param)


@asynccontextmanager
async def opened(ground: str, root: Path) -> AsyncIterator[tuple[Trial, Shell]]:
    state = root.parent / "state"
    boxed = ground == "copy"
    opening = (
        open_overlay(root, state, Surroundings())
        if ground == "overlay"
        else open_copy(root, state, Surroundings(), boxed=boxed, confined=boxed)
    )
    async with opening as trial:

        async def shell(line: str, limits: ExecLimits = LIMITS) -> Ran:
            return await trial.exec(ShellCommand(line), limits)

        yield trial, shell


def play(ground: str, root: Path, scene: Callable[[Trial, Shell], Awaitable[None]]) -> None:
    async def main() -> None:
        async with opened(ground, root) as (trial, shell):
            await scene(trial, shell)

    asyncio.run(main())


def test_what_a_command_leaves_is_there_for_the_next(ground: str, root: Path) -> None:
    async def scene(trial: Trial, shell: Shell) -> None:
        await shell('echo kept > "$TMPDIR/note"; echo mine > ~/note')
        assert (await shell('cat "$TMPDIR/note" ~/note')).output == "kept\nmine\n"
        assert await trial.changes() == ()

    play(ground, root, scene)
    assert not list((root.parent / "state" / "trials").iterdir())


def test_checks_see_nothing_of_it(ground: str, root: Path) -> None:
    async def scene(trial: Trial, shell: Shell) -> None:
        await shell('echo "import sys" > "$TMPDIR/note"; echo x > ~/note')
        ran = await trial.check(ShellCommand('ls "$TMPDIR" ~; echo x > "$TMPDIR/other"'))
        assert "note" not in ran.output and ran.code == 0
        left = (await shell('ls "$TMPDIR"')).output.split()
        assert "note" in left and "other" not in left

    play(ground, root, scene)


def test_another_trial_has_another_one(ground: str, root: Path) -> None:
    async def scene(trial: Trial, shell: Shell) -> None:
        await shell('echo x > "$TMPDIR/note"')
        async with opened(ground, root) as (_, other):
            assert "note" not in (await other('ls "$TMPDIR"')).output

    play(ground, root, scene)


def test_a_link_in_place_of_a_mount_leads_nowhere(root: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (tmp_path / "rules").write_text("*.log\n")
    traps = [
        f"rm -rf /tmp/home && ln -s /oldroot{outside} /tmp/home",
        f"mkdir -p ~/.config && ln -sT /oldroot{outside} ~/.config/git",
        f"mkdir -p ~/.config/git && ln -sf /oldroot{outside}/ignore ~/.config/git/ignore",
        "mkdir -p ~/.config/git/ignore/deep",
        "rm -rf /tmp/home; echo x > /tmp/home",
        "mkdir -p ~/.config; chmod 0 ~/.config",
        "chmod 0 /tmp",
    ]
    if reason := find_abilities().no_overlay:
        pytest.skip(reason)

    async def scene(trial: Trial, shell: Shell) -> None:
        for trap in traps:
            await shell(trap)
            ran = await shell("cd && echo $HOME && echo x > new && git -C /tmp check-ignore --no-index a.log")
            assert ran.output.startswith("/tmp/home\n") and "started" not in ran.output, trap
            assert not list(outside.iterdir()), trap

    play("overlay", root, scene)


def test_the_tree_itself_may_lie_below_tmp(root: Path) -> None:
    """As it does here: the way to it is closed to links, too."""
    if reason := find_abilities().no_overlay:
        pytest.skip(reason)
    if not root.is_relative_to("/tmp"):
        pytest.skip("temporary folders lie elsewhere")
    top = root.relative_to("/tmp").parts[0]

    async def scene(trial: Trial, shell: Shell) -> None:
        ran = await shell(f"mv /tmp/{top} /tmp/moved; ln -s /oldroot/tmp /tmp/{top}")
        assert (await shell("cat a")).output == "a" and ran.sandboxed

    play("overlay", root, scene)


@pytest.mark.slow
def test_too_much_in_it_ends_the_command_and_empties_it(ground: str, root: Path) -> None:
    small = ExecLimits(seconds=60, scratch=2_000_000)

    async def scene(trial: Trial, shell: Shell) -> None:
        ran = await shell(
            'i=0; while :; do i=$((i+1)); head -c 500000 /dev/zero > "$TMPDIR/$i"; sleep 0.1; done', small
        )
        assert ran.code == 137 and "too much" in ran.output
        assert "was emptied" in ran.output
        assert (await shell('ls "$TMPDIR"/[0-9]*', small)).code != 0
        quick = await shell('head -c 3000000 /dev/zero > "$TMPDIR/big"', small)
        assert quick.code == 0 and "was emptied" in quick.output

    play(ground, root, scene)


def test_a_long_output_can_be_read_on(ground: str, root: Path) -> None:
    brief = ExecLimits(seconds=60, output=3000)

    async def scene(trial: Trial, shell: Shell) -> None:
        ran = await shell("seq 1 90000", brief)
        assert ran.cut and ran.whole.endswith("/output-1.txt")
        assert (await shell(f"sed -n 45000p {ran.whole}; wc -l < {ran.whole}")).output == "45000\n90000\n"
        again = await shell("seq 1 90000", brief)
        assert again.whole.endswith("/output-2.txt")
        assert (await shell("echo short", brief)).whole == ""

    play(ground, root, scene)


def test_a_file_in_the_way_of_an_output_is_left_alone(root: Path, tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    kept.write_text("mine")

    async def scene(trial: Trial, shell: Shell) -> None:
        await shell(f'ln -s {kept} "$TMPDIR/output-1.txt"')
        ran = await shell("seq 1 90000", ExecLimits(seconds=60, output=3000))
        assert ran.whole.endswith("/output-2.txt") and kept.read_text() == "mine"

    play("plain", root, scene)


@pytest.mark.slow
def test_a_command_out_of_time_says_what_it_printed(ground: str, root: Path) -> None:
    async def scene(trial: Trial, shell: Shell) -> None:
        ran = await shell("seq 1 90000; sleep 60", ExecLimits(seconds=3.0, output=3000))
        assert ran.timed_out and "90000" in ran.output
        assert (await shell(f"head -n 2 {ran.whole}")).output == "1\n2\n"

    play(ground, root, scene)


def test_links_and_unreadable_folders_do_not_stop_the_count(tmp_path: Path) -> None:
    scratch = Scratch(tmp_path / "tmp", most=1_000_000)
    scratch.prepare()
    (scratch.folder / "up").symlink_to("..")
    (scratch.folder / "shut").mkdir(mode=0)
    assert not scratch.overdrawn() and scratch.settle() == ""
    (scratch.folder / "big").write_bytes(os.urandom(1_100_000))
    assert scratch.overdrawn() and "emptied" in scratch.settle() and not scratch.folder.exists()
