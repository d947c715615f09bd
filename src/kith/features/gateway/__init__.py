"""Models for other programs: in the dialect of OpenAI, and in the roles of kith."""

from kith.core.feature import Command, Feature, lazy_in

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
            _here("arguments:runtime"),
            _here("runtime_command:runtime_command"),
            group="Serve",
        ),
    ),
)
