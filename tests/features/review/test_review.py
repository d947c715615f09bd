"""`kith review` from outside: a change goes in, findings that hold come out, and an exit code by severity."""

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kith.core.events import Reviewed
from kith.core.values import Finding
from kith.features.review.command import find_fingerprints
from kith.memory.log import Log
from outside import Kith, Serve
from reviewing import BETTER, DIVIDES, Here, change, finding, replay, review


@pytest.fixture
def kith(repository: Path) -> Kith:
    return Here(repository)


AREA = "\n\ndef area(radius):\n    return math.pi * radius**2\n"  # nobody imports math
CHECK = "python3 -m unittest -q"


@pytest.fixture(autouse=True)
def linters_of_this_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VIRTUAL_ENV", sys.prefix)


def git(folder: Path, *args: str) -> str:
    return subprocess.run(["git", *args], cwd=folder, check=True, capture_output=True, text=True).stdout


def places(told: dict[str, Any]) -> list[tuple[str, int, str]]:
    return [(each["path"], each["line"], each["rule"]) for each in told["findings"]]


# --- what is reviewed ------------------------------------------------------------------------


def worktree(folder: Path) -> tuple[str, ...]:
    return ()


def staged(folder: Path) -> tuple[str, ...]:
    git(folder, "add", "utils.py")
    git(folder, "checkout-index", "-f", "utils.py")
    (folder / "utils.py").write_text("import os\n")  # what the tree has by now is not what is staged
    return ("--staged",)


def branch(folder: Path) -> tuple[str, ...]:
    git(folder, "checkout", "-qb", "side")
    git(folder, "commit", "-qam", "side")
    git(folder, "checkout", "-q", "main")
    (folder / "other.py").write_text("import os\n")
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "main went on")
    git(folder, "checkout", "-q", "side")
    return ("--branch", "main")


def commit(folder: Path) -> tuple[str, ...]:
    git(folder, "commit", "-qam", "area")
    (folder / "utils.py").write_text("import os\n")
    git(folder, "commit", "-qam", "later")
    return ("HEAD~1",)


def commits(folder: Path) -> tuple[str, ...]:
    commit(folder)
    return ("HEAD~2..HEAD~1",)


def patch(folder: Path) -> tuple[str, ...]:
    (folder.parent / "change.diff").write_text(git(folder, "diff"))
    git(folder, "checkout", "-q", "utils.py")
    return ("--patch", str(folder.parent / "change.diff"))


def applied_patch(folder: Path) -> tuple[str, ...]:
    (folder.parent / "change.diff").write_text(git(folder, "diff"))
    return ("--patch", str(folder.parent / "change.diff"))


def mail(folder: Path) -> tuple[str, ...]:
    git(folder, "commit", "-qam", "area")
    (folder.parent / "change.diff").write_text(git(folder, "format-patch", "--stdout", "HEAD~1"))
    git(folder, "reset", "-q", "--hard", "HEAD~1")
    return ("--patch", str(folder.parent / "change.diff"))


@pytest.mark.usefixtures("sandbox")
@pytest.mark.parametrize("put", [worktree, staged, branch, commit, commits, patch, applied_patch, mail])
def test_each_kind_of_change_is_reviewed_as_it_is(kith: Kith, put: Callable[[Path], tuple[str, ...]]) -> None:
    change(kith.folder, more=AREA)
    words = put(kith.folder)
    before = git(kith.folder, "status", "--porcelain")
    told = review(kith, "--no-model", *words, code=1)
    assert places(told) == [("utils.py", 15, "F821")] and told["files"] == ["utils.py"]
    assert told["findings"][0]["by"] == "ruff" and told["counts"] == {"error": 1, "warning": 0, "note": 0}
    assert git(kith.folder, "status", "--porcelain") == before


@pytest.mark.usefixtures("sandbox")
def test_a_patch_may_come_from_standard_input(kith: Kith) -> None:
    change(kith.folder, more=AREA)
    outside = Kith(kith.folder)
    told = review(outside, "--no-model", "--patch", "-", input=git(kith.folder, "diff"), code=1)
    assert places(told) == [("utils.py", 15, "F821")]


def test_untracked_files_are_part_of_it_and_binary_ones_are_named(kith: Kith) -> None:
    (kith.folder / "new.py").write_text("def f(a=[]):\n    return a\n")
    (kith.folder / "logo.png").write_bytes(b"\0\1")
    told = review(kith, "--no-model", "--fail-on", "warning", code=1)
    assert places(told) == [("new.py", 1, "mutable-default")]
    assert told["not_reviewed"] == ["logo.png (binary)"]


def test_without_a_change_there_is_nothing_to_review(kith: Kith) -> None:
    done = kith("review", "--no-model")
    assert done.stdout == "There is nothing to review in what is not committed.\n"
    assert review(kith, "--no-model", "--staged", code=0)["findings"] == []


def test_a_repository_without_a_commit_is_reviewed_whole(tmp_path: Path, home: Path) -> None:
    folder = tmp_path / "fresh"
    folder.mkdir()
    git(folder, "init", "-q")
    (folder / "a.py").write_text("def f(a=[]):\n    return a\n")
    assert places(review(Kith(folder), "--no-model")) == [("a.py", 1, "mutable-default")]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("nothing",), "There is no commit 'nothing' here."),
        (("--branch", "nothing"), "There is no commit 'nothing' here."),
        (("main..nothing",), "There is no commit 'nothing' here."),
        (("--patch", "nothing.diff"), "nothing.diff cannot be read: No such file or directory."),
        (("--patch", "README.md"), "README.md is not a diff that can be read"),
        (("--patch", "."), ". cannot be read: Is a directory."),
        (("--patch", "-"), "the diff on standard input is empty."),
        (("--staged", "main"), "Use only one of"),
        (("--yes",), "--yes works only with --apply"),
    ],
)
def test_what_cannot_be_reviewed_is_said_in_a_sentence(kith: Kith, words: tuple[str, ...], said: str) -> None:
    done = kith("review", "--no-model", *words, code=2)
    assert said in done.stderr and done.stderr.count("\n") == 1 and done.stdout == ""


def test_a_patch_for_other_files_is_refused(kith: Kith) -> None:
    change(kith.folder)
    diff = git(kith.folder, "diff").replace("sum(numbers)", "sum(values)")
    done = kith("review", "--no-model", "--patch", "-", input=diff, code=2)
    assert "does not fit the files here" in done.stderr


def test_outside_git_only_a_patch_can_be_reviewed(kith: Kith) -> None:
    change(kith.folder, more="\n\ndef f(a=[]):\n    return a\n")
    diff = git(kith.folder, "diff")
    shutil.rmtree(kith.folder / ".git")
    assert "name a diff with --patch" in kith("review", "--no-model", code=2).stderr
    told = review(kith, "--no-model", "--patch", "-", input=diff)
    assert places(told) == [("utils.py", 14, "mutable-default")]


# --- linters ---------------------------------------------------------------------------------


@pytest.mark.usefixtures("sandbox")
def test_only_what_the_change_brought_is_told(kith: Kith) -> None:
    """`import math` was used and is not any more: a line that nobody touched becomes wrong by the change."""
    file = kith.folder / "utils.py"
    file.write_text("import json\nimport math\n\n\n\n\n\n\n\ndef area(r):\n    return math.pi * r\n")
    git(kith.folder, "commit", "-qam", "area")
    file.write_text(file.read_text().replace("math.pi", "3"))
    assert places(review(kith, "--no-model", code=0)) == [("utils.py", 2, "F401")]


@pytest.mark.skipif(not shutil.which("cppcheck"), reason="cppcheck is not installed")
@pytest.mark.usefixtures("sandbox")
def test_cppcheck_speaks_of_cpp(kith: Kith) -> None:
    (kith.folder / "a.cpp").write_text("int first() {\n  int values[2] = {1, 2};\n  return values[2];\n}\n")
    told = review(kith, "--no-model", code=1)
    assert ("a.cpp", 3, "arrayIndexOutOfBounds") in places(told)


def test_a_secret_is_an_error(kith: Kith) -> None:
    key = "AKIA" + "Q3EGZ7XNLTPW4B5M"
    (kith.folder / "deploy.sh").write_text(f"export AWS_ACCESS_KEY_ID={key}\n")
    told = review(kith, "--no-model", code=1)
    assert ("deploy.sh", 1, "secret") in places(told)
    assert key not in json.dumps(told)


# --- the model -------------------------------------------------------------------------------


def test_claims_without_evidence_are_thrown_out_and_counted(kith: Kith) -> None:
    change(kith.folder)
    claims = [
        finding(line=8, replacement="return sum(numbers) / max(len(numbers), 1)"),
        finding(evidence="    return sum(numbers) / len(items)", why="made up"),
        finding(why="`numbers` is never used"),
        finding(path="other.py"),
        finding(line=12, evidence="    return max(low, min(number, high))", why="far from the change"),
    ]
    told = review(kith, "-m", replay(kith.folder, claims), code=1)
    assert places(told) == [("utils.py", 6, "review")]
    assert told["findings"][0]["diff"] == f"-{DIVIDES}+{BETTER}".rstrip()
    assert [each["reason"] for each in told["thrown_out"]] == [
        "quotes a line that is not there",
        "says that numbers is not used, which it is",
        "about a file that is not in the change",
        "about lines that the change does not reach",
    ]


def test_the_text_is_calm_and_narrow(kith: Kith) -> None:
    change(kith.folder)
    claims = [finding(why="word " * 40, replacement=BETTER), finding(evidence="not there")]
    done = kith("review", "-m", replay(kith.folder, claims), code=1)
    assert done.stdout.startswith("utils.py\n      6  error    word word")
    assert f"-{DIVIDES}" in done.stdout and f"+{BETTER}" in done.stdout
    assert "1 finding in 1 file: 1 error.\n" in done.stdout
    assert "1 claim of the model rejected: 1 quotes a line that is not there.\n" in done.stdout
    assert all(len(line) <= 80 for line in done.stdout.split("\n"))
    assert done.stderr == "1 suggestion to apply: add --apply.\n"  # each finding is told once


def test_what_a_file_or_a_model_says_moves_no_cursor(kith: Kith) -> None:
    (kith.folder / "a\x1b[2J.py").write_text("x = 1\n")
    claim = finding(
        path="a\x1b[2J.py", line=1, evidence="x = 1", why="clear \x1b[2J\u202e it", replacement="x = '\x1b'"
    )
    done = kith("review", "-m", replay(kith.folder, [claim]), code=1)
    assert "clear \\x1b[2J\\u202e it" in done.stdout
    assert "\x1b" not in done.stdout + done.stderr and "\u202e" not in done.stdout


def test_a_failure_on_one_part_loses_no_other(kith: Kith) -> None:
    change(kith.folder)
    (kith.folder / "a.py").write_text("def f(a=[]):\n    return a\n")
    script = replay(kith.folder, {"error": "it fell over"}, [finding()])
    told = review(kith, "-m", script, code=1)
    assert sorted(places(told)) == [("a.py", 1, "mutable-default"), ("utils.py", 6, "review")]
    assert told["parts"] == {"all": 2, "unanswered": 1}
    text = kith("review", "-m", script, code=1)
    assert "The model did not review 1 of 2 parts: it fell over" in text.stdout
    assert "a.py, lines 1 to 2, was not reviewed by the model: it fell over" in text.stderr


def test_a_model_that_never_answers_ends_the_review_and_the_linters_are_heard(kith: Kith) -> None:
    change(kith.folder, more="\n\ndef f(a=[]):\n    return a\n")
    told = review(kith, "-m", replay(kith.folder, "no JSON", "still none"), code=1)
    assert told["status"] == "failed" and "It wrote: " in told["text"]
    assert places(told) == [("utils.py", 14, "mutable-default")]


def test_a_reply_that_cannot_be_read_is_asked_for_again(kith: Kith) -> None:
    change(kith.folder)
    again = {"expect": "holds no JSON object", "text": json.dumps({"findings": [finding()]})}
    told = review(kith, "-m", replay(kith.folder, "Looks wrong to me.", again), code=1)
    assert places(told) == [("utils.py", 6, "review")]


def test_no_model_is_exit_code_5(kith: Kith) -> None:
    change(kith.folder)
    assert "No model" in kith("review", code=5).stderr


@pytest.mark.parametrize(("real", "left"), [("false", 0), ("true", 1), ("perhaps", 1)])
def test_a_second_look_takes_back_what_is_not_confirmed(kith: Kith, real: str, left: int) -> None:
    change(kith.folder)
    look = {"expect": "utils.py, line 6: An empty list", "text": f'{{"input": "[]", "real": {real}}}'}
    told = review(kith, "--second-look", "-m", replay(kith.folder, [finding()], look), code=left)
    assert len(told["findings"]) == left
    assert [each["reason"] for each in told["thrown_out"]] == ["not confirmed on a second look"][left:]


def test_what_the_model_gets_to_see(kith: Kith, serve: Serve) -> None:
    """Each part is a conversation of its own that begins with the same bytes; it has the lines with numbers,
    the definitions that they name, and nothing of files that may hold secrets."""
    change(kith.folder, more="\n\ndef spread(numbers):\n    return clamp(mean(numbers), 0, 1)\n")
    (kith.folder / "a.py").write_text("from utils import clamp\n\nprint(clamp(1, 2, 3))\n")
    (kith.folder / ".env").write_text("PASSWORD=hunter2\n")
    server = serve(['{"findings": []}', '{"findings": []}'])
    review(kith, code=0)
    first, second = (request["messages"] for request in server.requests)
    assert first[0] == second[0] and first[0]["role"] == "system" and len(first) == len(second) == 2
    assert "tools" not in server.requests[0] and server.requests[0]["format"]["required"] == ["findings"]
    assert "1\t+from utils import clamp" in first[1]["content"]
    assert "9\t def clamp(number, low, high):" in first[1]["content"]
    assert "\t-    return sum(numbers) / (len(numbers) + 1)" in second[1]["content"]
    assert "15\t+    return clamp(mean(numbers), 0, 1)" in second[1]["content"]
    assert "hunter2" not in json.dumps(server.requests)


def test_names_from_elsewhere_are_looked_up_and_a_broken_index_is_no_reason_to_end(
    kith: Kith, serve: Serve, home: Path
) -> None:
    (kith.folder / "a.py").write_text("from utils import clamp\n\nprint(clamp(1, 2, 3))\n")
    server = serve(['{"findings": []}'])
    review(kith, code=0)
    assert "9\t def clamp(number, low, high):" in server.requests[0]["messages"][1]["content"]
    (index,) = (home / ".cache/kith/index").glob("*.sqlite3")
    for file in index.parent.iterdir():
        file.unlink()
    index.mkdir()  # where a file should be
    done = kith("review", "-m", replay(kith.folder, []))
    assert "shown no definitions from outside the change" in done.stderr


# --- what becomes of it ----------------------------------------------------------------------


@pytest.mark.parametrize(("fail_on", "code"), [("error", 0), ("warning", 1), ("note", 1), ("never", 0)])
def test_the_exit_code_follows_the_severity(kith: Kith, fail_on: str, code: int) -> None:
    change(kith.folder)
    claims = [finding(severity="warning"), finding(severity="note", why="It might be slow for many.")]
    told = review(kith, "-m", replay(kith.folder, claims), "--fail-on", fail_on, "--max", "1", code=code)
    assert [each["severity"] for each in told["findings"]] == ["warning"]
    assert told["counts"] == {"error": 0, "warning": 1, "note": 1}


def test_json_and_sarif_are_saved_beside_the_text(kith: Kith, tmp_path: Path) -> None:
    change(kith.folder)
    saved, sarif = tmp_path / "review.json", tmp_path / "review.sarif"
    model = replay(kith.folder, [finding(replacement=BETTER)])
    done = kith("review", "-m", model, "--save-json", str(saved), "--save-sarif", str(sarif), code=1)
    assert "1 finding in 1 file" in done.stdout
    (told,) = json.loads(saved.read_text())["findings"]
    ((result,),) = [run["results"] for run in json.loads(sarif.read_text())["runs"]]
    assert result["partialFingerprints"] == {"kithFinding/v1": told["fingerprint"]}
    assert told["place"] == {"first": 3, "last": 9, "old": None}


def test_a_file_that_cannot_be_saved_is_said(kith: Kith, tmp_path: Path) -> None:
    change(kith.folder)
    done = kith("review", "--no-model", "--save-json", str(tmp_path), code=2)
    assert "cannot be written" in done.stderr


def test_a_fingerprint_outlives_other_words_and_moved_lines() -> None:
    one = Finding("a.py", 2, "error", "review", "It breaks.", "m")
    rows = {"a.py": ["x = 1", "y = 2", "z = 2"]}
    (before,) = find_fingerprints([one], rows)
    said = Finding("a.py", 3, "note", "review", "Other words.", "another")
    assert find_fingerprints([said], rows) != [before]  # the text of its line is another
    assert find_fingerprints([said], {"a.py": ["", "", " y = 2 "]}) == [before]
    assert len({*find_fingerprints([one, one], rows), before}) == 2


def test_sarif_has_what_its_schema_requires(kith: Kith) -> None:
    change(kith.folder)
    (kith.folder / "a b.py").write_text("def f(a=[]):\n    return a\n")
    script = replay(kith.folder, [], [finding(replacement=BETTER)])
    told = json.loads(kith("review", "--sarif", "-m", script, code=1).stdout)
    assert told["version"] == "2.1.0" and told["$schema"].endswith("sarif-2.1.0.json")
    (run,) = told["runs"]
    assert run["tool"]["driver"]["name"] == "kith"
    assert {each["id"] for each in run["tool"]["driver"]["rules"]} == {
        each["ruleId"] for each in run["results"]
    }
    error, warning = run["results"]
    assert (error["level"], warning["level"]) == ("error", "warning") and error["message"]["text"]
    (place,) = warning["locations"]
    assert place["physicalLocation"] == {
        "artifactLocation": {"uri": "a%20b.py"},
        "region": {"startLine": 1, "endLine": 1},
    }
    ((changed,),) = [fix["artifactChanges"] for fix in error["fixes"]]
    (swapped,) = changed["replacements"]
    assert swapped["insertedContent"]["text"] == BETTER
    assert (swapped["deletedRegion"]["startLine"], swapped["deletedRegion"]["endLine"]) == (6, 7)


@pytest.mark.slow
@pytest.mark.usefixtures("sandbox")
def test_suggestions_are_applied_as_one_change_and_taken_back(kith: Kith) -> None:
    change(kith.folder)
    before = (kith.folder / "utils.py").read_text()
    script = replay(kith.folder, [finding(replacement=BETTER)])
    told = review(kith, "--apply", "--yes", "--check", CHECK, "-m", script, code=0)
    assert told["status"] == "done" and told["applied"]
    assert (kith.folder / "utils.py").read_text() == before.replace(DIVIDES, BETTER)
    kith("undo")
    assert (kith.folder / "utils.py").read_text() == before


@pytest.mark.slow
@pytest.mark.usefixtures("sandbox")
def test_a_suggestion_that_breaks_a_test_is_not_applied(kith: Kith) -> None:
    change(kith.folder, new=BETTER)
    before = (kith.folder / "utils.py").read_text()
    claim = finding(evidence=BETTER, replacement="    return 0")
    told = review(kith, "--apply", "--yes", "--check", CHECK, "-m", replay(kith.folder, [claim]), code=1)
    assert told["status"] == "failed" and CHECK in told["text"] and told["applied"] is None
    assert (kith.folder / "utils.py").read_text() == before


def test_nobody_to_ask_means_no(kith: Kith) -> None:
    change(kith.folder)
    script = replay(kith.folder, [finding(replacement=BETTER)])
    kith("review", "--apply", "--check", "none", "-m", script, code=3)
    assert DIVIDES in (kith.folder / "utils.py").read_text()


def test_a_review_is_in_the_log(kith: Kith, home: Path) -> None:
    change(kith.folder)
    told = review(kith, "-m", replay(kith.folder, [finding(), finding(evidence="not there")]))
    log = Log(home / ".local/state/kith/log.sqlite3")
    events = [record.event for record in log.events(told["session"])]
    (reviewed,) = [event for event in events if isinstance(event, Reviewed)]
    assert [each.line for each in reviewed.findings] == [6]
    assert reviewed.thrown_out == {"quotes a line that is not there": 1}
    assert "review what is not committed" in kith("sessions").stdout
