"""`kith doctor --sandbox`: what gets out is seen, and nothing gets out of the sandbox."""

import asyncio
import json
import subprocess
import sys
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import pytest

from kith.core.workspace import ShellCommand, Trial
from kith.features.doctor.sandbox import Attempt, EscapeOutcome, _listening, _make, _stage, attempts
from kith.trees.local import open_tree

# Attempts that do no harm where nothing holds them.
OPEN = {
    "write to a folder beside the project": "outside the trial",
    "read a file beside the project": "it was read",
    "connect to this machine": "a connection was heard",
    "send a datagram to this machine": "a datagram was heard",
    "connect to a socket beside the project": "a socket beside the project was heard",
    "connect to a socket without a file": "a socket without a file was heard",
    "see a process outside": "nothing blocked it",
    "signal a process outside": "nothing blocked it",
}


@pytest.mark.slow
def test_what_gets_out_is_seen(tmp_path: Path) -> None:
    known = {attempt.tried: attempt for attempt in attempts()}

    async def main(folder: Path) -> list[EscapeOutcome]:
        with _stage(folder) as stage:
            tree = open_tree(stage.root, stage.state, folder / "cache", sandbox="off")
            trial: AbstractAsyncContextManager[Trial] = tree.trial()
            async with trial as place, _listening(stage):
                stage.before = stage.look()
                chosen: list[Attempt] = [known[tried] for tried in OPEN]
                found = []
                for attempt in chosen:
                    found.append(await _make(attempt, place, stage))
                    stage.before = stage.look()
                return found

    for outcome in asyncio.run(main(tmp_path)):
        assert not outcome.held and OPEN[outcome.attempt.tried] in outcome.why, outcome


@pytest.mark.slow
def test_nothing_gets_out(tmp_path: Path, sandbox: None) -> None:
    argv = [sys.executable, "-m", "kith", "doctor", "--sandbox", "--json"]
    ran = subprocess.run(argv, cwd=tmp_path, capture_output=True, text=True, check=False)
    told = json.loads(ran.stdout)
    assert [row for row in told["attempts"] if not row["held"]] == [] and ran.returncode == 0
    assert len(told["attempts"]) == len(list(attempts())) > 50 and told["escaped"] == 0


@pytest.mark.slow
def test_nothing_gets_out_beside_a_background_process(tmp_path: Path, sandbox: None) -> None:
    async def main() -> list[EscapeOutcome]:
        with _stage(tmp_path) as stage:
            tree = open_tree(stage.root, stage.state, tmp_path / "cache")
            if not tree.hosts_jobs:
                pytest.skip("there are no overlays here")
            async with tree.trial() as trial, trial.turn(), _listening(stage):
                await trial.launch(ShellCommand("while sleep 0.1; do date > dated; done"), lambda job: None)
                stage.before = stage.look()
                found = [await _make(attempt, trial, stage) for attempt in attempts()]
                assert not trial.jobs[0].ended_by
                return found

    assert [outcome for outcome in asyncio.run(main()) if not outcome.held] == []


def test_without_a_sandbox_it_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    argv = [sys.executable, "-m", "kith", "doctor", "--sandbox"]
    ran = subprocess.run(argv, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ran.returncode == 1 and ran.stderr.startswith("No sandbox on this machine: bubblewrap is not")
