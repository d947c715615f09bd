"""Forges: reviews on pull requests, and issues that become branches, on GitHub, GitLab and Gitea."""

import argparse

from kith.core.feature import Command, Feature, Lazy, lazy_in
from kith.terminal.options import add_folder, add_json, add_work, add_yes

_here = lazy_in(__name__)

FEATURE = Feature(
    "forges",
    "GitHub, GitLab and Gitea: reviews as comments, issues as branches",
    settings=_here("settings:ForgesSettings"),
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
