"""The Agent Client Protocol: editors such as Zed, JetBrains' IDEs, Neovim and Emacs drive kith over stdio."""

import argparse

from kith.core.feature import Command, Feature, Lazy, lazy_in
from kith.terminal.options import add_cloud, add_engine, add_offline, add_sampling

_here = lazy_in(__name__)

FEATURE = Feature(
    "editors",
    "conversations in Zed, JetBrains' IDEs, Neovim and Emacs (ACP)",
    needs=("route",),
    commands=(
        Command(
            "acp",
            "Connect an editor (ACP)",
            Lazy(f"{__name__}:acp_arguments"),
            _here("command:acp_command"),
            group="Serve",
        ),
    ),
)


# The options of its commands.


def acp_arguments(parser: argparse.ArgumentParser) -> None:
    """The editor says in which folder."""
    add = parser.add_argument
    add("-m", "--model", metavar="NAME", help="which model to ask, such as ollama/qwen3:8b; or route")
    add("--check", action="append", metavar="CMD", help="a command that must succeed; `none` for no check")
    add("--read-only", action="store_const", const=True, help="look and answer, change nothing")
    add_offline(parser)
    add_cloud(parser.add_argument_group("which models"), "one task")
    add_sampling(parser)
    add_engine(parser)
