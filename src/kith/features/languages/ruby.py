"""Ruby: RSpec, which reports each example, Minitest and test-unit."""

import json
import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any, Final

from kith.core.patterns import lazy_pattern
from kith.gates.reports import CaseResult, Outcome, ProjectPaths, worst_of
from kith.gates.results.report_commands import REPORTS
from kith.gates.toolchain import Ecosystem, Read, Runner, Toolchain, matching, read_text

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
_GEMSPEC: Final = re.compile(r"[^/]+\.gemspec")
_SPEC: Final = re.compile(r"spec/(?:.*/)?[^/]+_spec\.rb")
_MINITEST: Final = re.compile(r"test/(?:.*/)?(?:test_[^/]+|[^/]+_test)\.rb")
_GEM: Final = lazy_pattern(
    r"^\s*(?:gem|\w+\.add_(?:development_|runtime_)?dependency)[ (]+[\"\']([\w-]+)", re.M
)


def _find_ruby(files: Collection[str], read: Read) -> Iterator[Toolchain]:
    """RSpec's files, or those of Minitest and test-unit, by rake where it is told how."""
    bundled = ("bundle exec ", "") if "Gemfile" in files else ("",)
    manifests = [path for path in ("Gemfile", *matching(files, (".gemspec",), _GEMSPEC)) if path in files]
    gems = tuple(sorted({name for path in manifests for name in _GEM.findall(read_text(read, path))}))
    if matching(files, ("_spec.rb",), _SPEC):
        for prefix in bundled:
            why = "spec/ has specifications"
            yield Toolchain("rspec", "Ruby", why, f"{prefix}rspec", RSPEC, requires=gems)
    elif matching(files, (".rb",), _MINITEST):
        if "Rakefile" in files:
            for prefix in bundled:
                yield Toolchain("rake test", "Ruby", "Rakefile", f"{prefix}rake test", requires=gems)
        each = 'Dir["test/**/{test_*,*_test}.rb"].sort.each { |file| require "./#{file}" }'
        line = f"ruby -Ilib:test -e '{each}'"
        yield Toolchain("ruby tests", "Ruby", "test/ has tests", line, requires=gems)


RUBY: Final = Ecosystem(_find_ruby, clues=r"Gemfile|[^/]+\.gemspec")
