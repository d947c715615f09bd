"""Tasks that work directly on the files of a container: a benchmark's, or any that is thrown away."""

import argparse

from kith.core.feature import Feature, Lazy, lazy_in

_here = lazy_in(__name__)

FEATURE = Feature(
    "in_place",
    "tasks that work directly on a container's files, without a trial",
    task_options=Lazy(f"{__name__}:add_arguments"),
    way=_here("run_in_place:find_way"),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The option of `kith run` for work without a trial."""
    meaning = 'in a container (sandbox = "outside"): work directly on its files, without a trial or questions'
    parser.add_argument("--in-place", action="store_true", help=meaning)
