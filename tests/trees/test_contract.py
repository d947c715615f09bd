"""What every tree promises, whatever it stands on: local, overlay, copy in a sandbox, plain copy."""

import asyncio
import os
import shutil
import stat
import subprocess
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kith.core.errors import TreeError
from kith.core.values import EXECUTABLE, FILE, SYMLINK, Change, Changes
from kith.core.workspace import Command, Trial, Workspace
from kith.trees.copy import open_copy
from kith.trees.overlay import open_overlay
from kith.trees.probe import look
from kith.trees.trials import open_tree

Open = Callable[[Path, Path], AbstractAsyncContextManager[Trial]]
TRIALS: dict[str, Open] = {
    "overlay": lambda root, state: open_overlay(root, state, ()),
    "copy": lambda root, state: open_copy(root, state, (), confined=True),
    "plain": lambda root, state: open_copy(root, state, (), confined=False),
}
ENV = {"PATH": os.environ["PATH"], "HOME": "/nonexistent", "GIT_CONFIG_GLOBAL": "/dev/null"}


def git(root: Path, *args: str) -> str:
    names = ("-c", "user.name=A", "-c", "user.email=a@example.org", "-c", "core.quotePath=false")
    return subprocess.run(
        ["git", *names, *args], cwd=root, env=ENV, check=True, capture_output=True, text=True
    ).stdout


def make_project(root: Path) -> Path:
    root.mkdir(parents=True)
    git(root, "init", "-q", "-b", "main")
    for path, text in {
        ".gitignore": "*.log\nbuild/\n",
        "readme": "hello\n",
        "run.sh": "#!/bin/sh\necho run\n",
        "src/a.py": "a = 1\n",
        "src/deep/b.py": "b = 2\n",
        "docs/c d.txt": "c\n",
        "build/out.bin": "binary\n",
        "notes.log": "ignored\n",
        "untracked": "mine\n",
    }.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    (root / "run.sh").chmod(0o755)
    (root / "link").symlink_to("readme")
    git(root, "add", ".", ":!untracked")
    git(root, "commit", "-q", "-m", "first")
    return root


def snapshot(root: Path) -> dict[str, tuple[object, ...]]:
    """Every byte, mode and time of a folder, but not the times of git's objects, which git refreshes."""
    found = dict[str, tuple[object, ...]]()
    for place, folders, files in os.walk(root):
        for name in (*folders, *files):
            path = Path(place, name)
            info = path.lstat()
            content: object = None
            if stat.S_ISLNK(info.st_mode):
                content = path.readlink()
            elif stat.S_ISREG(info.st_mode):
                content = path.read_bytes()
            when = 0 if "objects" in path.parts else info.st_mtime_ns
            found[str(path.relative_to(root))] = (info.st_mode, when, content)
    return found


def needs(kind: str, folder: Path) -> None:
    if kind in ("local", "plain"):
        return
    can = look(folder, folder.parent / "probe-state")
    reason = can.no_overlay if kind == "overlay" else can.no_sandbox
    if reason:
        pytest.skip(reason)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return make_project(tmp_path / "project")


@pytest.fixture(params=TRIALS)
def begin(
    request: pytest.FixtureRequest, project: Path, tmp_path: Path
) -> Callable[[], AbstractAsyncContextManager[Trial]]:
    needs(request.param, project)
    return lambda: TRIALS[request.param](project, tmp_path / "state")


@pytest.fixture(params=["local", *TRIALS])
def enter(
    request: pytest.FixtureRequest, project: Path, tmp_path: Path
) -> Callable[[], AbstractAsyncContextManager[Workspace]]:
    needs(request.param, project)

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


@pytest.mark.parametrize(
    "path",
    [
        "",
        ".",
        "/etc/passwd",
        "../x",
        "src/../../x",
        ".git/config",
        "src/.GIT/x",
        "a\0b",
        "out/secret",
        "src/",
    ],
)
def test_paths_that_leave_the_tree_are_refused(
    enter: Callable[[], AbstractAsyncContextManager[Workspace]], project: Path, tmp_path: Path, path: str
) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/secret").write_text("secret")
    (project / "out").symlink_to(tmp_path / "outside")

    async def main() -> None:
        async with enter() as tree:
            for action in (tree.read(path), tree.write(path, b"x"), tree.write(path, None)):
                with pytest.raises(TreeError):
                    await action

    asyncio.run(main())
    assert (tmp_path / "outside/secret").read_text() == "secret"


def test_a_command_reports_its_code_and_output(
    enter: Callable[[], AbstractAsyncContextManager[Workspace]],
) -> None:
    async def main() -> None:
        async with enter() as tree:
            ran = await tree.exec(
                Command('echo out; echo err >&2; echo "$GIVEN"; pwd; exit 7', "src", {"GIVEN": "x y"})
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
            ran = await tree.exec(Command("test -x new/tool && test ! -e run.sh && readlink new/link"))
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
                Command(
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


def test_a_trial_has_no_trials(begin: Callable[[], AbstractAsyncContextManager[Trial]]) -> None:
    async def main() -> None:
        async with begin() as trial:
            with pytest.raises(TreeError):
                trial.trial()

    asyncio.run(main())


def test_caches_are_not_part_of_the_change(begin: Callable[[], AbstractAsyncContextManager[Trial]]) -> None:
    async def main() -> None:
        async with begin() as trial:
            await trial.exec(
                Command(
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
                Command("git init -q nested; echo x > nested/file; mkfifo pipe; rm readme; mkfifo readme")
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
                Command("echo r > report.xml; rm docs/*; echo n > readme; echo 'a = 3' > src/a.py")
            )
            assert ran.code == 0
            # What the work had changed before is still shown, as it is now.
            assert [(c.path, c.after) for c in await trial.changes()] == [("src/a.py", b"a = 3\n")]
            await trial.check(Command("echo r2 > report.xml"))
            assert [change.path for change in await trial.changes()] == ["src/a.py"]
            await trial.write("report.xml", b"mine\n")
            await trial.exec(Command("echo again > readme"))
            assert [change.path for change in await trial.changes()] == ["readme", "report.xml", "src/a.py"]

    asyncio.run(main())


def test_commits_made_in_the_trial_are_told(
    begin: Callable[[], AbstractAsyncContextManager[Trial]], project: Path
) -> None:
    async def main() -> None:
        async with begin() as trial:
            assert await trial.commits() == []
            for word in ("one", "two"):
                await trial.exec(
                    Command(
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
                Command("echo b > b; rm a; echo c > c.log; mkdir node_modules; touch node_modules/x")
            )
            assert [change.path for change in await trial.changes()] == ["a", "b"]

    for kind in TRIALS:
        needs(kind, project)
        asyncio.run(main(kind))


# --- changes() against git ---------------------------------------------------------------------

PATHS = [
    "readme",
    "run.sh",
    "src/a.py",
    "src/deep/b.py",
    "docs/c d.txt",
    "link",
    "untracked",
    "new",
    "src/new.log",
    "n/m",
]
FOLDERS = ["src", "src/deep", "docs", "build", "moved", "n", "readme"]
paths, folders, texts = (
    st.sampled_from(PATHS),
    st.sampled_from(FOLDERS),
    st.sampled_from(["x\n", "hello\n", "", "é\n"]),
)
operations = st.one_of(
    st.builds(lambda p, t: f"mkdir -p \"$(dirname '{p}')\" && printf %s '{t}' > '{p}'", paths, texts),
    st.builds(lambda p: f"rm -rf '{p}'", paths | folders),
    st.builds(lambda p, q: f"test ! -e '{q}' && mv '{p}' '{q}'", folders, folders),
    st.builds(lambda p, m: f"chmod {m} '{p}'", paths, st.sampled_from(["+x", "-x"])),
    st.builds(lambda p, t: f"ln -sfn '{t}' '{p}'", paths, st.sampled_from(["readme", "nowhere"])),
    st.builds(
        lambda t: f"printf '{t}' > .gitignore",
        st.sampled_from(["*.log\\n", "build/\\nnew\\n", "n/\\n!*.log\\n", "src/\\n"]),
    ),
    st.builds(lambda p: f"rm -rf '{p}' && mkdir '{p}' && echo f > '{p}/file'", paths),
    st.builds(lambda p: f"rm -rf '{p}' && echo file > '{p}'", folders),
    st.just("git add -A >/dev/null 2>&1"),
    st.just("git stash -q >/dev/null 2>&1"),
)


def told_by_git(base: Path, work: Path) -> dict[str, tuple[bytes | None, bytes | None, int]]:
    """The same question answered by git: the files of both trees as its own index sees them."""

    def files(root: Path) -> dict[str, tuple[bytes, int]]:
        tracked = git(root, "ls-files", "-z", "-c").split("\0")
        # A file in the place of a tracked folder is not ignored: git holds it for that folder.
        above = {str(folder) for path in tracked for folder in Path(path).parents}
        listed = {*git(root, "ls-files", "-z", "-c", "-o", "--exclude-standard").split("\0"), *above}
        found = dict[str, tuple[bytes, int]]()
        for path in filter(None, listed):
            full = root / path
            if full.is_symlink():
                if full.parent.resolve() == full.parent:
                    found[path] = bytes(full.readlink()), SYMLINK
            elif full.is_file() and full.parent.resolve() == full.parent:
                found[path] = full.read_bytes(), EXECUTABLE if full.stat().st_mode & 0o100 else FILE
        return found

    old, new, changed = files(base), files(work), dict[str, tuple[bytes | None, bytes | None, int]]()
    for path in old.keys() | new.keys():
        before = old.get(path) or on_disk(base / path)
        after = new.get(path)
        if after is None and (on_disk(work / path) is not None or path not in old):
            continue  # it is there still, only ignored now
        if before != after:
            changed[path] = (before and before[0], after and after[0], (after or before or (b"", FILE))[1])
    return changed


def on_disk(path: Path) -> tuple[bytes, int] | None:
    if path.parent.resolve() != path.parent:
        return None
    if path.is_symlink():
        return bytes(path.readlink()), SYMLINK
    return (
        (path.read_bytes(), EXECUTABLE if path.stat().st_mode & 0o100 else FILE) if path.is_file() else None
    )


@pytest.mark.parametrize("kind", TRIALS)
@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(operations, min_size=1, max_size=6))
def test_changes_are_what_git_would_say(
    tmp_path_factory: pytest.TempPathFactory, kind: str, lines: list[str]
) -> None:
    folder = tmp_path_factory.mktemp("case")
    project = make_project(folder / "project")
    needs(kind, project)
    clone = folder / "clone"
    shutil.copytree(project, clone, symlinks=True)
    shutil.copystat(project / "readme", clone / "readme")
    script = "\n".join([*lines, "true"])
    subprocess.run(["bash", "-c", script], cwd=clone, env=ENV, check=True, stderr=subprocess.DEVNULL)
    before = snapshot(project)

    async def main() -> Changes:
        async with TRIALS[kind](project, folder / "state") as trial:
            await trial.exec(Command(script))
            return await trial.changes()

    changes = asyncio.run(main())
    assert {c.path: (c.before, c.after, c.mode) for c in changes} == told_by_git(project, clone)
    assert snapshot(project) == before
    shutil.rmtree(folder)


# --- the user goes on working ------------------------------------------------------------------


def test_what_the_user_changed_meanwhile_is_never_undone(
    begin: Callable[[], AbstractAsyncContextManager[Trial]], project: Path
) -> None:
    async def main() -> None:
        async with begin() as trial:
            await asyncio.sleep(0.02)  # the clock of file times is coarse
            (project / "readme").write_text("the user's\n")
            assert await trial.changes() == ()
            await trial.exec(Command("echo 'a = 2' > src/a.py"))
            assert [change.path for change in await trial.changes()] == ["src/a.py"]
            (project / "src/a.py").write_text("a = 3\n")
            with pytest.raises(TreeError, match="was changed in your tree"):
                await trial.changes()

    asyncio.run(main())


def test_an_edit_that_starts_from_the_users_newest_file_is_fine(project: Path, tmp_path: Path) -> None:
    needs("overlay", project)

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

    asyncio.run(main())
