"""A review: what is wrong with a change, each finding held against the lines that it speaks of."""

from kith.core.feature import Command, Feature, SlashCommand, lazy_in

_here = lazy_in(__name__)

FEATURE = Feature(
    "review",
    "what is wrong with a change, each finding held against its lines",
    commands=(
        Command(
            "review",
            "Review a change and suggest fixes",
            _here("arguments:review"),
            _here("command:review_command"),
            "[COMMIT]",
            group="Change code",
        ),
    ),
    slash_commands=(
        SlashCommand(
            "review",
            "Work",
            "say what is wrong with a change",
            _here("conversation:review"),
            rest="[COMMIT]",
            more="Without a COMMIT (or a range such as main..HEAD) it is what is not committed. Linters "
            "and the model look; what holds is shown, and the model knows it with your next words. "
            "--apply proposes what was suggested as one change.",
        ),
    ),
    notes=_here("notes:tell_notes"),
)
