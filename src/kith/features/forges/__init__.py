"""Forges: reviews on pull requests, and issues that become branches, on GitHub, GitLab and Gitea."""

import argparse
from typing import Annotated, Literal

from msgspec import Meta, Struct

from kith.core.feature import Command, Feature, Lazy, lazy_in
from kith.terminal.options import add_folder, add_json, add_work, add_yes

_here = lazy_in(__name__)


class ForgesSettings(Struct, frozen=True):
    """The settings of `kith comment` and `kith issue`: the forge of each kind, and what is done unasked."""

    github: str = "https://github.com"  # GitHub Enterprise Server has an address of its own
    gitlab: str = "https://gitlab.com"
    gitea: str = ""  # also Forgejo, such as https://codeberg.org
    publish: Literal["ask", "always", "never"] = "ask"  # push the branch of an issue, and open a draft
    comments: Annotated[int, Meta(ge=0)] = 25  # new comments on lines, each time


FEATURE = Feature(
    "forges",
    "GitHub, GitLab and Gitea: reviews as comments, issues as branches",
    settings=Lazy(f"{__name__}:ForgesSettings"),
    commands=(
        Command(
            "comment",
            "Post a review to a pull request",
            Lazy(f"{__name__}:comment_arguments"),
            _here("post:comment_command"),
            "URL [FILE]",
            group="Change code",
        ),
        Command(
            "issue",
            "Turn an issue into a branch",
            Lazy(f"{__name__}:issue_arguments"),
            _here("issue:issue_command"),
            "URL | FILE",
            group="Change code",
        ),
    ),
)


# The options of its commands.


def comment_arguments(parser: argparse.ArgumentParser) -> None:
    add_folder(parser)
    add = parser.add_argument
    add("url", metavar="URL", help="the pull request or merge request")
    what = "what kith review --save-json wrote (-: standard input)"
    add("file", metavar="FILE", nargs="?", default="-", help=what)
    add("--dry-run", action="store_true", help="print the comments, and post nothing")


def issue_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("issue", metavar="URL | FILE", help="the issue on a forge, or a Markdown file")
    add_yes(parser)
    add("--push", action="store_true", help="push the branch and open a draft without asking")
    add_json(parser)
    add_work(parser)
