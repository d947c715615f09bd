"""What a person can choose in an editor: how much kith asks, which model it asks, and commands."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from acp.schema import (
    AvailableCommand,
    AvailableCommandInput,
    AvailableCommandsUpdate,
    SessionConfigOptionBoolean,
    SessionConfigOptionSelect,
    SessionConfigSelectOption,
    SessionMode,
    SessionModeState,
    UnstructuredCommandInput,
)

Options = list[SessionConfigOptionSelect | SessionConfigOptionBoolean]  # as acp types them

DEFAULT_MODEL: Final = "default"  # what the settings say


@dataclass(frozen=True, slots=True)
class Way:
    """How a task is done: `plan` first and ask about it, or look and change nothing."""

    id: str
    name: str
    description: str
    plans: bool = False
    read_only: bool = False


AUTO = Way("auto", "Auto", "Work in a trial, where everything goes, and ask once before anything is applied")
ASK = Way("ask", "Ask", "Plan first and ask about the plan, then work and ask about the change", plans=True)
PLAN = Way("plan", "Plan", "Only read and answer; nothing is changed", read_only=True)
WAYS: Final = {way.id: way for way in (AUTO, ASK, PLAN)}

# Name, what it does, and the words that follow it ("" for none).
COMMANDS: Final = {
    "plan": ("Plan first, and ask about the plan", "what to do"),
    "undo": ("Take an applied change back", "a change's id (the last one)"),
    "diff": ("Show the last change of this conversation", ""),
    "why": ("Say which models were asked here, and why", ""),
    "resume": ("Go on with a task that was interrupted", ""),
}


def mode_state(way: Way) -> SessionModeState:
    """The modes, for editors that know no other choices."""
    modes = [SessionMode(id=each.id, name=each.name, description=each.description) for each in WAYS.values()]
    return SessionModeState(current_mode_id=way.id, available_modes=modes)


def config_options(way: Way, model: str, models: Sequence[str], default: str) -> Options:
    """The mode and the model; `default` is the model of the settings, "" where kith takes the first one."""
    ways = [
        SessionConfigSelectOption(value=each.id, name=each.name, description=each.description)
        for each in WAYS.values()
    ]
    names = list(dict.fromkeys([*models, *filter(None, [model])]))
    first = SessionConfigSelectOption(value=DEFAULT_MODEL, name=f"Default ({default or 'the first found'})")
    known = [first, *(SessionConfigSelectOption(value=name, name=name) for name in names)]
    return [
        _select("mode", "Mode", way.id, ways),
        _select("model", "Model", model or DEFAULT_MODEL, known),
    ]


def _select(
    id: str, name: str, value: str, options: list[SessionConfigSelectOption]
) -> SessionConfigOptionSelect:
    return SessionConfigOptionSelect(
        id=id,
        name=name,
        category="mode" if id == "mode" else "model",
        type="select",
        current_value=value,
        options=options,
    )


def commands_update() -> AvailableCommandsUpdate:
    """The commands that a prompt may begin with."""
    known = [
        AvailableCommand(name=name, description=meaning, input=_input(hint))
        for name, (meaning, hint) in COMMANDS.items()
    ]
    return AvailableCommandsUpdate(session_update="available_commands_update", available_commands=known)


def _input(hint: str) -> AvailableCommandInput | None:
    return AvailableCommandInput(UnstructuredCommandInput(hint=hint)) if hint else None


def split_command(words: str) -> tuple[str, str]:
    """The command that a prompt begins with and what follows it; ("", words) for a task."""
    name, _, rest = words.removeprefix("/").partition(" ")
    if words.startswith("/") and name.strip() in COMMANDS:
        return name.strip(), rest.strip()
    return "", words
