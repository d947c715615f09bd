"""What every tree promises, whatever it stands on: local, overlay, copy in a sandbox, plain copy."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from pathlib import Path

import pytest

from kith.core.errors import TreeError
from kith.core.values import EXECUTABLE, SYMLINK, Change, Changes
from kith.core.workspace import ShellCommand, Trial, Workspace
from kith.trees.local import open_tree
from projects import TRIALS, git, make_project, needs, snapshot


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return make_project(tmp_path / "project")


@pytest.fixture(params=TRIALS)
def begin(
    request: pytest.FixtureRequest, project: Path, tmp_path: Path
) -> Callable[[], AbstractAsyncContextManager[Trial]]:
    needs(request.param)
    return lambda: TRIALS[request.param](project, tmp_path / "state")


@pytest.fixture(params=["local", *TRIALS])
def enter(
    request: pytest.FixtureRequest, project: Path, tmp_path: Path
) -> Callable[[], AbstractAsyncContextManager[Workspace]]:
    needs(request.param)

    @asynccontextmanager
    async def local() -> AsyncIterator[Workspace]:
        yield open_tree(project, tmp_path / "state", tmp_path / "cache")

    return local if request.param == "local" else lambda: TRIALS[request.param](project, tmp_path / "state")


# --- every tree --------------------------------------------------------------------------------


def test_files_are_those_that_are_not_ignored(
    enter: Callable[[], AbstractAsyncContextManager[Workspace]],
) -> None:
    async def main() -> None:
        async with enter() as tree:
            assert list(await tree.files()) == sorted(
                [
                    ".gitignore",
                    "docs/c d.txt",
                    "link",
                    "readme",
                    "run.sh",
                    "src/a.py",
                    "src/deep/b.py",
                    "untracked",
                ]
            )
            await tree.write("src/new.py", b"new\n")
            await tree.write("x.log", b"ignored\n")
            await tree.write("readme", None)
            files = list(await tree.files())
            assert "src/new.py" in files and "x.log" not in files and "readme" not in files

    asyncio.run(main())


def test_reads_writes_and_deletes(enter: Callable[[], AbstractAsyncContextManager[Workspace]]) -> None:
    async def main() -> None:
        async with enter() as tree:
            assert await tree.read("src/a.py") == b"a = 1\n"
            assert await tree.read("build/out.bin") == b"binary\n"
            await tree.write("src/a.py", "ä\r\n".encode())
            assert await tree.read("src/a.py") == "ä\r\n".encode()
            await tree.write("one/two/three", b"3")
            assert await tree.read("one/two/three") == b"3"
            await tree.write("src/a.py", None)
            for action in (
                tree.read("src/a.py"),
                tree.write("src/a.py", None),
                tree.read("src"),
                tree.read("nope"),
            ):
                with pytest.raises(TreeError):
                    await action
            await tree.write("src/a.py", b"back\n")
            assert await tree.read("src/a.py") == b"back\n"

    asyncio.run(main())


def test_no_two_names_differ_only_in_case(
    enter: Callable[[], AbstractAsyncContextManager[Workspace]],
) -> None:
    async def main() -> None:
        async with enter() as tree:
            await tree.write("new/one", b"1")
            for path in ("Readme", "SRC/b.py", "new/One", "New/two"):
                with pytest.raises(TreeError, match="same name"):
                    await tree.write(path, b"")
            await tree.write("readme", None)
            await tree.write("Readme", b"renamed\n")
            await tree.write("new/two", b"2")

    asyncio.run(main())


def test_links_are_read_and_written_through(
    enter: Callable[[], AbstractAsyncContextManager[Workspace]],
) -> None:
    async def main() -> None:
        async with enter() as tree:
            assert await tree.read("link") == b"hello\n"
            await tree.write("link", b"through\n")
            assert await tree.read("readme") == b"through\n"
            await tree.write("link", None)
            assert await tree.read("readme") == b"through\n"

    asyncio.run(main())


LEAVING = (
    *("", ".", "/etc/passwd", "../x", "src/../../x", ".git/config"),
    *("src/.GIT/x", "a\0b", "out/secret", "src/"),
)


def test_paths_that_leave_the_tree_are_refused(
    enter: Callable[[], AbstractAsyncContextManager[Workspace]], project: Path, tmp_path: Path
) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/secret").write_text("secret")
    (project / "out").symlink_to(tmp_path / "outside")

    async def main() -> list[str]:
        taken = list[str]()
        async with enter() as tree:
            for path in LEAVING:
                for action in (tree.read(path), tree.write(path, b"x"), tree.write(path, None)):
                    with suppress(TreeError):
                        await action
                        taken.append(path)
        return taken

    assert asyncio.run(main()) == []
    assert (tmp_path / "outside/secret").read_text() == "secret"


def test_a_command_reports_its_code_and_output(
    enter: Callable[[], AbstractAsyncContextManager[Workspace]],
) -> None:
    async def main() -> None:
        async with enter() as tree:
            ran = await tree.exec(
                ShellCommand('echo out; echo err >&2; echo "$GIVEN"; pwd; exit 7', "src", {"GIVEN": "x y"})
            )
            assert ran.code == 7 and ran.sandboxed == tree.confined
            assert ran.output.splitlines()[:3] == ["out", "err", "x y"]
            assert ran.output.strip().endswith("/src")

    asyncio.run(main())


def test_applied_changes_are_all_there_or_none(
    enter: Callable[[], AbstractAsyncContextManager[Workspace]],
) -> None:
    changes: Changes = (
        Change("readme", b"hello\n", b"changed\n"),
        Change("run.sh", b"#!/bin/sh\necho run\n", None, EXECUTABLE, EXECUTABLE),
        Change("src/a.py", b"a = 1\n", None),
        Change("src/deep/b.py", b"b = 2\n", None),
        Change("new/tool", None, b"#!/bin/sh\n", EXECUTABLE),
        Change("new/link", None, b"tool", SYMLINK),
    )

    async def main() -> None:
        async with enter() as tree:
            with pytest.raises(TreeError):
                await tree.apply((*changes, Change("untracked", b"not this\n", b"x")))
            assert await tree.read("readme") == b"hello\n"
            await tree.apply(changes)
            assert await tree.read("readme") == b"changed\n"
            assert await tree.read("new/link") == b"#!/bin/sh\n"
            assert not {"run.sh", "src/a.py"} & set(await tree.files())
            ran = await tree.exec(ShellCommand("test -x new/tool && test ! -e run.sh && readlink new/link"))
            assert (ran.code, ran.output) == (0, "tool\n")

    asyncio.run(main())


# --- every trial -------------------------------------------------------------------------------


def test_the_users_tree_is_not_touched(
    begin: Callable[[], AbstractAsyncContextManager[Trial]], project: Path, tmp_path: Path
) -> None:
    before = snapshot(project)

    async def main() -> None:
        async with begin() as trial:
            ran = await trial.exec(
                ShellCommand(
                    "set -e; echo x > readme; rm -r docs; mv src moved; chmod 600 run.sh; ln -sf run.sh link;"
                    " rm -rf build .git; mkdir .git; echo bad > .git/config || true"
                )
            )
            assert "moved/a.py" in {change.path for change in await trial.changes()}, ran
            await trial.write("untracked", None)
            await trial.write("moved/a.py", b"z")
            assert snapshot(project) == before

    asyncio.run(main())
    assert snapshot(project) == before
    assert list((tmp_path / "state/trials").iterdir()) == []


def test_a_trial_on_top_of_another_has_the_tree_and_a_change_of_its_own(
    begin: Callable[[], AbstractAsyncContextManager[Trial]], project: Path, tmp_path: Path
) -> None:
    before = snapshot(project)

    async def main() -> None:
        async with begin() as below:
            await below.check(ShellCommand("echo built > x.log"))
            async with below.trial() as above:
                await above.apply((Change("src/a.py", b"a = 1\n", b"a = 2\n"),))
                await above.check(ShellCommand("echo more >> x.log; echo other > y.log"))
                assert (await above.exec(ShellCommand("cat src/a.py"))).output == "a = 2\n"
                assert [change.path for change in await above.changes()] == ["src/a.py"]
            assert (await below.exec(ShellCommand("cat x.log src/a.py; ls y.log"))).output.startswith(
                "built\na = 1\n"
            )
            assert await below.changes() == ()
            async with below.trial() as again:  # clean, whatever the one before it did
                assert (await again.exec(ShellCommand("cat src/a.py"))).output == "a = 1\n"

    asyncio.run(main())
    assert snapshot(project) == before
    assert list((tmp_path / "state/trials").iterdir()) == []


def test_layers_show_what_was_built_below_and_copies_do_not(
    begin: Callable[[], AbstractAsyncContextManager[Trial]], request: pytest.FixtureRequest
) -> None:
    async def main() -> None:
        async with begin() as below:
            await below.check(ShellCommand("echo built > x.log"))
            async with below.trial() as above:
                found = await above.exec(ShellCommand("cat x.log"))
                shown = request.node.callspec.params["begin"] == "overlay"
                assert (found.code == 0) is shown and ("built" in found.output) is shown

    asyncio.run(main())


def test_a_trial_on_top_has_no_name(begin: Callable[[], AbstractAsyncContextManager[Trial]]) -> None:
    async def main() -> None:
        async with begin() as below:
            with pytest.raises(TreeError):
                below.trial("name")

    asyncio.run(main())


def test_layers_are_two_at_most(project: Path, tmp_path: Path) -> None:
    needs("overlay")

    async def main() -> None:
        async with TRIALS["overlay"](project, tmp_path / "state") as below, below.trial() as above:
            with pytest.raises(TreeError):
                above.trial()

    asyncio.run(main())


def test_caches_are_not_part_of_the_change(begin: Callable[[], AbstractAsyncContextManager[Trial]]) -> None:
    async def main() -> None:
        async with begin() as trial:
            await trial.exec(
                ShellCommand(
                    "mkdir -p src/__pycache__ .pytest_cache;"
                    " touch src/__pycache__/a.pyc .pytest_cache/x .coverage y.pyc"
                )
            )
            assert await trial.changes() == ()

    asyncio.run(main())


def test_nested_repositories_devices_and_secrets_are_left_out(
    begin: Callable[[], AbstractAsyncContextManager[Trial]],
) -> None:
    async def main() -> None:
        async with begin() as trial:
            await trial.exec(
                ShellCommand(
                    "git init -q nested; echo x > nested/file; mkfifo pipe; rm readme; mkfifo readme"
                )
            )
            assert [(change.path, change.after) for change in await trial.changes()] == [("readme", None)]

    asyncio.run(main())


def test_by_products_of_a_check_are_left_out_until_they_change_again(
    begin: Callable[[], AbstractAsyncContextManager[Trial]],
) -> None:
    async def main() -> None:
        async with begin() as trial:
            await trial.write("src/a.py", b"a = 2\n")
            ran = await trial.check(
                ShellCommand("echo r > report.xml; rm docs/*; echo n > readme; echo 'a = 3' > src/a.py")
            )
            assert ran.code == 0
            # What the work had changed before is still shown, as it is now.
            assert [(c.path, c.after) for c in await trial.changes()] == [("src/a.py", b"a = 3\n")]
            await trial.check(ShellCommand("echo r2 > report.xml"))
            assert [change.path for change in await trial.changes()] == ["src/a.py"]
            await trial.write("report.xml", b"mine\n")
            await trial.exec(ShellCommand("echo again > readme"))
            assert [change.path for change in await trial.changes()] == ["readme", "report.xml", "src/a.py"]

    asyncio.run(main())


@pytest.mark.parametrize(
    ("command", "shown"),
    [
        ("true", {"new.txt"}),
        ("echo '*.txt' >> .gitignore", {".gitignore"}),
        ("echo '*.txt' >> .git/info/exclude", set()),
        ("git add -f build/new.bin", {"new.txt", "build/new.bin"}),
    ],
)
def test_ignore_rules_of_the_trial_count(
    begin: Callable[[], AbstractAsyncContextManager[Trial]], command: str, shown: set[str]
) -> None:
    async def main() -> None:
        async with begin() as trial:
            await trial.write("new.txt", b"new\n")
            await trial.write("build/new.bin", b"new\n")
            await trial.exec(ShellCommand(command))
            assert {change.path for change in await trial.changes()} == shown

    asyncio.run(main())


def test_commits_made_in_the_trial_are_told(
    begin: Callable[[], AbstractAsyncContextManager[Trial]], project: Path
) -> None:
    async def main() -> None:
        async with begin() as trial:
            assert await trial.commits() == []
            for word in ("one", "two"):
                await trial.exec(
                    ShellCommand(
                        f"echo {word} > readme && git add readme && git -c user.name=A -c user.email=a@b.org"
                        f" commit -q -m 'Say {word}' -m 'Because.'"
                    )
                )
            assert await trial.commits() == ["Say one\n\nBecause.", "Say two\n\nBecause."]
            assert [(c.path, c.after) for c in await trial.changes()] == [("readme", b"two\n")]

    asyncio.run(main())
    assert git(project, "log", "--format=%s") == "first\n"


def test_a_folder_without_git_has_changes_too(tmp_path: Path) -> None:
    project = tmp_path / "plain folder"
    project.mkdir()
    (project / "a").write_text("a")
    (project / ".gitignore").write_text("*.log\n")

    async def main(kind: str) -> None:
        async with TRIALS[kind](project, tmp_path / "state") as trial:
            await trial.exec(
                ShellCommand("echo b > b; rm a; echo c > c.log; mkdir node_modules; touch node_modules/x")
            )
            assert [change.path for change in await trial.changes()] == ["a", "b"]

    for kind in TRIALS:
        needs(kind)
        asyncio.run(main(kind))


# --- the user goes on working ------------------------------------------------------------------


def test_what_the_user_changed_meanwhile_is_never_undone(
    begin: Callable[[], AbstractAsyncContextManager[Trial]], project: Path
) -> None:
    async def main() -> None:
        async with begin() as trial:
            await asyncio.sleep(0.02)  # the clock of file times is coarse
            (project / "readme").write_text("the user's\n")
            assert await trial.changes() == ()
            await trial.exec(ShellCommand("echo 'a = 2' > src/a.py"))
            assert [change.path for change in await trial.changes()] == ["src/a.py"]
            (project / "src/a.py").write_text("a = 3\n")
            with pytest.raises(TreeError, match="was edited"):
                await trial.changes()

    asyncio.run(main())


def test_an_edit_that_starts_from_the_users_newest_file_is_fine(project: Path, tmp_path: Path) -> None:
    needs("overlay")

    async def main() -> None:
        async with TRIALS["overlay"](project, tmp_path / "state") as trial:
            await asyncio.sleep(0.02)
            (project / "readme").write_text("the user's\n")
            assert await trial.read("readme") == b"the user's\n"
            await trial.write("readme", b"both\n")
            changes = await trial.changes()
            assert [(change.before, change.after) for change in changes] == [(b"the user's\n", b"both\n")]
            (project / "readme").write_text("the user's second\n")
            with pytest.raises(TreeError):
                await trial.changes()
            (project / "readme").write_text("the user's\n")  # put aside, as by git stash
            assert await trial.changes() == changes

    asyncio.run(main())


def test_a_change_is_remembered_with_what_it_was_made_from(project: Path, tmp_path: Path) -> None:
    needs("overlay")

    async def main() -> None:
        async with TRIALS["overlay"](project, tmp_path / "state") as trial:
            await asyncio.sleep(0.02)
            before = (project / "readme").read_bytes()
            await trial.write("readme", b"the trial's\n")
            await trial.exec(ShellCommand("echo 'a = 2' > src/a.py"))
            (project / "readme").write_text("the user's\n")
            made = {change.path: change for change in await trial.remember()}
            assert (made["readme"].before, made["readme"].after) == (before, b"the trial's\n")
            (project / "readme").unlink()
            assert (await trial.remember())[0].before == before
            with pytest.raises(TreeError, match="was edited"):
                await trial.changes()
            (project / "src/a.py").write_text("a = 3\n")  # a command has changed it, too
            with pytest.raises(TreeError, match="original"):
                await trial.remember()

    asyncio.run(main())


@pytest.mark.slow
def test_what_cannot_be_held_or_said_is_one_sentence(
    begin: Callable[[], AbstractAsyncContextManager[Trial]],
) -> None:
    async def main() -> None:
        for line, told in (("for i in $(seq 1 20); do truncate -s 9M zeros$i; done", "larger than 128 MiB"),):
            async with begin() as tree:
                await tree.exec(ShellCommand(line))
                with pytest.raises(TreeError, match=told):
                    await tree.changes()

    asyncio.run(main())


# --- what the tree would refuse in the end is refused at once ------------------------------------


def test_a_repository_inside_is_not_written(
    begin: Callable[[], AbstractAsyncContextManager[Trial]], project: Path
) -> None:
    """A submodule, say: git leaves it out of the change, so the edit would be lost without a word."""
    (project / "sub").mkdir()
    (project / "sub/.git").write_text("gitdir: ../.git/modules/sub\n")
    (project / "sub/a.py").write_text("a = 1\n")

    async def main() -> None:
        async with begin() as trial:
            for path in ("sub/a.py", "sub/new/b.py"):
                with pytest.raises(TreeError, match="submodule"):
                    await trial.write(path, b"a = 2\n")
            with pytest.raises(TreeError, match="submodule"):
                await trial.apply((Change("sub/a.py", b"a = 1\n", b"a = 2\n"),))
            await trial.write("subway/a.py", b"a = 2\n")
            assert [change.path for change in await trial.changes()] == ["subway/a.py"]

    asyncio.run(main())


def test_a_file_that_nobody_may_write_is_refused(
    begin: Callable[[], AbstractAsyncContextManager[Trial]], project: Path
) -> None:
    (project / "readme").chmod(0o444)

    async def main() -> None:
        async with begin() as trial:
            for content in (b"new\n", None):
                with pytest.raises(TreeError, match="read-only"):
                    await trial.write("readme", content)
            with pytest.raises(TreeError, match="read-only"):
                await trial.apply((Change("readme", b"hello\n", b"new\n"),))

    asyncio.run(main())
