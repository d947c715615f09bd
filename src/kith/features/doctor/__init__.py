"""`kith doctor`: looks at everything kith stands on, and names the command that mends what is broken."""

from kith.core.feature import Command, Feature, SlashCommand, lazy_in

_here = lazy_in(__name__)

FEATURE = Feature(
    "doctor",
    "examines the machine, its model servers and the sandbox",
    needs=("engine",),
    commands=(
        Command(
            "doctor",
            "Check servers, sandbox and folders",
            _here("arguments:doctor"),
            _here("command:doctor_command"),
            group="Every day",
        ),
    ),
    slash_commands=(
        SlashCommand("doctor", "kith", "check servers, sandbox and folders", _here("conversation:doctor")),
    ),
)
