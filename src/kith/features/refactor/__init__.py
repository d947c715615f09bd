"""Refactoring: what could be better, by numbers, and doing it with the project's checks as the judge."""

from kith.core.feature import Command, Feature, lazy_in

_here = lazy_in(__name__)

FEATURE = Feature(
    "refactor",
    "what could be better, and refactorings by syntax tree or by a model",
    edits=_here("by_syntax:EDITS"),
    needs=("scan", "testgen"),
    commands=(
        Command(
            "refactor",
            "Suggest refactorings, or apply one",
            _here("arguments:refactor"),
            _here("command:refactor_command"),
            "[PATH | ACTION ... | WORDS]",
            group="Change code",
        ),
    ),
)
