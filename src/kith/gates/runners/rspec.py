"""Ruby's RSpec."""

import json
import re
from collections.abc import Mapping
from typing import Any, Final

from kith.gates.reports import CaseResult, Outcome, ProjectPaths, worst_of
from kith.gates.results.report_commands import REPORTS
from kith.gates.toolchain import Runner

_OUTCOMES: Final[Mapping[str, Outcome]] = {"passed": "passed", "failed": "failed", "pending": "skipped"}


def read_rspec(files: Mapping[str, bytes], place: ProjectPaths) -> tuple[CaseResult, ...]:
    """Ids are full descriptions, as `-e` takes them; of a file that could not be loaded, an error."""
    try:
        data = json.loads(files.get("rspec.json", b""))
        return worst_of(_example(each, place) for each in data["examples"])
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return ()


def _example(example: Any, place: ProjectPaths) -> CaseResult:
    """Source: RSpec's JsonFormatter."""
    told = example.get("exception") or {}
    frames = "\n".join(
        re.sub(r":in [`'](.*)'$", r": in \1", line) for line in reversed(told.get("backtrace") or ())
    )
    outcome = _OUTCOMES.get(str(example["status"]), "skipped")
    return place.case(
        str(example["full_description"]),
        outcome,
        str(told.get("message") or ""),
        frames,
        float(example.get("run_time") or 0),
        str(told.get("class") or ""),
    )


def _report_rspec(line: str) -> str:
    return f"{line} --no-fail-fast --format progress --format json --out {REPORTS}/rspec.json"


RSPEC: Final = Runner("rspec", report=_report_rspec, read=lambda files, place, ran: read_rspec(files, place))
