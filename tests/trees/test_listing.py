"""The same files in a repository and outside one, whatever they are called."""

import asyncio
import os
import subprocess
from pathlib import Path

import pytest

from kith.trees.listing import ignored, list_files


@pytest.fixture(params=["repository", "folder"])
def tree(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    root = tmp_path / "tree"
    files = {
        ".gitignore": "*.log\n/build/\n!keep.log\nnode_modules\n",
        "a.py": "",
        "b.log": "",
        "keep.log": "",
        "build/out": "",
        "src/build/in": "",
        "src/.gitignore": "\ufeff*.tmp\r\n!b.log\r\n",
        "src/x.tmp": "",
        "src/b.log": "",
        "src/deep/y.tmp": "",
        "src/deep/.gitignore": "!y.tmp\n",
        "node_modules/m/index.js": "",
        ".kith/config.toml": "",
        ".hidden": "",
        "new\nline": "",
        ":colon": "",
        "*": "",
    }
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    Path(os.fsdecode(os.fsencode(root) + b"/caf\xe9")).write_text("")
    (root / "link").symlink_to("a.py")
    (root / "dangling").symlink_to("/nowhere")
    os.mkfifo(root / "fifo")
    if request.param == "repository":
        subprocess.run(["git", "init", "--quiet", str(root)], check=True)
    return root


SEEN = sorted(
    [
        *(
            "*",
            ".gitignore",
            ".hidden",
            ":colon",
            "a.py",
            "caf\udce9",
            "dangling",
            "keep.log",
            "link",
            "new\nline",
        ),
        *("src/.gitignore", "src/b.log", "src/build/in", "src/deep/.gitignore", "src/deep/y.tmp"),
    ]
)


def test_lists_what_is_not_ignored(tree: Path) -> None:
    assert list(asyncio.run(list_files(tree))) == SEEN


def test_tells_which_paths_are_ignored(tree: Path) -> None:
    asked = [
        "a.py",
        "b.log",
        "src/b.log",
        "build/out",
        "src/x.tmp",
        "src/deep/y.tmp",
        "node_modules/m/index.js",
    ]
    asked += ["not/there.log", ":colon", ":x.log"]
    assert asyncio.run(ignored(tree, asked)) == {
        *("b.log", "build/out", "src/x.tmp", "node_modules/m/index.js", "not/there.log", ":x.log")
    }
    assert asyncio.run(ignored(tree, [])) == set()


def test_one_path_behind_a_link_does_not_hide_the_others(tree: Path) -> None:
    (tree / "away").symlink_to("src")
    assert asyncio.run(ignored(tree, ["away/x", "b.log"])) == {"b.log"}


def test_leaves_out_deleted_files_submodules_and_nested_repositories(tmp_path: Path) -> None:
    def git(*args: str, cwd: Path) -> None:
        identity = ["-c", "user.name=x", "-c", "user.email=x"]
        subprocess.run(["git", *identity, *args], cwd=cwd, check=True, capture_output=True)

    for name in (".", "nested", "sub"):
        (tmp_path / name).mkdir(exist_ok=True)
        git("init", "--quiet", cwd=tmp_path / name)
        (tmp_path / name / "file").write_text(name)
        if name != ".":
            git("add", "file", cwd=tmp_path / name)
            git("commit", "--message=x", cwd=tmp_path / name)
    (tmp_path / "gone").write_text("x")
    git("add", "gone", "file", "sub", cwd=tmp_path)
    (tmp_path / "gone").unlink()
    assert list(asyncio.run(list_files(tmp_path))) == ["file"]


def test_tracked_files_are_never_ignored(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "--quiet"], cwd=tmp_path, check=True)
    (tmp_path / "a.log").write_text("")
    subprocess.run(["git", "add", "a.log"], cwd=tmp_path, check=True)
    (tmp_path / ".gitignore").write_text("*.log\n")
    assert asyncio.run(ignored(tmp_path, ["a.log", "b.log"])) == {"b.log"}
    assert "a.log" in asyncio.run(list_files(tmp_path))


def test_rules_are_not_read_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "rules").write_text("*\n")
    (tmp_path / ".gitignore").symlink_to("rules")
    (tmp_path / "a").write_text("")
    assert "a" in asyncio.run(list_files(tmp_path))


@pytest.mark.parametrize("repository", [True, False])
def test_generated_folders_are_left_out_without_any_rule(tmp_path: Path, repository: bool) -> None:
    kept = ["Cargo.toml", "a.py", "lib/target/x.rs", "pyproject.toml", "web/build/x.js"]
    generated = ["node_modules/m/index.js", "lib/__pycache__/a.pyc", "target/debug/x.d", "dist/a.whl"]
    generated += ["venv/pyvenv.cfg", "venv/lib/a.py", ".venv/lib/a.py"]
    for name in (*kept, *generated):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
    if repository:
        subprocess.run(["git", "init", "--quiet"], cwd=tmp_path, check=True)
    assert list(asyncio.run(list_files(tmp_path))) == kept


def test_a_tracked_file_in_a_generated_folder_is_listed(tmp_path: Path) -> None:
    for name in ("node_modules/mine.js", "node_modules/other.js"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("")
    subprocess.run(["git", "init", "--quiet"], cwd=tmp_path, check=True)
    subprocess.run(["git", "add", "-f", "node_modules/mine.js"], cwd=tmp_path, check=True)
    assert list(asyncio.run(list_files(tmp_path))) == ["node_modules/mine.js"]
