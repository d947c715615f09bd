"""`kith doctor` and the card of a probe as a person sees them: calm at 80 columns, and as JSON."""

import argparse
import io
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from kith.core.errors import UsageError
from kith.features.doctor.check import Check
from kith.features.doctor.command import doctor_command, show_checks, summary, worst
from kith.features.measure.probe_command import show_probe

CHECKS = (
    Check("model", "green", "kith asks qwen3:8b unless told otherwise."),
    Check("port 11434", "green", "Ollama at http://127.0.0.1:11434 has qwen3:8b, qwen3:4b and 9 more."),
    Check(
        "port 11434",
        "yellow",
        "qwen3:8b runs with a window of 4,096 tokens of the 40,960 it was trained for; less than 8,192 leave "
        "little room to work.",
        "OLLAMA_CONTEXT_LENGTH=16384 ollama serve --and --a --command --that --is --longer --than --a --line",
    ),
    Check("log", "red", "The log \x1b[31m is damaged.", "mv a b"),
)
SEEN = """\
    ok  model         kith asks qwen3:8b unless told otherwise.
    ok  port 11434    Ollama at http://127.0.0.1:11434 has qwen3:8b, qwen3:4b
                      and 9 more.
  note                qwen3:8b runs with a window of 4,096 tokens of the 40,960
                      it was trained for; less than 8,192 leave little room to
                      work.
                      > OLLAMA_CONTEXT_LENGTH=16384 ollama serve --and --a --command --that --is --longer \
--than --a --line
 wrong  log           The log \\x1b[31m is damaged.
                      > mv a b

1 wrong, 1 note, 2 ok. Fixes are shown after >.
"""


@pytest.fixture(autouse=True)
def narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    for name in ("FORCE_COLOR", "NO_COLOR", "CLICOLOR_FORCE"):
        monkeypatch.delenv(name, raising=False)


def test_the_checks_are_read_without_colour() -> None:
    stream = io.StringIO()
    show_checks(CHECKS, stream)
    assert stream.getvalue() == SEEN


def test_colour_only_adds_to_the_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm-256color")
    stream = io.StringIO()
    show_checks(CHECKS, stream)
    assert "\x1b[" in stream.getvalue()
    assert " wrong" in stream.getvalue() and "\x1b[31m is damaged" not in stream.getvalue()


def test_the_worst_counts() -> None:
    assert [worst(CHECKS), worst(CHECKS[:3]), worst(CHECKS[:2]), worst(())] == [
        "red",
        "yellow",
        "green",
        "green",
    ]
    assert summary(CHECKS[:2]) == "All is well."
    assert summary(CHECKS[:3]) == "1 note, 2 ok. Fixes are shown after >."


def arguments(folder: Path | str, *, json: bool = False) -> argparse.Namespace:
    return argparse.Namespace(folder=str(folder), offline=True, deep=False, sandbox=False, json=json)


def test_the_command_says_by_its_code_whether_anything_is_wrong(
    repository: Path, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = home / ".config" / "kith" / "config.toml"
    file.parent.mkdir(parents=True)
    file.write_text("tries = 0\n")
    assert doctor_command(arguments(repository, json=True)) == 1
    said = json.loads(capsys.readouterr().out)
    assert said["level"] == "red"
    (broken,) = [check for check in said["checks"] if check["name"] == "configuration"]
    assert broken == {
        "name": "configuration",
        "level": "red",
        "text": f"{file}, line 1: tries must be at least 1, not 0.",
        "fix": f"edit {file}",
    }
    file.write_text('model = "replay/script.json"\n')
    assert doctor_command(arguments(repository)) == 0
    out = capsys.readouterr().out
    assert "    ok  model         replay/script.json plays a script.\n" in out
    assert out.endswith((" ok. Fixes are shown after >.\n", "All is well.\n"))


def test_a_folder_that_is_none_is_refused() -> None:
    with pytest.raises(UsageError, match="There is no folder"):
        doctor_command(arguments("/nowhere/at/all"))


FACTS: Mapping[str, Any] = {
    "probe": {
        "seconds": 41.2,
        "speeds": [
            {"depth": 310, "read_rate": 48.2, "write_rate": 9.13, "by": "server"},
            {"depth": 980, "read_rate": 0.0, "write_rate": 8.0, "by": "clock"},
        ],
        "items": [
            {"name": "one tool", "state": "passed", "why": ""},
            {
                "name": "diff",
                "state": "failed",
                "why": "it wrote no diff but 'Sure! I have changed it for you.'",
            },
            {"name": "long prompt", "state": "not tested", "why": "time ran out"},
        ],
        "thinks": True,
        "thinking_tokens": 1234,
        "good_for": ["agent work", "edits by tool", "edits as search/replace", "code in tool arguments"],
        "not_for": [],
    },
    "read_rate": 48.2,
}
CARD = """\
ollama/qwen3:8b, probed in 41 s

good for: agent work; edits by tool; edits as search/replace; code in tool
          arguments
not for:  nothing was found that it cannot do

reads 48 tokens/s, writes 9.1 tokens/s with 310 tokens
writes 8.0 tokens/s with 980 tokens, by the clock
thinks first: 1,234 tokens about a trivial question

  ok  one tool
  no  diff                it wrote no diff but 'Sure! I have changed it for
                          you.'
   -  long prompt         not tested: time ran out
"""


def test_the_card_of_a_probe() -> None:
    stream = io.StringIO()
    show_probe("ollama/qwen3:8b", FACTS, stream=stream)
    assert stream.getvalue() == CARD


def test_a_model_that_can_do_nothing_is_told_so() -> None:
    stream = io.StringIO()
    probe = {**FACTS["probe"], "good_for": [], "not_for": ["agent work", "edits"], "speeds": []}
    show_probe("m", {"probe": probe}, stream=stream)
    assert "good for: nothing that was tested\nnot for:  agent work; edits\n" in stream.getvalue()


def test_the_card_as_json() -> None:
    stream = io.StringIO()
    show_probe("m", FACTS, as_json=True, stream=stream)
    assert json.loads(stream.getvalue()) == {"model": "m", **FACTS}
