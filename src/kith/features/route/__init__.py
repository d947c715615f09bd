"""Decisions from measurements: which model to ask, how to ask it, how long it takes, when to ask several."""

from kith.core.feature import Command, Feature, SlashCommand, lazy_in

_here = lazy_in(__name__)

FEATURE = Feature(
    "route",
    "which models a task goes to, learned from what was measured",
    needs=("build", "measure"),
    commands=(
        Command(
            "why",
            "Explain which models were chosen",
            _here("arguments:why"),
            _here("command:why_command"),
            "[ID]",
            group="Look back",
        ),
    ),
    slash_commands=(
        SlashCommand(
            "why",
            "Models",
            "which models were asked here, and why",
            _here("conversation:why"),
            rest="[ID]",
            anytime=True,
            takes="session",
        ),
    ),
    router=_here("router:ROUTER"),
)
