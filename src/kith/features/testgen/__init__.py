"""Tests written by a model and kept by what they prove: they pass on the code and notice planted faults."""

from kith.core.feature import Command, Feature, SlashCommand, lazy_in

_here = lazy_in(__name__)

FEATURE = Feature(
    "testgen",
    "tests that notice planted faults, and what present tests are worth",
    needs=("review",),
    commands=(
        Command(
            "test",
            "Write tests, verified by mutation testing",
            _here("arguments:testgen"),
            _here("command:testgen_command"),
            "[TARGET]",
            group="Change code",
        ),
    ),
    slash_commands=(
        SlashCommand(
            "test",
            "Work",
            "write tests that notice planted faults",
            _here("conversation:test"),
            rest="[TARGET]",
            takes="file",
            more="TARGET is a file, file::function or file::Class.method; without one: what is not "
            "committed.",
        ),
    ),
)
