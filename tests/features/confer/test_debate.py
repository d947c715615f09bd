"""`kith confer` from outside: models play their parts, tools check them, nothing is changed on the side."""

import json
import os
import pty
import re
import select
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from conferring import AT_CLAMP, MEND, NONE, OTHER, RIGHT, TEST, play
from kith.core.decisions import Claimed, Concluded
from kith.core.events import Said
from kith.memory.log import Log
from outside import Kith, in_thread
from sparing import first

pytestmark = pytest.mark.usefixtures("sandbox")
PRINT_MEAN = 'python3 -c "from utils import mean; print(mean([4]))"'
MADE_UP = "claim: it is wrong\nat: utils.py:6\nquote: return nothing_like_this(numbers)"
SPOIL = {"calls": [{"name": "write", "args": {"path": "notes.txt", "content": "clamp\n"}}]}

TELLING = """\
file: tests/test_empty.py
run: python3 -m unittest -q tests.test_empty
```python
import unittest
from utils import mean
class Empty(unittest.TestCase):
    def test_empty(self):
        self.assertEqual(repr(mean([])), "WANTED")
```"""
GOAL = ("--check", "python3 -m unittest -q")


def confer(kith: Kith, *words: str, code: int | None = 0, **scripts: Any) -> dict[str, Any]:
    models = play(kith.folder, **scripts)
    told: dict[str, Any] = json.loads(kith("confer", "--json", "--models", models, *words, code=code).stdout)
    return told


def who(told: dict[str, Any], label: str) -> str:
    return str(told["members"][label]).removeprefix("replay/")


def tree(folder: Path) -> dict[str, bytes]:
    return {
        str(path): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and ".git" not in path.parts
    }


# --- the protocol --------------------------------------------------------------------------------


@pytest.mark.slow
def test_who_agrees_says_no_more(kith: Kith) -> None:
    told = confer(kith, "What is wrong with mean?", one=[RIGHT], two=[RIGHT])
    assert told["by"] == "agreement" and told["status"] == "done" and not told["claims"]
    assert [each["role"] for each in told["said"]].count("assistant") == 2


@pytest.mark.slow
def test_one_question_compares_approaches_without_common_words(kith: Kith) -> None:
    other = RIGHT.replace("Divide by the length in mean.", "Leave out the plus one.")
    told = confer(kith, "What is wrong?", one=[RIGHT, "Same."], two=[other, "Same."])
    assert told["by"] == "agreement" and not told["claims"]


def test_one_model_on_two_servers_has_two_names(kith: Kith, home: Path) -> None:
    config = home / ".config" / "kith" / "config.toml"
    config.parent.mkdir(parents=True)
    with in_thread([RIGHT], "vllm") as one, in_thread([RIGHT], "vllm") as two:
        places = {"box1": one.url, "box2": two.url}
        rows = (f'[endpoints.{name}]\nkind = "vllm"\nurl = "{url}"\n' for name, url in places.items())
        config.write_text("".join(rows))
        told = json.loads(kith("confer", "Which?", "--json", "--models", "box1/standin,box2/standin").stdout)
    names = ["standin@box1", "standin@box2"]
    assert sorted(told["members"].values()) == names
    assert all(name in kith("confer", "--show", told["session"]).stdout for name in names)


def test_a_claim_that_holds_decides_and_lets_its_author_revise(kith: Kith) -> None:
    told = confer(
        kith,
        "What is wrong with mean?",
        one=[RIGHT, AT_CLAMP],
        two=[OTHER, NONE, "accept: c1\napproach: Leave clamp."],
    )
    (claim,) = told["claims"]
    assert claim["check"] == "confirmed" and who(told, claim["of"]) == "two"
    assert told["by"] == "evidence" and who(told, told["choice"]) == "one"
    assert told["figures"]["revised"] == 1


@pytest.mark.slow
def test_a_claim_that_does_not_hold_moves_nobody(kith: Kith) -> None:
    told = confer(
        kith,
        "Which function first?",
        one=[RIGHT, MADE_UP, "choice: A\nwhy: x"],
        two=[OTHER, NONE, "choice: A"],
    )
    (claim,) = told["claims"]
    assert claim["check"] == "refuted" and told["figures"]["revised"] == 0
    assert told["by"] in ("judge", "limit")
    assert "unverified" in told["decision"] or told["by"] == "limit"


def test_a_claim_without_evidence_is_shown_and_does_not_count(kith: Kith) -> None:
    told = confer(
        kith,
        "Which first?",
        one=[RIGHT, "claim: it will be slow", "choice: A"],
        two=[OTHER, NONE, "choice: A"],
    )
    assert [each["check"] for each in told["claims"]] == ["unchecked"]


@pytest.mark.slow
def test_a_failing_input_is_run_and_must_show_what_was_said(kith: Kith) -> None:
    run = f"claim: mean of one number is wrong\nrun: {PRINT_MEAN}\nends: passes\nshows: "
    told = confer(
        kith,
        "Which first?",
        one=[RIGHT, f"{run}2.0"],
        two=[OTHER, f"{run}9.5", "accept: c1\napproach: Mend mean."],
    )
    assert {each["check"] for each in told["claims"]} == {"confirmed", "refuted"}


@pytest.mark.slow
def test_a_probe_that_ends_otherwise_than_said_counts_against_its_author(kith: Kith) -> None:
    wrong = RIGHT.replace("ends: fails", "ends: passes").replace("symbols: mean", "symbols: clamp")
    told = confer(kith, "Which first?", one=[RIGHT, NONE], two=[wrong, NONE, "reject: c1"])
    (claim,) = told["claims"]
    assert claim["by"] == "kith" and who(told, claim["of"]) == "two" and who(told, told["choice"]) == "one"


@pytest.mark.parametrize(
    "command",
    first(
        [
            "echo stolen > ../outside.txt; cat utils.py; false",
            "echo broken > utils.py; python3 -m unittest tests.test_utils",
            "touch conftest.py tests/test_more.py; ls tests",
            "python3 -c \"import urllib.request as u; u.urlopen('http://127.0.0.1:{port}/utils.py')\"",
            "echo mine > $HOME/.bashrc; ls utils.py",
        ]
    ),
)
def test_a_command_of_a_model_reaches_nothing(kith: Kith, home: Path, command: str) -> None:
    import socket

    before = tree(kith.folder)
    with socket.socket() as door:
        door.bind(("127.0.0.1", 0))
        door.listen()
        door.settimeout(0)
        command = command.replace("{port}", str(door.getsockname()[1]))
        claim = f"claim: see\nrun: {command}\nends: passes\nshows: stolen"
        told = confer(kith, "Which first?", one=[RIGHT, claim, "choice: A"], two=[OTHER, NONE, "choice: A"])
        with pytest.raises(BlockingIOError):
            door.accept()
    assert told["claims"][0]["check"] != "confirmed"
    assert tree(kith.folder) == before
    assert not (kith.folder.parent / "outside.txt").exists() and not (home / ".bashrc").exists()


def test_without_a_sandbox_nothing_of_a_model_is_run(kith: Kith, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KITH_SANDBOX", "off")
    claim = "claim: see\nrun: touch /tmp/kith-was-here; ls utils.py\nends: passes"
    told = confer(kith, "Which first?", one=[RIGHT, claim, "choice: A"], two=[OTHER, NONE, "choice: A"])
    assert told["claims"][0]["check"] == "unchecked" and "sandbox" in told["claims"][0]["why"]
    assert not Path("/tmp/kith-was-here").exists()


@pytest.mark.parametrize(
    "broken", [[{"error": "out of memory"}], ["blah", "blah blah"], [{"text": "", "stop": "length"}] * 2]
)
def test_who_fails_drops_out_and_the_others_go_on(kith: Kith, broken: list[Any]) -> None:
    models = play(kith.folder, one=[RIGHT], two=broken)
    done = kith("confer", "Which first?", "--models", models)
    assert "(replay/two) drops out" in done.stderr and "Divide by the length" in done.stdout


def test_a_model_that_is_not_there_stays_away(kith: Kith) -> None:
    models = play(kith.folder, one=[RIGHT]) + ",nobody/here:7b"
    assert "There is no provider 'nobody'" in kith("confer", "Which?", "--models", models, code=None).stderr


def test_nobody_left_is_an_error_in_words(kith: Kith) -> None:
    models = play(kith.folder, one=[{"error": "down"}], two=[{"error": "down too"}])
    done = kith("confer", "Which first?", "--models", models, code=1)
    assert "Nobody of the council proposed anything" in done.stderr


def test_spent_tokens_end_it_with_what_is_there(kith: Kith, home: Path) -> None:
    config = home / ".config" / "kith" / "config.toml"
    config.parent.mkdir(parents=True)
    config.write_text("[confer]\ntokens = 2500\n")
    told = confer(kith, "Which first?", one=[RIGHT, AT_CLAMP], two=[OTHER, NONE])
    assert told["status"] == "done" and told["figures"]["tokens"] < 2500


@pytest.mark.parametrize(
    ("models", "words"),
    [
        ("replay/a.json", "two models"),
        ("replay/a.json,replay/a.json", "named twice"),
        ("a,b,c,d", "two models"),
    ],
)
def test_a_council_needs_two_or_three_different_models(kith: Kith, models: str, words: str) -> None:
    assert words in kith("confer", "Which?", "--models", models, code=2).stderr


def test_no_member_learns_who_the_others_are(kith: Kith) -> None:
    told = confer(kith, "Which first?", one=[RIGHT, AT_CLAMP], two=[OTHER, NONE, "reject: c1"])
    asked = [each["text"] for each in told["said"] if each["role"] == "user"]
    assert asked and not any(name in text for text in asked for name in ("replay", "one.json", "two.json"))
    first = [text for text in asked if "# Propose" in text]
    assert len(first) == 2 and first[0] == first[1]


# --- carrying it out -----------------------------------------------------------------------------


@pytest.mark.slow
def test_the_plan_is_carried_out_where_its_tests_pass(kith: Kith) -> None:
    one = [RIGHT, AT_CLAMP, MEND, "Mended."]
    told = confer(
        kith,
        "mend mean",
        "--apply",
        "--yes",
        one=one,
        two=[OTHER, NONE, "reject: c1", SPOIL, "Done.", "x", "y"],
    )
    assert told["by"] == "tests" and told["status"] == "done" and who(told, told["choice"]) == "one"
    assert "if numbers else 0" in (kith.folder / "utils.py").read_text()
    assert not (kith.folder / "notes.txt").exists()


@pytest.mark.slow
def test_where_the_first_plan_fails_its_tests_the_other_is_tried(kith: Kith) -> None:
    one = [RIGHT, NONE, MEND, "Mended."]
    wrong = OTHER + f"\nprobe: {TEST}\nends: fails"
    at_mean = "claim: mean is wrong\nat: utils.py:6\nquote: return sum(numbers) / (len(numbers) + 1)"
    two = [wrong, at_mean, SPOIL, "Done.", "I see no more.", "Nor now."]
    one.insert(2, "reject: c1")
    told = confer(kith, "mend mean", "--apply", "--yes", one=one, two=two)
    assert told["by"] == "tests" and who(told, told["choice"]) == "one"
    assert (
        "Applied" not in told["text"]
        and (kith.folder / "utils.py").read_text().count("if numbers else 0") == 1
    )


@pytest.mark.slow
@pytest.mark.parametrize(("wanted", "winner"), [("0.0", "one"), ("0", "two")])
def test_where_both_plans_pass_a_test_of_a_member_decides(kith: Kith, wanted: str, winner: str) -> None:
    """One plan gives 0.0 for an empty list, the other 0, and the project's own tests take both."""
    edit = MEND["calls"][0]["args"]
    broken = {"name": "edit", "args": {**edit, "new": edit["new"].replace("else 0", "else 0.0")}}
    work = {"one": {"calls": [broken]}, "two": MEND}
    scripts = {
        name: [
            f"approach: {approach}\ndesign: {design}\nfiles: utils.py\nsymbols: mean",
            NONE,
            work[name],
            "Mended.",
            TELLING.replace("WANTED", wanted),
        ]
        for name, approach, design in (
            ("one", "Return a float.", "a float for an empty list"),
            ("two", "Return an integer.", "an integer literal"),
        )
    }
    told = confer(kith, "mend mean", "--apply", "--yes", **scripts)
    assert told["status"] == "done" and told["by"] == "tests" and who(told, told["choice"]) == winner
    assert f"else {wanted}\n" in (kith.folder / "utils.py").read_text()
    assert not (kith.folder / "tests" / "test_empty.py").exists()


@pytest.mark.slow
def test_a_council_whose_plans_all_fail_changes_nothing(kith: Kith) -> None:
    before = tree(kith.folder)
    bad = [SPOIL, "Done.", "Again.", "And again."]
    told = confer(
        kith, "mend mean", "--apply", "--yes", *GOAL, code=1, one=[RIGHT, NONE, *bad], two=[OTHER, NONE, *bad]
    )
    assert told["status"] == "failed" and tree(kith.folder) == before


# --- what is shown and kept ----------------------------------------------------------------------


def test_every_word_is_shown_with_its_speaker_and_kept(kith: Kith, home: Path) -> None:
    models = play(kith.folder, one=[RIGHT, AT_CLAMP], two=[OTHER, NONE, "reject: c1"])
    done = kith("confer", "Which first?", "--models", models)
    assert re.search(
        r"^([AB]) ┌ replay/one proposes\n\1 │ approach: Divide by the length in mean\.$", done.stderr, re.M
    )
    assert re.search(r"^✓ c1 confirmed, [AB] on [AB]: clamp is fine as it is$", done.stderr, re.M)
    assert re.search(r"^→ [AB] \(replay/one\)\. Decided by evidence", done.stderr, re.M)
    assert max(len(line) for line in done.stderr.splitlines() if line[:1] in "AB✓→") <= 80
    (session,) = Log(home / ".local/state/kith/log.sqlite3").session_ids()
    shown = kith("confer", "--show", session[:6]).stdout
    for words in (
        "replay/one",
        "Divide by the length in mean.",
        "c1 confirmed",
        "Let clamp take floats.",
        "→ ",
    ):
        assert words in shown
    events = [record.event for record in Log(home / ".local/state/kith/log.sqlite3").events(session)]
    assert {type(each) for each in events} >= {Said, Claimed, Concluded}
    assert {each.thread for each in events if isinstance(each, Said)} >= {
        f"council/{session}/A",
        f"council/{session}/B",
    }


def test_there_is_nothing_to_show_of_a_session_without_one(kith: Kith) -> None:
    assert "There is no session" in kith("confer", "--show", "abc", code=2).stderr


# --- a hurry -------------------------------------------------------------------------------------


def at_a_terminal(kith: Kith, interrupts: int, *words: str) -> tuple[int, str]:
    """The exit code and the screen of a kith on a terminal that gets Ctrl-C while the second one speaks."""
    master, terminal = pty.openpty()
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "80", "NO_COLOR": "1"}
    command = [sys.executable, "-m", "kith", "confer", *words]
    process = subprocess.Popen(
        command, cwd=kith.folder, stdin=terminal, stdout=terminal, stderr=terminal, env=environment
    )
    os.close(terminal)
    screen, sent, end = "", 0, time.monotonic() + 60
    while time.monotonic() < end:
        if select.select([master], [], [], 0.05)[0]:
            try:
                data = os.read(master, 65536)
            except OSError:
                break
            if not data:
                break
            screen += data.decode("utf-8", "replace")
        due = "Divide by the length" in screen if sent == 0 else "Deciding now" in screen
        if due and sent < interrupts:
            process.send_signal(signal.SIGINT)
            sent += 1
    os.close(master)
    return process.wait(60), screen


SLOW = {"text": OTHER, "delay": 20}


@pytest.mark.slow
def test_ctrl_c_once_decides_with_what_is_there(kith: Kith) -> None:
    models = play(kith.folder, one=[RIGHT], two=[SLOW])
    code, screen = at_a_terminal(kith, 1, "Which first?", "--models", models)
    assert code == 0 and "Deciding now" in screen
    assert "Not decided by evidence: nobody else proposed" in " ".join(screen.split())
    assert "Divide by the length" in screen.partition("→")[2]


@pytest.mark.slow
def test_ctrl_c_twice_stops(kith: Kith) -> None:
    slow_judge = {"text": "choice: A", "delay": 20}
    models = play(kith.folder, one=[RIGHT, slow_judge], two=[SLOW])
    code, screen = at_a_terminal(kith, 2, "Which first?", "--models", models, "--apply")
    assert code == 130 and "→" not in screen


# --- whatever they say ---------------------------------------------------------------------------

SAYINGS = st.sampled_from(
    [
        RIGHT,
        OTHER,
        NONE,
        AT_CLAMP,
        MADE_UP,
        "accept: c1, c2, c3\napproach: I changed my mind.\nfiles: utils.py\nsymbols: clamp",
        "reject: c1",
        "claim: run this\nrun: rm -rf utils.py tests; ls utils.py\nends: fails",
        "claim: and this\nrun: git commit -qam gone -- utils.py; git log utils.py\nends: passes",
        "choice: B\nwhy: so",
        "",
    ]
)


@pytest.mark.slow
@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(SAYINGS, min_size=3, max_size=5), st.lists(SAYINGS, min_size=3, max_size=5))
def test_whatever_they_say_nothing_is_revised_without_a_claim_that_holds(
    kith: Kith, one: list[str], two: list[str]
) -> None:
    before = tree(kith.folder)
    told = confer(kith, "Which first?", code=None, one=one, two=two)
    assert tree(kith.folder) == before
    if told.get("figures", {}).get("revised"):
        assert told["figures"]["confirmed"] > 0


def test_the_judge_is_the_member_that_was_named(kith: Kith) -> None:
    """Neither claims anything; only the judge's script has a choice."""
    models = play(kith.folder, one=[RIGHT, NONE], two=[OTHER, NONE, "choice: B\nwhy: x"])
    words = ("confer", "--json", "--models", models, "--judge", models.split(",")[1], "Which first?")
    told = json.loads(kith(*words).stdout)
    assert told["by"] == "judge" and told["choice"] == "B"
