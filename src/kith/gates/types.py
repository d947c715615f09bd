"""The gate for types: a change must not bring new findings of the project's type checker."""

from collections.abc import Sequence

from kith.core.run import Gate, Run
from kith.core.workspace import ExecLimits
from kith.gates.lint import findings_gate
from kith.gates.linters.linter import Linter

__all__ = ["types_gate"]


def types_gate(linters: Sequence[Linter], limits: ExecLimits, untouched: Run | None = None) -> Gate:
    """Like `lint_gate`, for the type checkers among `linters`.

    With `untouched`, a caller elsewhere that no longer fits counts too, where the checker looks at it.
    """
    return findings_gate("types", linters, limits, untouched)
