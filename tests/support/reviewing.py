"""A change to review, and what a model finds in it."""

import io
import json
import subprocess
import sys
from contextlib import chdir, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kith.cli import main
from outside import Kith

MEAN = "    return sum(numbers) / (len(numbers) + 1)\n"


DIVIDES = "    return sum(numbers) / len(numbers)\n"


BETTER = "    return sum(numbers) / max(len(numbers), 1)\n"


@dataclass(frozen=True)
class Here(Kith):
    """kith in this process: most of a short command is the start of Python."""

    def __call__(
        self, *words: str, input: str = "", code: int | None = 0
    ) -> subprocess.CompletedProcess[str]:
        out, err, before = io.StringIO(), io.StringIO(), sys.stdin
        sys.stdin = io.TextIOWrapper(io.BytesIO(input.encode()))
        try:
            with chdir(self.folder), redirect_stdout(out), redirect_stderr(err):
                done = main(words)
        finally:
            sys.stdin = before
        assert code is None or done == code, f"exit {done}\n{out.getvalue()}\n{err.getvalue()}"
        return subprocess.CompletedProcess(words, done, out.getvalue(), err.getvalue())


def change(folder: Path, old: str = MEAN, new: str = DIVIDES, more: str = "") -> None:
    file = folder / "utils.py"
    file.write_text(file.read_text().replace(old, new) + more)


def finding(**other: Any) -> dict[str, Any]:
    usual = {
        "path": "utils.py",
        "line": 6,
        "severity": "error",
        "evidence": DIVIDES.rstrip(),
        "why": "An empty list divides by zero.",
    }
    return usual | other


def replay(folder: Path, *replies: Any) -> str:
    """A script of replies; a list is one of findings."""
    script = folder.parent / "script.json"
    texts = [json.dumps({"findings": each}) if isinstance(each, list) else each for each in replies]
    script.write_text(json.dumps(texts))
    return f"replay/{script}"


def review(kith: Kith, *words: str, code: int | None = None, input: str = "") -> dict[str, Any]:
    told: dict[str, Any] = json.loads(kith("review", "--json", *words, code=code, input=input).stdout)
    return told
