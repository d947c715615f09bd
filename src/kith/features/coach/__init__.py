"""How each model wants to be asked: proposals, trials on recorded tasks, and what comes of them."""

from kith.core.feature import Command, Feature, lazy_in

_here = lazy_in(__name__)

FEATURE = Feature(
    "coach",
    "how each model is asked: ways tried on recorded tasks, adopted when they win",
    needs=("measure",),
    extends={"measure": _here("profile:PART")},
    settings=_here("settings:CoachSettings"),
    commands=(
        Command(
            "coach",
            "Show how each model is asked",
            _here("arguments:coach"),
            _here("command:coach_command"),
            group="Measure",
        ),
        Command(
            "coach run",
            "Try other ways on recorded tasks",
            _here("arguments:coach_run"),
            _here("command:run_command"),
        ),
        Command(
            "coach undo",
            "Restore the way used before",
            _here("arguments:coach_one"),
            _here("command:undo_command"),
            "ID",
        ),
        Command(
            "coach adopt",
            "Adopt a way that live work tries",
            _here("arguments:coach_one"),
            _here("command:adopt_command"),
            "ID",
        ),
    ),
    adapt=_here("adaptation:adapt"),
    settle=_here("adoption:settle_live"),
)
