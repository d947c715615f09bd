"""The fleet's commands, which load its packages only where these are installed."""

import argparse
from collections.abc import Callable

from kith.core.feature import Lazy
from kith.settings.features import check_extra

Run = Callable[[argparse.Namespace], int]


def _command(name: str) -> Run:
    def run(args: argparse.Namespace) -> int:
        check_extra("fleet", f"kith fleet {name}")
        return Lazy[Run](f"kith.features.fleet.commands:{name}_command").load()(args)

    return run


up, init, worker = _command("up"), _command("init"), _command("worker")
submit, status, watch, results = map(_command, ("submit", "status", "watch", "results"))
cancel, retry, publish = map(_command, ("cancel", "retry", "publish"))
