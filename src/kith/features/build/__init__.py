"""A request becomes tested code: roles propose, tests decide, and a table says what comes next."""

from kith.core.feature import Command, Feature, lazy_in

_here = lazy_in(__name__)

FEATURE = Feature(
    "build",
    "from a request to tested code: roles propose, tests decide",
    needs=("measure",),
    extends={"measure": _here("profile:PART"), "web": _here("page:PART")},
    status=_here("command:STATUS"),
    commands=(
        Command(
            "build",
            "Turn a request into tested code",
            _here("arguments:build"),
            _here("command:build_command"),
            "[REQUEST ...]",
            group="Change code",
        ),
    ),
    kinds={"build": _here("builds:SESSION_KIND")},
)
