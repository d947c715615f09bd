"""PHP: PHPUnit."""

from collections.abc import Collection, Iterator
from typing import Final

from kith.gates.results.report_commands import REPORTS
from kith.gates.runners.junit_files import read_reports
from kith.gates.toolchain import Ecosystem, Read, Runner, Toolchain


def _report(line: str) -> str:
    return f"mkdir -p {REPORTS}/junit\n{line} --log-junit {REPORTS}/junit/phpunit.xml"


PHPUNIT: Final = Runner("phpunit", report=_report, read=lambda files, place, ran: read_reports(files, place))


def _find_php(files: Collection[str], read: Read) -> Iterator[Toolchain]:
    where = next(
        (name for name in ("phpunit.xml", "phpunit.xml.dist", "phpunit.dist.xml") if name in files), ""
    )
    if where:
        for program in ("vendor/bin/phpunit", "phpunit"):
            yield Toolchain("phpunit", "PHP", where, program, PHPUNIT)


PHP: Final = Ecosystem(_find_php)
