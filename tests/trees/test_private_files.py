"""Private files are found by name and by what git ignores, and a command can be kept from reading them."""

import asyncio
import subprocess
from pathlib import Path

import pytest

from kith.core.workspace import ShellCommand
from kith.trees.environment import Surroundings
from kith.trees.local import open_tree
from kith.trees.private_files import Private, find_former, find_private


@pytest.fixture
def root(tmp_path: Path, home: Path) -> Path:
    root = tmp_path / "tree"
    for folder in ("src", ".venv/lib", "build", "private"):
        (root / folder).mkdir(parents=True)
    for name in (
        ".env",
        "src/.env.local",
        "private/id_rsa",
        ".venv/lib/cacert.pem",
        "tracked.pem",
        "local.py",
    ):
        (root / name).write_text(f"SECRET of {name}\n")
    (root / "build" / "big.o").write_bytes(b"\0" * 100)
    (root / ".gitignore").write_text(".env*\n.venv/\nbuild/\nprivate/\nlocal.py\n")
    subprocess.run(["git", "init", "-q"], cwd=root, check=True)
    subprocess.run(["git", "add", "."], cwd=root, check=True)
    return root


def found(root: Path) -> Private:
    def tells(path: str, ignored: bool) -> bool:
        return path.endswith((".pem", "id_rsa")) or "/.env" in f"/{path}"

    return asyncio.run(find_private(root, tells))


def test_what_git_ignores_and_what_it_knows(root: Path) -> None:
    private = found(root)
    assert private.ignored == (".env", "private/id_rsa", "src/.env.local")  # dependencies are nobody's secret
    assert private.known == ("tracked.pem",)
    assert sorted(private.contents) == [*sorted((*private.ignored, "local.py")), "tracked.pem"]


def test_without_git_the_rules_still_count(root: Path) -> None:
    subprocess.run(["rm", "-rf", ".git"], cwd=root, check=True)
    assert found(root).ignored == (".env", "private/id_rsa", "src/.env.local")


@pytest.mark.parametrize("boxed", ["overlay", "copy", "tree"])
@pytest.mark.slow
def test_a_hidden_file_cannot_be_read_by_a_command(
    root: Path, tmp_path: Path, sandbox: None, boxed: str
) -> None:
    from kith.trees.copy import open_copy

    tree = open_tree(root, tmp_path / "state", tmp_path / "cache")
    line = "cat .env; cat src/.env.local; cp .env x; mv .env y; ln .env z; head -c 9 local.py; ls build"

    async def run() -> str:
        command = ShellCommand(line, hidden=(".env", "src/.env.local", "gone"))
        if boxed == "tree":
            return (await tree.exec(command)).output
        trial = tree.trial() if boxed == "overlay" else None
        async with trial or open_copy(
            root, tmp_path / "state", Surroundings(), boxed=True, confined=True
        ) as side:
            ran = await side.exec(command)
            assert "SECRET" in (await side.exec(ShellCommand("cat .env"))).output  # without it, as ever
            return ran.output

    output = asyncio.run(run())
    assert "SECRET of .env" not in output and "SECRET of src" not in output
    assert "SECRET of" in output and "big.o" in output  # what is not hidden is there
    assert (root / ".env").read_text() == "SECRET of .env\n"


@pytest.mark.parametrize("boxed", ["overlay", "copy"])
def test_a_folder_that_is_renamed_takes_no_hidden_file_along(
    root: Path, tmp_path: Path, sandbox: None, boxed: str
) -> None:
    from kith.trees.copy import open_copy

    (root / "src" / "deep").mkdir()
    (root / "src" / "deep" / ".env").write_text("SECRET of deep\n")
    hidden = (".env", "src/.env.local", "src/deep/.env")
    lines = (
        "mv src other; mv src/deep deeper; cp -al src linked; touch src/deep/b",
        "cat other/.env.local deeper/.env other/deep/.env linked/.env.local src/deep/.env; ls src/deep",
    )

    async def run() -> str:
        trial = (
            open_tree(root, tmp_path / "state", tmp_path / "cache").trial() if boxed == "overlay" else None
        )
        async with trial or open_copy(
            root, tmp_path / "state", Surroundings(), boxed=True, confined=True
        ) as side:
            return "".join([(await side.exec(ShellCommand(line, hidden=hidden))).output for line in lines])

    output = asyncio.run(run())
    assert "SECRET" not in output
    assert boxed == "overlay" or output.endswith("b\n")  # the folder is there, and can be written


def test_what_was_committed_once_is_found_wherever_git_keeps_it(root: Path) -> None:
    """Deleted since, only stashed, amended away, on another branch: `git show` has it all."""
    git = ["git", "-c", "user.name=t", "-c", "user.email=t@example.org"]

    def do(*words: str) -> None:
        subprocess.run([*git, *words], cwd=root, check=True, capture_output=True)

    texts = ["PIN: one\n", "PIN: two\n", "PIN: three\n", "PIN: four\n"]
    file = root / "deploy" / "Prod.PEM"
    file.parent.mkdir()
    for text, words in zip(texts, (["commit"], ["commit", "--amend"], ["commit"]), strict=False):
        file.write_text(text)
        do("add", ".")
        do(*words, "-q", "-m", "x")
    file.write_text(texts[3])
    do("stash")
    do("rm", "-q", "deploy/Prod.PEM")
    do("commit", "-q", "-m", "gone")
    former = asyncio.run(find_former(root, ("*.pem",), lambda path: "deploy" in path))
    assert sorted(former) == sorted(text.encode() for text in texts)


def test_without_a_history_there_is_nothing(tmp_path: Path, home: Path) -> None:
    assert asyncio.run(find_former(tmp_path, ("*",), bool)) == ()
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    assert asyncio.run(find_former(tmp_path, ("*",), bool)) == ()
