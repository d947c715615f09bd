"""`kith run` with a model in the cloud, from outside: who must agree, what it costs, what stays closed."""

import json
from pathlib import Path
from typing import Any

import pytest

from outside import Kith, Server


def settings(home: Path, **values: Any) -> None:
    file = home / ".config" / "kith" / "config.toml"
    lines = [f"{key} = {json.dumps(value)}\n" for key, value in values.items()]
    file.write_text("".join(lines) + file.read_text())


TASK = ("--check", "none", "mend mean")


@pytest.mark.slow
def test_without_anybody_there_nothing_is_sent(kith: Kith, cloud: Server, home: Path) -> None:
    for words in (("-m", "far/standin"), ("-m", "far/standin", "--cloud", "never")):
        done = kith("run", *words, *TASK, code=5)
        assert "cloud" in done.stderr or "own network" in done.stderr
    settings(home, model="far/standin")
    done = kith("run", "--yes", *TASK, code=5)  # --yes alone does not say to whom
    assert "consent" in done.stderr
    assert cloud.requests == []


@pytest.mark.slow
def test_what_is_there_is_called_as_it_can_be_asked(kith: Kith, cloud: Server) -> None:
    assert "there are: far/standin." in kith("run", "-m", "none", *TASK, code=5).stderr


def test_a_path_in_the_settings_begins_at_home(kith: Kith, cloud: Server) -> None:
    row = next(line for line in kith("config").stdout.splitlines() if line.startswith("endpoints.far"))
    assert row.endswith("  ~/.config/kith/config.toml")


@pytest.mark.slow
def test_the_model_named_here_and_yes_agree(kith: Kith, cloud: Server) -> None:
    report = kith.run("-m", "far/standin", "--yes", *TASK)
    assert report["status"] == "done" and report["usd"] > 0 and len(cloud.requests) == 2
    done = kith("run", "-m", "far/standin", "--yes", "--read-only", "what is mean?")
    assert "cost $0.0" in done.stderr and "prices" in done.stderr


@pytest.mark.slow
def test_allow_agrees_for_good_and_a_project_can_only_narrow_it(
    kith: Kith, cloud: Server, home: Path
) -> None:
    settings(home, model="far/standin", cloud="allow", max_day_usd=5)
    done = kith("run", "--yes", *TASK)
    assert "vllm/standin at http" in done.stderr and "gets 1 message" in done.stderr.replace("\n", " ")
    assert "today" in done.stderr
    narrowed = kith.folder / ".kith"
    narrowed.mkdir()
    (narrowed / "config.toml").write_text('cloud = "never"\n')
    kith("trust", "--yes")
    kith("run", "--yes", *TASK, code=5)
    assert len(cloud.requests) == 2


@pytest.mark.slow
def test_a_limit_of_money_ends_the_task(kith: Kith, cloud: Server, home: Path) -> None:
    report = kith.run("-m", "far/standin", "--yes", "--max-task-usd", "0.02", *TASK, code=4)
    assert "max_task_usd" in report["text"] and cloud.requests == []
    settings(home, max_day_usd=0.36)
    kith.run("-m", "far/standin", "--yes", *TASK)
    (home / ".config" / "kith" / "prices.toml").write_text("")
    report = kith.run("-m", "far/standin", "--yes", *TASK, code=4)
    assert 'prices.toml: ["vllm/standin"]' in report["text"]
    assert len(cloud.requests) == 2


def test_a_table_badly_written_is_said(kith: Kith, cloud: Server, home: Path) -> None:
    assert "vllm/standin" in kith("models", "prices").stdout
    (home / ".config" / "kith" / "prices.toml").write_text('["a/b"]\ninput = "much"\n')
    for words in (("models", "prices"), ("config",), ("run", "-m", "far/standin", "--yes", *TASK)):
        assert "prices.toml, line 1: a/b: input must be dollars" in kith(*words, code=2).stderr.replace(
            "\n", " "
        )


@pytest.mark.slow
def test_what_was_agreed_to_for_good_can_be_taken_back(kith: Kith, cloud: Server, home: Path) -> None:
    from kith.core.events import Answered, RunStarted
    from kith.core.values import Answer, Consent
    from kith.memory.log import LOG_FILE, Log

    log = Log(home / ".local" / "state" / "kith" / LOG_FILE)
    log.append("a", RunStarted("x", str(kith.folder), "", "0"), ())
    log.append("a", Answered("q", Answer("always"), Consent("vllm/standin", cloud.url, "work")), ())
    settings(home, model="far/standin")
    kith("run", "--yes", *TASK)
    agreed = f"vllm/standin at {cloud.url} is asked (work)"
    assert agreed in kith("config").stdout
    assert agreed in kith("config", "--ask-again").stdout
    assert agreed not in kith("config").stdout
    kith("run", "--yes", *TASK, code=5)
