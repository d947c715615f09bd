"""Decisions from measurements: which model to ask, how to ask it, how long it takes, when to ask several."""

from kith.core.feature import Command, Feature, SlashCommand, lazy_in

_here = lazy_in(__name__)

FEATURE = Feature(
    "route",
    "choose the models of a task from measurements",
    needs=("build", "measure"),
    commands=(
        Command(
            "why",
            "show why these models were asked",
            _here("arguments:why"),
            _here("command:why_command"),
            "[ID]",
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
