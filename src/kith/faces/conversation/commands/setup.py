"""How kith works here: modes, settings, roles, skills, hooks, servers of tools, and whether all is well."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, get_args

from kith.core.errors import UsageError
from kith.faces.conversation.commands.columns import in_columns
from kith.faces.conversation.modes import MEANINGS, MODES, Mode
from kith.faces.lines import from_home, printable

if TYPE_CHECKING:
    from kith.faces.conversation.talk import Talk

_CHARS: Final = 4  # of a token, about


async def mode(talk: "Talk", rest: str) -> None:
    """Choose a mode, or show what there is. Raises UsageError."""
    wanted: Mode | None = next((each for each in MODES if each == rest), None)
    if rest and wanted is None:
        raise UsageError(f"There is no mode {rest!r}; there are: {', '.join(get_args(Mode))}.")
    if wanted:
        talk.set_mode(wanted)
        talk.say(f"{wanted} mode: {MEANINGS[wanted]}.")
        return
    rows = [(f"{'> ' if each == talk.mode else '  '}{each}", MEANINGS[each]) for each in MODES]
    talk.terminal.show_lines(in_columns(rows, talk.terminal.width))


# --- settings --------------------------------------------------------------------------------


async def config(talk: "Talk", rest: str) -> None:
    """All settings, some of them, or a new value for one. Raises UsageError."""
    key, _, value = rest.partition(" ")
    if key in ("set", "get") and value:  # as `kith config` has it
        key, _, value = value.strip().partition(" ")
    if value:
        from kith.settings.write import set_value

        path = set_value(key, value.strip())
        talk.read_settings()
        talk.say(f"{key} is {_shown(talk, key)} from now on; it stands in {from_home(str(path))}.", "green")
        return
    rows = _rows(talk, key)
    if not rows:
        from kith.settings.check import KEYS, unknown_key

        raise UsageError(unknown_key(key, list(KEYS)))
    talk.terminal.show_lines(in_columns(rows, talk.terminal.width))


def _rows(talk: "Talk", key: str) -> Sequence[tuple[str, str]]:
    from kith.settings import describe_settings

    every = describe_settings(talk.project.settings)
    wanted = [row for row in every if not key or row[0] == key or row[0].startswith(f"{key}.")]
    return [(name, f"{value}  ({from_home(origin)})") for name, value, origin in wanted]


def _shown(talk: "Talk", key: str) -> str:
    return next((printable(said.rpartition("  (")[0]) for name, said in _rows(talk, key) if name == key), "set")


# --- who works, and what they know -----------------------------------------------------------


async def roles(talk: "Talk", rest: str) -> None:
    """Who works here, or the words of one role. Raises UsageError."""
    from kith.app.asking.roles import find_role, has_own, role_names

    chosen = talk.project.settings
    if rest:
        if rest not in role_names():
            raise UsageError(f"There is no role {rest!r}; there are: {', '.join(role_names())}.")
        spec = find_role(rest, chosen)
        talk.say(f"{spec.name}: {printable(spec.purpose)}", "bold")
        about = [("policy", spec.policy), ("tools", ", ".join(spec.tools)), ("model", spec.model or "the one here")]
        talk.terminal.show_lines(in_columns(about, talk.terminal.width, role="dim"))
        talk.say(printable(spec.words.strip()))
        return
    rows = []
    for name in role_names():
        spec = find_role(name, chosen)
        whose = " (your own)" if has_own(name, chosen) else ""
        rows.append((name, f"{spec.purpose}{whose}"))
    talk.terminal.show_lines(in_columns(rows, talk.terminal.width))
    talk.say(f"\nYour own stand in {from_home(str(chosen.roles))}. More about one: /roles NAME", "dim")


async def skills(talk: "Talk", rest: str) -> None:
    """What models can read up on here, or the words of one skill. Raises UsageError."""
    from kith.app.knowledge import gather

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
    talk.terminal.show_lines(in_columns(rows, talk.terminal.width))


async def hooks(talk: "Talk", rest: str) -> None:
    """The commands that run around the work."""
    found = talk.project.settings.hooks
    if not found:
        talk.say("There are no hooks; [[hooks]] in your configuration names them.")
        return
    rows = []
    for each in found:
        about = f" {', '.join(each.tool)}" if each.tool != ("*",) else ""
        rows.append((f"{each.on}{about}", f"{each.command}\n{each.where}, {each.seconds:g} s, {each.place}"))
    talk.terminal.show_lines(in_columns(rows, talk.terminal.width))


# --- servers and health ----------------------------------------------------------------------


async def mcp(talk: "Talk", rest: str) -> None:
    """Servers of tools, what they offer, and what that costs. Raises KithError."""
    if not talk.project.settings.mcp:
        talk.say("There are no servers of tools; [mcp.NAME] in your configuration names them.")
        return
    from kith.faces.mcp.listing import server_rows

    talk.terminal.show_lines(in_columns(await server_rows(talk.project), talk.terminal.width))


async def doctor(talk: "Talk", rest: str) -> None:
    """Whether servers, sandbox and folders are well, and what mends them."""
    from rich.text import Text

    from kith.doctor import examine
    from kith.faces.doctor import STYLES, WORDS, lines_of, summary, worst

    checks = await examine(talk.root, talk.flags)
    text = Text()
    for level, name, line in lines_of(checks, min(talk.terminal.width, 100)):
        text.append(f"{WORDS[level] if level else '':>6}  ", STYLES[level] if level else "")
        text.append(f"{name:<13} {line}\n")
    talk.terminal.show(text)
    talk.say(summary(checks), STYLES[worst(checks)])
