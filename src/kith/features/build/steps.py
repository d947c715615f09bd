"""List the steps of a build from its log, one row each, and `kith log`."""

import argparse
import json
from collections.abc import Iterable
from datetime import datetime
from typing import Final

from msgspec import Struct
from msgspec.structs import asdict, replace

from kith.agent.project import Project
from kith.core.errors import EXIT_DONE
from kith.core.events import Advanced, Called, Stepped
from kith.features.build.builds import find_build
from kith.features.build.state import ROLES
from kith.memory.database import Record
from kith.terminal.options import find_root
from kith.view.printing import printable

_ROLES: Final = {step.value: role for step, role in ROLES.items()}
CUT_SHORT: Final = "cut short"  # the outcome of a step that ended without one: stopped, killed or broken


class StepRow(Struct, frozen=True):
    """One step of a build: a state of its table, and what came of it.

    `at`: when it began, in seconds since the epoch. `role` and `model`: "" where no model was asked.
    """

    at: float
    step: str
    task: str = ""
    role: str = ""
    model: str = ""
    outcome: str = ""
    seconds: float = 0.0
    tokens: int = 0


def read_steps(records: Iterable[Record]) -> list[StepRow]:
    """Every step that began, in order; the outcome of the one that runs now is ""."""
    rows: list[StepRow] = []
    for record in records:
        match record.event:
            case Stepped(state="began") as began if len(record.path) == 1:
                if rows and not rows[-1].outcome:
                    rows[-1] = replace(rows[-1], outcome=CUT_SHORT)
                role = _ROLES.get(began.kind, "")
                rows.append(StepRow(record.at, began.kind, began.task, role))
            case Stepped(state=state, seconds=seconds) if len(record.path) == 1 and rows:
                outcome = CUT_SHORT if state == "failed" else ""
                rows[-1] = replace(rows[-1], seconds=round(seconds, 3), outcome=outcome)
            case Called(model=model, usage=usage) if rows:
                rows[-1] = replace(rows[-1], model=model, tokens=rows[-1].tokens + usage.total)
            case Advanced(outcome=outcome) if rows:
                rows[-1] = replace(rows[-1], outcome=outcome)
    return rows


def step_lines(rows: Iterable[StepRow]) -> list[str]:
    """The rows as columns of plain text."""
    table = [
        (
            datetime.fromtimestamp(row.at).strftime("%m-%d %H:%M:%S"),
            row.step,
            row.task or "-",
            row.role or "-",
            printable(row.model) or "-",
            row.outcome or "running",
            f"{row.seconds:,.1f} s",
            f"{row.tokens:,} tokens" if row.tokens else "-",
        )
        for row in rows
    ]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    return ["  ".join(map(str.ljust, line, widths)).rstrip() for line in table]


def log_command(args: argparse.Namespace) -> int:
    """Print one line for each step of a build."""
    project = Project.open(find_root(args.folder), {})
    rows = read_steps(project.log.events(find_build(project, args.id or "")))
    print(json.dumps([asdict(row) for row in rows], indent=2) if args.json else "\n".join(step_lines(rows)))
    return EXIT_DONE
