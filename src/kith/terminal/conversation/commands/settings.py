"""Show and change modes, settings, roles, skills and hooks."""

from collections.abc import Callable
from typing import Any, Final, get_args

from kith.agent.asking.cast import is_small_model
from kith.agent.asking.roles import RoleSpec, find_role, has_own, role_names
from kith.agent.knowledge import gather
from kith.agent.roles import is_small
from kith.core.errors import UsageError
from kith.core.feature import Lazy, SlashCommand
from kith.settings import describe_settings
from kith.settings.files import find_file
from kith.terminal.config import find_rows
from kith.terminal.conversation.modes import MEANINGS, MODES, Mode
from kith.terminal.conversation.slash_commands import split_arguments
from kith.terminal.conversation.talk import Talk, read_settings
from kith.terminal.rendering.panels import pairs_lines
from kith.view.lines import from_home
from kith.view.printing import printable

# Loaded with the libraries that keep comments in a file, when something is set.
_set_setting: Final[Lazy[Callable[..., Any]]] = Lazy("kith.settings.write:set_setting")

COMMANDS: Final = (
    SlashCommand(
        "mode",
        "kith",
        "ask, plan (read-only) or auto (Shift-Tab)",
        Lazy(f"{__name__}:mode"),
        rest="[MODE]",
        anytime=True,
        takes="mode",
        more="ask: kith asks about hosts and tool servers, then about the change. plan: the model reads "
        "and answers, and changes nothing. auto: kith refuses what it would ask about, and asks once, "
        "about the change.",
    ),
    SlashCommand(
        "config",
        "kith",
        "show settings and their origin, or set one",
        Lazy(f"{__name__}:config"),
        rest="[KEY [VALUE]]",
        bare=True,
        takes="setting",
        more="KEY shows that one, or all of its table; `all` shows everything. A VALUE is written "
        "into your configuration, and counts from now on.",
    ),
    SlashCommand(
        "roles",
        "kith",
        "list the roles, or show the prompt of one",
        Lazy(f"{__name__}:roles"),
        rest="[NAME]",
        anytime=True,
        takes="role",
    ),
    SlashCommand(
        "skills",
        "kith",
        "what models can read up on here",
        Lazy(f"{__name__}:skills"),
        rest="[NAME]",
        anytime=True,
        takes="skill",
    ),
    SlashCommand(
        "hooks", "kith", "commands that run around the work", Lazy(f"{__name__}:hooks"), anytime=True
    ),
)


_ALL: Final = "all"
_CHARS: Final = 4  # of a token, about
_POLICIES: Final = {
    "read-only": "looks only",
    "trial": "works in the trial",
    "tests": "writes tests only",
    "code": "writes no tests",
}


async def mode(talk: Talk, rest: str) -> None:
    """Choose a mode, or show what there is. Raises UsageError."""
    wanted: Mode | None = next((each for each in MODES if each == rest), None)
    if rest and wanted is None:
        raise UsageError(f"There is no mode {rest!r}; there are: {', '.join(get_args(Mode))}.")
    if wanted:
        talk.set_mode(wanted)
        talk.say(f"{wanted} mode: {MEANINGS[wanted]}.")
        return
    rows = [(f"{'> ' if each == talk.mode else '  '}{each}", MEANINGS[each]) for each in MODES]
    talk.terminal.show_lines(pairs_lines(rows, talk.terminal.width))


# --- settings --------------------------------------------------------------------------------


async def config(talk: Talk, rest: str) -> None:
    """All settings, some of them, or a new value for one. Raises UsageError."""
    key, _, value = rest.partition(" ")
    if key in ("set", "get") and value:  # as `kith config` has it
        key, _, value = value.strip().partition(" ")
    if value:
        await _set(talk, key, value)
        return
    every = describe_settings(talk.project.settings)
    chosen = [row for row in every if row[2] != "default"]
    found = find_rows(every, key) if key not in ("", _ALL) else every if key else chosen
    rows = [(name, f"{said}  ({from_home(origin)})") for name, said, origin in found]
    talk.terminal.show_lines(pairs_lines(rows, talk.terminal.width))
    if not key:
        talk.say(f"\n{len(every) - len(chosen)} more have their defaults: /config {_ALL}", "dim")


async def _set(talk: Talk, key: str, value: str) -> None:
    """A value into the person's own file. Raises UsageError for one that it cannot have."""
    file = find_file(talk.project.settings.config)
    _set_setting.load()(file, key, split_arguments(value), project=False)
    await read_settings(talk)
    talk.say(f"It stands in {printable(from_home(str(file)))} now.", "dim")
    for name, said, origin in describe_settings(talk.project.settings):
        if name == key:
            held = "" if origin == str(file) else f", since {from_home(origin)} says so"
            talk.say(printable(f"{name} is {said} here{held}."), "yellow" if held else "green")


# --- who works, and what they know -----------------------------------------------------------


async def roles(talk: Talk, rest: str) -> None:
    """List the roles, or show the prompt of one. Raises UsageError."""
    chosen = talk.project.settings
    if rest:
        if rest not in role_names():
            raise UsageError(f"There is no role {rest!r}; there are: {', '.join(role_names())}.")
        spec = find_role(rest, chosen)
        talk.say(f"{spec.name}: {printable(spec.purpose)}", "bold")
        talk.say(f"  {printable(_may(spec))}", "dim")
        small = _gets_short(talk, rest)
        talk.say(printable((spec.small_words if small else spec.words).strip()))
        if small:
            talk.say("\nThese are the short instructions, for a small model or window.", "dim")
        return
    rows = []
    for name in role_names():
        spec = find_role(name, chosen)
        whose = "in your own words; " if has_own(name, chosen) else ""
        rows.append((name, f"{whose}{spec.purpose}; {_may(spec)}"))
    talk.terminal.show_lines(pairs_lines(rows, talk.terminal.width))
    if short := [name for name in role_names() if _gets_short(talk, name)]:
        talk.say(f"\nShort instructions, for a small model or window: {', '.join(short)}.", "dim")
    talk.say(f"\nYour own are in {from_home(str(chosen.roles))}. More about one: /roles NAME", "dim")


def _gets_short(talk: Talk, name: str) -> bool:
    """True if the model of the conversation gets a role's short instructions."""
    opened = talk.opened
    return opened is not None and (is_small(opened.window) or (name != "worker" and is_small_model(opened)))


def _may(spec: RoleSpec) -> str:
    """The rights and tools of a role."""
    tools = ", ".join(spec.tools) or "no tools"
    model = f", played by {spec.model}" if spec.model else ""
    return f"{_POLICIES.get(spec.policy, spec.policy)} ({tools}){model}"


async def skills(talk: Talk, rest: str) -> None:
    """List the skills, or show the text of one. Raises UsageError."""
    known = gather(talk.project.settings)
    for fault in known.faults:
        talk.say(printable(fault), "yellow")
    if rest:
        found = next((each for each in known.skills if each.name == rest), None)
        if found is None:
            raise UsageError(f"There is no skill {rest!r}; /skills lists them.")
        talk.say(f"{printable(found.name)}: {printable(found.about)}", "bold")
        talk.say(printable(found.words.strip()))
        return
    if not known.skills:
        talk.say("There are no skills here. One is a folder with a SKILL.md, in .kith/skills or your own.")
        return
    rows = [
        (each.name, f"{each.about} ({len(each.words) // _CHARS:,} tokens, {from_home(each.folder)})")
        for each in known.skills
    ]
    talk.terminal.show_lines(pairs_lines(rows, talk.terminal.width))


async def hooks(talk: Talk, rest: str) -> None:
    """The commands that run around the work."""
    found = talk.project.settings.hooks
    if not found:
        talk.say("There are no hooks; [[hooks]] in your configuration names them.")
        return
    where = {"machine": "on this machine", "trial": "in the trial"}
    rows = []
    for each in found:
        about = f" {', '.join(each.tool)}" if each.tool != ("*",) else ""
        rows.append((f"{each.on}{about}", f"{each.command}  ({where[each.where]}, {each.place})"))
    talk.terminal.show_lines(pairs_lines(rows, talk.terminal.width))
