"""The limits of a change: what a file held counts as well."""

from pathlib import Path

import pytest

from gating import judge
from kith.core.workspace import SizeLimits
from kith.gates.limits import limits_gate


@pytest.mark.parametrize("before", ["x" * 1_000_001, "\0binary"])
def test_what_a_file_held_counts_as_well(repository: Path, before: str) -> None:
    """The tree keeps the former content for `kith undo`, and refuses it by the same limits."""
    (repository / "held.txt").write_text(before)
    for after in ("small\n", None):
        told = judge(repository, {"held.txt": after}, lambda home: limits_gate(SizeLimits()))
        assert not told.ok and "Leave it." in told.feedback
