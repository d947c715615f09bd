"""Tune how each model is asked: proposals, trials on recorded tasks, and their results."""

from kith.core.feature import Command, Feature, lazy_in

_here = lazy_in(__name__)

FEATURE = Feature(
    "coach",
    "tune how each model is asked, by trials on recorded tasks",
    needs=("measure",),
    extends={"measure": _here("profile:PART")},
    settings=_here("settings:CoachSettings"),
    commands=(
        Command(
            "coach",
            "show how each model is asked, and what was tried",
            _here("arguments:coach"),
            _here("command:coach_command"),
        ),
        Command(
            "coach run",
            "try other strategies for a local model on recorded tasks",
            _here("arguments:coach_run"),
            _here("command:run_command"),
        ),
        Command(
            "coach undo",
            "undo a strategy; the one before is used again",
            _here("arguments:coach_one"),
            _here("command:undo_command"),
            "ID",
        ),
        Command(
            "coach adopt",
            "adopt a strategy that is on trial",
            _here("arguments:coach_one"),
            _here("command:adopt_command"),
            "ID",
        ),
    ),
    adapt=_here("adaptation:adapt"),
    settle=_here("adoption:settle_live"),
)
