"""A trial's changes are what git would say about the same edits in an ordinary clone."""

import asyncio
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from kith.core.values import EXECUTABLE, FILE, SYMLINK, Changes
from kith.core.workspace import ShellCommand
from projects import ENV, TRIALS, git, make_project, needs, snapshot
from sparing import first

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
    st.builds(lambda p: f"rm -rf '{p}' && mkdir '{p}' && echo f > '{p}/file'", paths | folders),
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


@pytest.mark.slow
@pytest.mark.parametrize("kind", first(TRIALS))
@settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck))
@example(["rm -rf src && mkdir src && echo f > src/file"])
@example(["rm -rf docs && echo file > docs", "mv src moved", "chmod +x readme"])
@example(["printf 'build/\\nuntracked\\n' > .gitignore", "rm untracked; echo x > notes.log"])
@given(st.lists(operations, min_size=1, max_size=6))
def test_changes_are_what_git_would_say(
    tmp_path_factory: pytest.TempPathFactory, kind: str, lines: list[str]
) -> None:
    folder = tmp_path_factory.mktemp("case")
    project = make_project(folder / "project")
    needs(kind)
    clone = folder / "clone"
    shutil.copytree(project, clone, symlinks=True)
    shutil.copystat(project / "readme", clone / "readme")
    script = "\n".join([*lines, "true"])
    subprocess.run(["bash", "-c", script], cwd=clone, env=ENV, check=True, stderr=subprocess.DEVNULL)
    before = snapshot(project)

    async def main() -> Changes:
        async with TRIALS[kind](project, folder / "state") as trial:
            await trial.exec(ShellCommand(script))
            return await trial.changes()

    changes = asyncio.run(main())
    assert {c.path: (c.before, c.after, c.mode) for c in changes} == told_by_git(project, clone)
    assert snapshot(project) == before
    shutil.rmtree(folder)
