"""Run tasks at fixed times, by systemd or cron; their changes wait for a person."""

import argparse

from kith.core.feature import Command, Feature, Lazy, lazy_in
from kith.terminal.options import add_json, add_system, add_work, some_id

_here = lazy_in(__name__)


def schedule_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    when = 'such as "every night", "every weekday at 9:30", "0 2 * * *"; alone, the schedules are listed'
    add("words", nargs="*", metavar="WHEN TASK", help=when)
    add_json(parser)
    add_work(parser)
    add_system(parser)


def id_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("id", type=some_id, metavar="ID", help="of the schedule, or its beginning")


FEATURE = Feature(
    "schedule",
    "tasks that run at fixed times",
    commands=(
        Command(
            "schedule",
            "Run a task at fixed times",
            Lazy(f"{__name__}:schedule_arguments"),
            _here("command:schedule_command"),
            "[WHEN TASK]",
            group="Change code",
        ),
        Command(
            "schedule remove",
            "Stop running a scheduled task",
            Lazy(f"{__name__}:id_arguments"),
            _here("command:remove_command"),
            "ID",
            group="Change code",
        ),
        Command(
            "schedule run",
            "Run a scheduled task now",
            Lazy(f"{__name__}:id_arguments"),
            _here("command:run_command"),
            "ID",
            group="Change code",
        ),
    ),
    events=(_here("schedules:Scheduled"),),
)
