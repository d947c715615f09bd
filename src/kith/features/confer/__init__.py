"""Models that confer before anybody writes: proposals, claims that tools check, one revision, a decision."""

import argparse
from typing import Annotated

from msgspec import Meta, Struct

from kith.core.feature import Command, Feature, Lazy, SlashCommand, lazy_in
from kith.terminal.options import add_cloud, add_folder, add_json, add_offline, add_sampling, add_yes

_here = lazy_in(__name__)

FEATURE = Feature(
    "confer",
    "several models propose, claim and revise; tools and tests decide",
    needs=("measure", "review", "route"),
    extends={"web": _here("page:PART")},
    lines=_here("council_lines:council_lines"),
    settings=Lazy(f"{__name__}:ConferSettings"),
    commands=(
        Command(
            "confer",
            "Ask several models, and check their claims",
            Lazy(f"{__name__}:confer_arguments"),
            _here("command:confer_command"),
            "[QUESTION ...]",
            group="Change code",
        ),
    ),
    slash_commands=(
        SlashCommand(
            "panel",
            "Work",
            "let several models confer",
            _here("conversation:panel"),
            rest="WORDS",
            more="Tools check what they claim, and the next task knows the outcome. Esc once lets them "
            "decide. Who confers: /config confer.models",
        ),
    ),
    panels=_here("panel:RolePanels"),
    kinds={"confer": _here("session:KIND")},
)


# The options of its commands.


def confer_arguments(parser: argparse.ArgumentParser) -> None:
    add_folder(parser)
    add = parser.add_argument
    add("question", nargs="*", metavar="QUESTION", help="what to decide, to answer or to do")
    add("--models", metavar="A,B", help="two or three models, as after -m (confer.models)")
    add("--judge", metavar="NAME", help="the judge where nothing can be tested (confer.judge)")
    add("--apply", action="store_true", help="carry the plan out, tested and asked about")
    add_yes(parser)
    add("--check", action="append", metavar="CMD", help="a command that must succeed; `none` for no check")
    add("--show", metavar="ID", help="show an earlier council of a session, ask nobody")
    add_cloud(parser, "a council")
    add_sampling(parser)
    add_offline(parser)
    add_json(parser)


# Its settings.


class ConferSettings(Struct, frozen=True):
    """The default members of a council, and its limits."""

    models: tuple[str, ...] = ()
    tokens: Annotated[int, Meta(ge=500)] = 20_000  # of one council, read and written
    judge: str = ""  # who decides where nothing can be tested; none: the first of the council
