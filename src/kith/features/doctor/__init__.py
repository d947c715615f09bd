"""`kith doctor`: check kith's environment, and name the command that fixes each problem."""

from kith.core.feature import Command, Feature, SlashCommand, lazy_in

_here = lazy_in(__name__)

FEATURE = Feature(
    "doctor",
    "examines the machine, its model servers and the sandbox",
    needs=("engine",),
    commands=(
        Command(
            "doctor",
            "check servers, sandbox and folders",
            _here("arguments:doctor"),
            _here("command:doctor_command"),
        ),
    ),
    slash_commands=(
        SlashCommand("doctor", "kith", "check servers, sandbox and folders", _here("conversation:doctor")),
    ),
)
