"""Several tries at one task, with one model or with several: the checks choose the change."""

import argparse
from typing import Final

from kith.core.feature import Feature, Lazy, lazy_in
from kith.terminal.options import positive

_here = lazy_in(__name__)
MOST: Final = 16  # tries of one task

FEATURE = Feature(
    "tries",
    "several tries at one task, of which the checks choose one",
    task_options=Lazy(f"{__name__}:add_arguments"),
    way=_here("run_tries:find_way"),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `kith run` for several tries."""
    add = parser.add_argument
    add(
        "--best-of",
        type=positive,
        default=1,
        metavar="N",
        help="let the model try up to N times, and take the change with the best evidence (1)",
    )
    add("--also", action="append", default=[], metavar="NAME", help="let this model try, too")
