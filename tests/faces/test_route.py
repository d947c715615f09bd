"""`kith run -m route` from outside: the local model first, the frontier model when it could not do it."""

import json
from pathlib import Path
from typing import Any

import pytest
from outside import Kith
from test_run import CHECK, DONE, NEW, OLD, edit

WRONG = OLD.replace("+ 1", "+ 2")
MISS = [edit(OLD, WRONG), DONE, DONE]  # two tries, for nothing
HIT = [edit(), DONE]


class Models:
    """Scripts as models: `local` and `frontier`, as the settings name them."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder, self.monkeypatch = folder, monkeypatch

    def __call__(self, local: list[Any] | None, frontier: list[Any] | None) -> None:
        for name, replies in (("local", local), ("frontier", frontier)):
            if replies is not None:
                self.name(name, self.script(name, replies))

    def script(self, name: str, replies: list[Any]) -> str:
        file = self.folder / f"{name}.json"
        file.write_text(json.dumps(replies))
        return f"replay/{file}"

    def name(self, role: str, model: str) -> None:
        self.monkeypatch.setenv(f"KITH_ROUTE_{role.upper()}", model)


@pytest.fixture
def models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Models:
    return Models(tmp_path, monkeypatch)


def run(kith: Kith, *words: str, code: int = 0) -> dict[str, Any]:
    return kith.run("--yes", "-m", "route", "--check", CHECK, "--tries", "2", *words, code=code)


def test_the_frontier_model_takes_over_and_solves_it(kith: Kith, models: Models) -> None:
    models(MISS, HIT)
    report = run(kith, "fix mean")
    assert report["status"] == "done" and NEW in (kith.folder / "utils.py").read_text()
