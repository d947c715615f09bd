"""`kith edits apply`: a reply on standard input becomes a diff or a letter; --write changes the files."""

import stat
import subprocess
from pathlib import Path

import pytest

from outside import Kith

BLOCK = "notes.txt\n<<<<<<< SEARCH\ntwo\n=======\nTWO\n>>>>>>> REPLACE\n"


@pytest.fixture
def folder(tmp_path: Path, home: Path) -> Path:
    """No repository, with one file of carriage returns and no newline at its end."""
    folder = tmp_path / "folder"
    (folder / "sub").mkdir(parents=True)
    (folder / "notes.txt").write_bytes(b"one\r\ntwo\r\nthree")
    (folder / "sub" / "run.sh").write_bytes(b"echo\n1\n2\n3\n4\n\xe9\n")
    (folder / "sub" / "run.sh").chmod(0o755)
    return folder


def test_the_diff_is_printed_and_applies_with_git(folder: Path) -> None:
    (folder / "notes.txt").write_bytes(b"one\ntwo\nthree")
    (folder / "x.diff").write_text(Kith(folder)("edits", "apply", "--root", ".", input=BLOCK).stdout)
    assert (folder / "notes.txt").read_bytes() == b"one\ntwo\nthree"
    subprocess.run(["git", "apply", "x.diff"], cwd=folder, check=True)
    assert (folder / "notes.txt").read_bytes() == b"one\nTWO\nthree"


def test_write_changes_the_file_and_undo_takes_it_back(folder: Path) -> None:
    kith = Kith(folder)
    done = kith("edits", "apply", "--write", input=BLOCK)
    assert (folder / "notes.txt").read_bytes() == b"one\r\nTWO\r\nthree"
    assert "Applied 1 file." in done.stderr
    again = kith("edits", "apply", "--write", input=BLOCK, code=1)
    assert "the file already says this" in again.stdout
    assert "Send it again" not in again.stdout
    kith("undo")
    assert (folder / "notes.txt").read_bytes() == b"one\r\ntwo\r\nthree"


def test_what_does_not_fit_is_a_letter_and_nothing_is_written(folder: Path) -> None:
    kith = Kith(folder)
    two = BLOCK + BLOCK.replace("two", "tow").replace("TWO", "2")
    told = kith("edits", "apply", "--write", input=two, code=1).stdout
    assert "1 of your 2 edits does not fit" in told and "Edit 1 would have fitted" in told
    told = kith("edits", "apply", input=BLOCK.replace("notes.txt", "lib/notes.txt"), code=1).stdout
    assert "there is no such file. Did you mean notes.txt?" in told
    assert (
        "cut before its end"
        in kith("edits", "apply", "--finish-reason", "length", input=BLOCK, code=1).stdout
    )
    assert "holds no edits" in kith("edits", "apply", input="Hello.", code=1).stdout
    assert "contains '..'" in kith("edits", "apply", input=BLOCK.replace("notes", "../notes"), code=1).stdout
    assert (
        "belongs to git" in kith("edits", "apply", input=BLOCK.replace("notes", ".git/notes"), code=1).stdout
    )
    assert (folder / "notes.txt").read_bytes() == b"one\r\ntwo\r\nthree"


def test_a_file_that_the_reply_does_not_name_is_said_beside_it(folder: Path) -> None:
    hunk = "@@ -1,2 +1,2 @@\n one\n-two\n+2\n"
    assert "names no file" in Kith(folder)("edits", "apply", input=hunk, code=1).stdout
    assert "+2" in Kith(folder)("edits", "apply", "--path", "notes.txt", input=hunk).stdout
    elsewhere = f"--- a/other.txt\n+++ b/other.txt\n{hunk}"
    assert "+2" in Kith(folder)("edits", "apply", "--path", "notes.txt", input=elsewhere).stdout
    whole = "Here is the new file:\n\n```\none\n```\n"
    assert (
        "holds no edits" in Kith(folder)("edits", "apply", "--path", "notes.txt", input=whole, code=1).stdout
    )
    said = Kith(folder)("edits", "apply", "--path", "notes.txt", "--format", "whole", input=whole).stdout
    assert "-two" in said


def test_modes_and_bytes_that_are_no_utf8_stay(folder: Path) -> None:
    Kith(folder)("edits", "apply", "--write", input='{"path": "sub/run.sh", "old": "echo", "new": "printf"}')
    assert (folder / "sub/run.sh").read_bytes() == b"printf\n1\n2\n3\n4\n\xe9\n"
    assert (folder / "sub/run.sh").stat().st_mode & stat.S_IXUSR


def test_an_executable_file_that_moves_stays_one(folder: Path) -> None:
    (folder / "sub/run.sh").write_bytes(b"echo\n")
    names = "rename from sub/run.sh\nrename to go.sh\n"
    diff = f"diff --git a/sub/run.sh b/go.sh\n{names}"
    Kith(folder)("edits", "apply", "--write", "--allow-file", "go.sh", input=diff)
    assert (folder / "go.sh").stat().st_mode & stat.S_IXUSR and not (folder / "sub/run.sh").exists()


def test_names_are_relative_to_the_root_that_was_given(repository: Path) -> None:
    reply = "--- a/test_utils.py\n+++ b/test_utils.py\n@@ -1,1 +1,2 @@\n+# new\n "
    first = (repository / "tests/test_utils.py").read_text().split("\n")[0]
    done = Kith(repository)("edits", "apply", "--root", "tests", "--write", input=f"{reply}{first}\n")
    assert "+++ b/test_utils.py" in done.stdout
    assert (repository / "tests/test_utils.py").read_text().startswith("# new\n")
    Kith(repository)("undo")
    assert not (repository / "tests/test_utils.py").read_text().startswith("# new\n")


def test_an_edit_that_changes_nothing_is_no_fault(folder: Path) -> None:
    done = Kith(folder)("edits", "apply", "--write", input=BLOCK.replace("TWO", "two"))
    assert done.stdout == "" and "already say" in done.stderr


def test_wrong_use_is_told_in_a_sentence(folder: Path) -> None:
    assert "takes one of" in Kith(folder)("edits", "apply", "--format", "ed", code=2).stderr
    assert "There is no folder" in Kith(folder)("edits", "apply", "--root", "none", code=2).stderr
    assert "followed by one of apply" in " ".join(Kith(folder)("edits", code=2).stderr.split())
