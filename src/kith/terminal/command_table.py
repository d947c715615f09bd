"""Every command of the command line: those of the main job, and those of the features that are on."""

from collections.abc import Mapping
from functools import cache
from typing import Final, get_args

from kith.core.feature import Command, CommandGroup, lazy_in
from kith.settings.features import features

_here = lazy_in("kith.terminal")

TALK: Final = Command(
    "",
    "Open a conversation in this folder",
    _here("command_arguments:talk"),
    _here("conversation.app:talk_command"),
    "[TASK ...]",
    group="Every day",
)
_KERNEL: Final = (
    Command(
        "run",
        "Do one task, then ask before applying",
        _here("command_arguments:run"),
        _here("run:run_command"),
        "[TASK ...]",
        group="Every day",
    ),
    Command(
        "status",
        "Show checks, waiting changes and builds",
        _here("command_arguments:status"),
        _here("status:status_command"),
        "[ID]",
        group="Look back",
    ),
    Command(
        "templates",
        "List templates for common tasks",
        _here("command_arguments:templates"),
        _here("templates:templates_command"),
        group="Change code",
    ),
    Command("edits", "Apply edits written by any model", group="Change code"),
    Command(
        "edits apply",
        "Print or write the edits of a reply",
        _here("edits_arguments:apply"),
        _here("edits:apply_command"),
    ),
    Command(
        "diff",
        "Show a change that was not applied",
        _here("command_arguments:diff"),
        _here("changes:diff_command"),
        "[ID]",
        group="Look back",
    ),
    Command(
        "apply",
        "Check and apply a waiting change",
        _here("command_arguments:apply"),
        _here("changes:apply_command"),
        "[ID]",
        group="Look back",
    ),
    Command(
        "undo",
        "Undo an applied change",
        _here("command_arguments:undo"),
        _here("changes:undo_command"),
        "[ID]",
        group="Every day",
    ),
    Command(
        "sessions",
        "List sessions, newest first",
        _here("command_arguments:sessions"),
        _here("sessions:sessions_command"),
        "[WORD ...]",
        group="Every day",
    ),
    Command(
        "sessions turns",
        "List the turns of a session",
        _here("command_arguments:turns"),
        _here("one_session:turns_command"),
        "ID",
    ),
    Command(
        "sessions fork",
        "Copy a session, up to a turn",
        _here("command_arguments:fork"),
        _here("one_session:fork_command"),
        "ID",
    ),
    Command(
        "sessions rename",
        "Rename a session",
        _here("command_arguments:rename"),
        _here("one_session:rename_command"),
        "ID NAME",
    ),
    Command(
        "sessions delete",
        "Delete sessions for good",
        _here("command_arguments:delete"),
        _here("one_session:delete_command"),
        "ID ...",
    ),
    Command(
        "models",
        "List the models you can use",
        _here("command_arguments:models"),
        _here("models:models_command"),
        group="Models",
    ),
    Command(
        "models recommend",
        "Recommend models for this machine",
        _here("command_arguments:recommend"),
        _here("models:recommend_command"),
    ),
    Command(
        "models prices",
        "Show the prices of cloud models",
        _here("command_arguments:prices"),
        _here("models:prices_command"),
    ),
    Command(
        "config",
        "Show every setting and its origin",
        _here("command_arguments:config_show"),
        _here("config:config_command"),
        group="Configure",
    ),
    Command(
        "config get",
        "Print a setting",
        _here("command_arguments:config_get"),
        _here("config:get_command"),
        "KEY",
    ),
    Command(
        "config set",
        "Write a setting to your configuration",
        _here("command_arguments:config_set"),
        _here("config:set_command"),
        "KEY VALUE ...",
    ),
    Command(
        "config unset",
        "Remove a setting from your configuration",
        _here("command_arguments:config_unset"),
        _here("config:unset_command"),
        "KEY",
    ),
    Command(
        "trust",
        "Review and trust a folder's configuration",
        _here("command_arguments:trust"),
        _here("trust:trust_command"),
        group="Configure",
    ),
    Command(
        "permits",
        "List or revoke commands allowed for good",
        _here("command_arguments:permits"),
        _here("permits:permits_command"),
        group="Configure",
    ),
    Command(
        "completion",
        "Print a shell completion script",
        _here("command_arguments:completion"),
        _here("shell_completion:completion_command"),
        "bash|zsh|fish",
        group="Configure",
    ),
    Command(
        "features",
        "List features, on or off",
        _here("command_arguments:features"),
        _here("features:features_command"),
        group="Configure",
    ),
    Command(
        "features on",
        "Switch features on",
        _here("command_arguments:switch"),
        _here("features:on_command"),
        "NAME ...",
    ),
    Command(
        "features off",
        "Switch features off",
        _here("command_arguments:switch"),
        _here("features:off_command"),
        "NAME ...",
    ),
)


@cache
def commands() -> Mapping[str, Command]:
    """The commands that there are by name, the parts of each behind it."""
    every = (*_KERNEL, *(each for feature in features() for each in feature.commands))
    wholes = dict.fromkeys(each.name.partition(" ")[0] for each in every)
    return {each.name: each for whole in wholes for each in every if each.name.split(" ")[0] == whole}


def groups() -> Mapping[CommandGroup, tuple[Command, ...]]:
    """The commands by the group in which the help lists them, without their parts."""
    every = (TALK, *(each for name, each in commands().items() if " " not in name))
    found = {group: tuple(each for each in every if each.group == group) for group in get_args(CommandGroup)}
    return {group: members for group, members in found.items() if members}


def parts_of(name: str) -> list[str]:
    """The words that may follow a command's name, each to make another command."""
    return [each.removeprefix(f"{name} ") for each in commands() if name and each.startswith(f"{name} ")]
