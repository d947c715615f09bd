"""Models for other programs: in the dialect of OpenAI, and in the roles of kith."""

import argparse

from kith.core.feature import Command, Feature, Lazy, lazy_in
from kith.terminal.options import add_cloud, add_engine, add_offline, number, port, positive

_here = lazy_in(__name__)

FEATURE = Feature(
    "gateway",
    "models for other programs: OpenAI's dialect, and `kith runtime`",
    needs=("route", "web"),
    extends={"web": _here("completions:PART")},
    commands=(
        Command(
            "runtime",
            "Serve a model to other machines",
            Lazy(f"{__name__}:runtime_arguments"),
            _here("runtime_command:runtime_command"),
            group="Serve",
        ),
    ),
)


# The options of its commands.


def runtime_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("-m", "--model", metavar="NAME", help="which model to serve, such as file/NAME (the first found)")
    add("--port", type=port, metavar="N", default=5485, help="which port; 0: any that is free (5485)")
    add_offline(parser)
    group = parser.add_argument_group("limits").add_argument
    group(
        "--parallel",
        type=number,
        metavar="N",
        default=0,
        help="answers at the same time (as many as it has slots)",
    )
    group("--queue", type=number, metavar="N", default=32, help="requests that may wait for them (32)")
    longest = "tokens of one answer (4096)"
    group("--max-tokens", dest="longest", type=positive, metavar="N", default=4096, help=longest)
    group("--max-seconds", type=positive, metavar="N", default=600, help="seconds of one answer (600)")
    add_cloud(parser.add_argument_group("models in the cloud"), "one request")
    others = parser.add_argument_group("for other machines").add_argument
    others("--host", metavar="ADDR", help="listen at this address (127.0.0.1: this machine only)")
    others("--token", metavar="TOKEN", help="needed with --host; better in KITH_RUNTIME_TOKEN")
    others("--allowed-host", action="append", metavar="NAME", help="a name it is reached by, through a proxy")
    add_engine(parser)
