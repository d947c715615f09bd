"""Describe a codebase without a model, from what is in each file to one report."""

from kith.core.feature import Command, Feature, SlashCommand, lazy_in

_here = lazy_in(__name__)

FEATURE = Feature(
    "scan",
    "what a codebase is, without a model",
    commands=(
        Command(
            "scan",
            "Describe a codebase without a model",
            _here("arguments:scan"),
            _here("command:scan_command"),
            "[PATH]",
            group="Measure",
        ),
        Command(
            "init",
            "Write AGENTS.md from a scan",
            _here("arguments:init"),
            _here("init_command:init_command"),
            group="Change code",
        ),
    ),
    slash_commands=(
        SlashCommand(
            "init",
            "Work",
            "write an AGENTS.md from a scan",
            _here("conversation:init"),
            more="Commands, layout and conventions that were found; you see the diff, and say yes or no.",
        ),
    ),
)
