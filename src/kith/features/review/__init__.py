"""A review: what is wrong with a change, each finding held against the lines that it speaks of."""

import argparse

from kith.core.feature import Command, Feature, Lazy, SlashCommand, lazy_in
from kith.terminal.options import add_engine, add_folder, add_offline, add_sampling, add_yes, positive

_here = lazy_in(__name__)

FEATURE = Feature(
    "review",
    "review a change; each finding is checked against its lines",
    commands=(
        Command(
            "review",
            "Review a change and suggest fixes",
            Lazy(f"{__name__}:review_arguments"),
            _here("command:review_command"),
            "[COMMIT]",
            group="Change code",
        ),
    ),
    slash_commands=(
        SlashCommand(
            "review",
            "Work",
            "review a change and suggest fixes",
            _here("conversation:review"),
            rest="[COMMIT]",
            more="Without a COMMIT (or a range such as main..HEAD) it is what is not committed. Linters "
            "and the model look; what holds is shown, and the model knows it with your next words. "
            "--apply proposes what was suggested as one change.",
        ),
    ),
    notes=_here("notes:tell_notes"),
)


# The options of its commands.


def review_arguments(parser: argparse.ArgumentParser) -> None:
    add_folder(parser)
    what = "a commit or a range such as main..HEAD (what is not committed)"
    parser.add_argument("revision", nargs="?", metavar="COMMIT", help=what)
    add = parser.add_argument
    add("--staged", action="store_true", help="the staged changes")
    add("--branch", metavar="BASE", help="the commits of HEAD since BASE")
    add("--patch", metavar="FILE", help="a diff, applied already or not; - reads it from stdin")
    add("-m", "--model", metavar="NAME", help="which model to ask, such as ollama/qwen3:8b")
    add("--no-model", action="store_true", help="linters and kith's own rules only")
    add("--second-look", action="store_true", help="ask the model twice about each error")
    add("--fail-on", choices=("error", "warning", "note", "never"), default="error",
        help="the lowest severity with exit code 1 (error)")  # fmt: skip
    add("--max", type=positive, metavar="N", help="show the worst N findings")
    add("--apply", action="store_true", help="propose the suggestions as one change, checked and asked about")
    add_yes(parser)
    add("--check", action="append", metavar="CMD", help="a command that must succeed; `none` for no check")
    forms = parser.add_mutually_exclusive_group()
    forms.add_argument("--json", action="store_true", help="as JSON")
    forms.add_argument("--sarif", action="store_true", help="as SARIF 2.1.0, for code hosts and editors")
    add("--save-json", metavar="FILE", help="also write the JSON to FILE")
    add("--save-sarif", metavar="FILE", help="also write the SARIF to FILE")
    add_offline(parser)
    add_sampling(parser)
    add_engine(parser)
