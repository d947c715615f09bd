"""A build's change must not be too large, and writes no secret into a file; a secret is never repeated."""

import asyncio
from pathlib import Path

from gating import judge
from kith.core.run import Run
from kith.core.values import Change, Verdict
from kith.features.build.gates import secrets_gate, size_gate

# Put together here, so that nothing that looks like a key stands in this file.
GITHUB, NPM = "ghp_" + "fK9x2Lq7Zw4Rt8Vb" * 2 + "1a2b", "npm_" + "7Zw4Rt8VbfK9x2Lq" * 2 + "1a2b"


def test_a_change_that_nobody_can_read_is_sent_back(repository: Path) -> None:
    files: dict[str, str | None] = {"a.py": "x\n" * 30, "b.py": "y\n" * 5, "README.md": None}
    told = judge(repository, files, lambda home: size_gate(2, 30))
    assert not told.ok and told.figures == {"files": 3.0, "lines": 38.0}
    assert "touches 3 files, and at most 2" in told.feedback and "38 lines, and at most 30" in told.feedback
    assert "a.py (30 lines), b.py (5 lines), README.md (3 lines)" in told.feedback
    assert judge(repository, files, lambda home: size_gate(3, 38)).ok


def verdict(before: str | None, after: str) -> Verdict:
    async def nobody(*_: object) -> None: ...

    run = Run(lambda *_: None, nobody, None)  # type: ignore[arg-type]
    change = Change("a.py", None if before is None else before.encode(), after.encode())
    return asyncio.run(secrets_gate()(run, (change,)))  # type: ignore[arg-type]


def test_an_added_secret_is_told_and_never_repeated() -> None:
    told = verdict("import x\n", f"import x\n\nclient = x.Client({GITHUB!r})\n")
    assert not told.ok and "a.py:3: GitHub token" in told.feedback
    assert GITHUB[-12:] not in told.feedback


def test_only_added_lines_count() -> None:
    old = f"KEY = '{GITHUB}'\n"
    assert verdict(old, old + "x = 1\n").ok
    assert verdict(old, "").ok and verdict(None, "x = 1\n").ok
    assert "a.py:2: " in verdict(old, old + f"OTHER = '{NPM}'\n").feedback
