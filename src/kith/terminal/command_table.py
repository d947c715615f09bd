"""Every command of the command line: those of the main job, and those of the features that are on."""

from collections.abc import Mapping
from functools import cache
from typing import Final

from kith.core.feature import Command, lazy_in
from kith.settings.features import features

_here = lazy_in("kith.terminal")

TALK: Final = Command("", "", _here("command_arguments:talk"), _here("conversation.app:talk_command"))
_KERNEL: Final = (
    Command(
        "run",
        "do one task: a tested diff comes out, you say yes",
        _here("command_arguments:run"),
        _here("run:run_command"),
        "[TASK ...]",
    ),
    Command(
        "status",
        "show the check, waiting changes, and how a build stands",
        _here("command_arguments:status"),
        _here("status:status_command"),
        "[ID]",
    ),
    Command(
        "templates",
        "list common tasks to fill in",
        _here("command_arguments:templates"),
        _here("templates:templates_command"),
    ),
    Command("edits", "apply edits that any model wrote"),
    Command(
        "edits apply",
        "print the diff of a reply on standard input, or write it",
        _here("edits_arguments:apply"),
        _here("edits:apply_command"),
    ),
    Command(
        "diff",
        "show a change that was not applied",
        _here("command_arguments:diff"),
        _here("changes:diff_command"),
        "[ID]",
    ),
    Command(
        "apply",
        "check a change that was not applied, and apply it",
        _here("command_arguments:apply"),
        _here("changes:apply_command"),
        "[ID]",
    ),
    Command(
        "undo",
        "take an applied change back",
        _here("command_arguments:undo"),
        _here("changes:undo_command"),
        "[ID]",
    ),
    Command(
        "sessions",
        "list what was done, newest first",
        _here("command_arguments:sessions"),
        _here("sessions:sessions_command"),
        "[WORD ...]",
    ),
    Command(
        "sessions turns",
        "list what was said in one",
        _here("command_arguments:turns"),
        _here("one_session:turns_command"),
        "ID",
    ),
    Command(
        "sessions fork",
        "copy a conversation, up to a turn of it",
        _here("command_arguments:fork"),
        _here("one_session:fork_command"),
        "ID",
    ),
    Command(
        "sessions rename",
        "give one a name",
        _here("command_arguments:rename"),
        _here("one_session:rename_command"),
        "ID NAME",
    ),
    Command(
        "sessions delete",
        "forget some for good",
        _here("command_arguments:delete"),
        _here("one_session:delete_command"),
        "ID ...",
    ),
    Command(
        "models",
        "list the models that can be asked",
        _here("command_arguments:models"),
        _here("models:models_command"),
    ),
    Command(
        "models recommend",
        "say what fits this machine, and how to get it",
        _here("command_arguments:recommend"),
        _here("models:recommend_command"),
    ),
    Command(
        "models prices",
        "show what models in the cloud cost",
        _here("command_arguments:prices"),
        _here("models:prices_command"),
    ),
    Command(
        "config",
        "show every setting and where it came from",
        _here("command_arguments:config_show"),
        _here("config:config_command"),
    ),
    Command(
        "config get",
        "print the value of a setting",
        _here("command_arguments:config_get"),
        _here("config:get_command"),
        "KEY",
    ),
    Command(
        "config set",
        "write a setting into your configuration",
        _here("command_arguments:config_set"),
        _here("config:set_command"),
        "KEY VALUE ...",
    ),
    Command(
        "config unset",
        "take a setting out of your configuration",
        _here("command_arguments:config_unset"),
        _here("config:unset_command"),
        "KEY",
    ),
    Command(
        "trust",
        "show what a folder brings along for kith, and let it count",
        _here("command_arguments:trust"),
        _here("trust:trust_command"),
    ),
    Command(
        "permits",
        "list commands that you allowed for good, and forget them",
        _here("command_arguments:permits"),
        _here("permits:permits_command"),
    ),
    Command(
        "completion",
        "print a script that completes names in your shell",
        _here("command_arguments:completion"),
        _here("shell_completion:completion_command"),
        "bash|zsh|fish",
    ),
    Command(
        "features",
        "list the features of kith, and which of them are on",
        _here("command_arguments:features"),
        _here("features:features_command"),
    ),
    Command(
        "features on",
        "switch features on",
        _here("command_arguments:switch"),
        _here("features:on_command"),
        "NAME ...",
    ),
    Command(
        "features off",
        "switch features off",
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


def parts_of(name: str) -> list[str]:
    """The words that may follow a command's name, each to make another command."""
    return [each.removeprefix(f"{name} ") for each in commands() if name and each.startswith(f"{name} ")]
