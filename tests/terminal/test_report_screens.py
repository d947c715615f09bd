"""What a person sees while things take time, and at the end: states, seconds, the receipt, help."""

import io
from typing import Any

import pytest
from rich.console import Console

from kith.cli import main
from kith.core.events import Event, Notice, Progress, Stepped
from kith.features.measure.probe_command import tell_steps
from kith.terminal.command_table import commands
from kith.terminal.report import print_receipt
from kith.terminal.streams import is_lively
from kith.terminal.terminal import ActivityLine
from kith.view.lines import wrapped
from kith.view.wording import status_of
from outside import Kith, Serve

HALF, NONE = "━" * 8 + "╌" * 8, "╌" * 16


class Terminal(io.StringIO):
    """A text that is taken for a terminal."""

    def isatty(self) -> bool:
        return True


# --- while things take time --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("event", "state"),
    [
        (
            Progress("reading, about 2 s left", 600, 1200),
            f"reading, about 2 s left  {HALF}  600 of 1,200 tokens",
        ),
        (Progress("reading", 0, 1757), "reading: 1,757 tokens"),
        (Progress("reading, longer than expected", 0), "reading, longer than expected"),
        (Progress("loading the model", 0, 100), f"loading the model  {NONE}  0%"),
        (Progress("asked", 0), "waiting for the model"),
    ],
)
def test_a_state_says_what_is_known(event: Event, state: str) -> None:
    assert status_of(event) == state


def test_what_goes_on_for_long_is_shown_with_its_seconds() -> None:
    now = 100.0
    waiting = ActivityLine("thinking", lambda: now)
    console, shown = Console(file=io.StringIO(), width=40), []
    for each in (101.0, 107.4):
        now = each
        with console.capture() as capture:
            console.print(waiting)
        shown.append(capture.get().strip())
    assert shown == ["thinking", "thinking  7 s"]


@pytest.mark.parametrize("lively", [True, False])
def test_a_probe_says_what_it_tries(lively: bool) -> None:
    told: list[Event] = []
    hear = tell_steps(lambda event, path: told.append(event), lively)
    for event in (
        Progress("loading the model", 0),
        Stepped("probing speed", "began"),
        Progress("asked", 0),
        Progress("reading", 30, 60),
    ):
        hear(event, ())
    assert told == [
        Progress("loading the model", 0),
        Progress("probing speed", 0) if lively else Notice("probing speed ..."),
        Progress("probing speed", 0),
        Progress("probing speed: reading", 30, 60),
    ]


@pytest.mark.slow
def test_a_probe_in_a_pipe_is_not_silent(kith: Kith, serve: Serve) -> None:
    serve(["56"] * 20, "llama-server")
    said = kith("models", "probe", "--json").stderr
    assert (
        said.index("Probing llama-server/standin")
        < said.index("probing speed")
        < said.index("probing tool calls")
    )
    assert "processed again" not in said  # its prompts begin anew on purpose


@pytest.mark.parametrize(("term", "lively"), [("xterm-256color", True), ("dumb", False)])
def test_a_line_is_drawn_again_only_where_that_can_be(
    term: str, lively: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TERM", term)
    assert is_lively(Terminal()) is lively
    assert not is_lively(io.StringIO())


# --- lines -------------------------------------------------------------------------------------


def test_what_is_broken_goes_on_where_it_began(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "30")
    text = "Looked for:\n  other servers, at the ports 8080 and 1234\n  --a-very-long-option=that/stays/whole"
    assert wrapped(text, Terminal()) == (
        "Looked for:\n  other servers, at the ports\n  8080 and 1234\n  --a-very-long-option=that/stays/whole"
    )
    assert wrapped("  ! word word word word word word", Terminal(), "     ") == (
        "  ! word word word word word\n     word"
    )


# --- the receipt -------------------------------------------------------------------------------


def report(**usage: Any) -> dict[str, Any]:
    known = {"calls": 4, "input": 5000, "cached": 3800, "output": 90, "window": 16_384, "cache": None}
    return {
        "changes": [],
        "applied": None,
        "model": "ollama/qwen3:8b",
        "models": [],
        "usd": None,
        "receipt": {"checks": {"before": [], "after": []}, "not_checked": ["No check was run."]},
        "usage": known | usage,
    }


@pytest.mark.parametrize(
    ("usage", "words"),
    [
        ({}, "ollama/qwen3:8b, window 16,384: 4 calls, 5,000 tokens read (3,800 cached), 90 written"),
        ({"window": 0, "cached": 0, "calls": 1}, "ollama/qwen3:8b: 1 call, 5,000 tokens read, 90 written"),
        ({"cache": {"reused": 0.962, "estimated": False}}, "read (cache hit 96%), 90"),
        ({"cache": {"reused": 0.4, "estimated": True}, "cached": 0}, "5,000 tokens read, 90 written"),
        ({"cache": {"reused": 0.998, "estimated": False}}, "read (cache hit 100%), 90"),
        ({"cache": {"reused": None, "estimated": False}, "cached": 0}, "5,000 tokens read, 90 written"),
        ({"input": 0, "output": 0, "cached": 0}, "4 calls, tokens not reported"),
    ],
)
def test_the_receipt_says_what_the_model_cost(
    usage: dict[str, Any], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    print_receipt(report(**usage))
    said = capsys.readouterr().err
    assert said.startswith("Receipt: no file changed\n         ") and words in said
    assert "No check was run" not in said  # there was nothing to check


@pytest.mark.slow
def test_what_could_be_cached_is_counted_over_all_calls(kith: Kith, serve: Serve) -> None:
    serve([{"calls": [{"name": "list", "args": {}}]}, "Two functions."], "llama-server")
    used = kith.run("--read-only", "what is here?")["usage"]
    cache = used["cache"]
    could = used["input"] - cache["unavoidable"]
    assert cache["reused"] == round((used["input"] - cache["evaluated"]) / could, 3) > 0.9
    serve(["Two functions."], "llama-server")
    words = kith("run", "--read-only", "what is here?")
    assert words.stdout == "Two functions.\n" and "Receipt: no file changed\n" in words.stderr
    assert "· Asking llama-server/standin, window 8,192." in words.stderr
    assert "Asking" not in kith("run", "-m", "openai/standin", "again", code=None).stderr


# --- help and typos ----------------------------------------------------------------------------


def test_help_is_short_and_fits_the_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    for name in ("", *commands()):
        with pytest.raises(SystemExit):
            main([*name.split(), "--help"])
        shown = capsys.readouterr().out
        assert all(len(line) <= 80 for line in shown.splitlines())
        assert "exit codes" in shown or name not in ("", "run")


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["models", "pul"], "There is no command 'models pul'; did you mean `kith models pull`?"),
        (["models", "xyz"], "there are: models recommend, models prices, models pull, models probe."),
        (["engine", "stpo"], "one of 'status', 'stop', 'tune', not 'stpo'. See `kith engine --help`."),
        (["models", "--jsn"], "did you mean --json? See `kith models --help`."),
    ],
)
def test_what_was_mistyped_is_named(
    words: list[str], expected: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words) == 2
    assert expected in capsys.readouterr().err
