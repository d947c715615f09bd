"""A feature for kith: `kith todos`, `/todos`, and a gate against new TODO comments."""

from kith.core.feature import Command, Feature, SlashCommand, lazy_in

_here = lazy_in(__name__)

FEATURE = Feature(
    "todos",
    "lists TODO comments, and sends back a change that leaves new ones behind",
    gates=(_here("todos:no_new_todos"),),
    settings=_here("todos:TodoSettings"),
    commands=(
        Command("todos", "list TODO comments", _here("todos:add_arguments"), _here("todos:todos_command")),
    ),
    slash_commands=(
        SlashCommand("todos", "Work", "list TODO comments", _here("todos:show_todos"), anytime=True),
    ),
)
