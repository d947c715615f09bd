"""Commands that describe a conversation: its status, cost, permissions and notes."""

from collections.abc import Sequence
from typing import Final

from kith.agent.checks import known_checks
from kith.agent.kept_trial import waiting_sessions
from kith.agent.knowledge import gather
from kith.core.events import Called
from kith.core.feature import Lazy, SlashCommand
from kith.core.numbers import dollars
from kith.core.run import short_session
from kith.memory.permits import permitted
from kith.memory.queries import paid_today
from kith.settings.brought import NOTES
from kith.settings.values import Settings
from kith.terminal.conversation.modes import MEANINGS
from kith.terminal.conversation.talk import Talk
from kith.terminal.permits import permit_text
from kith.terminal.rendering.panels import pairs_lines
from kith.view.evidence import word_standing
from kith.view.lines import count, from_home, tokens
from kith.view.printing import printable
from kith.view.wording import word_tokens

COMMANDS: Final = (
    SlashCommand(
        "cost",
        "This conversation",
        "calls, tokens, time and money so far",
        Lazy(f"{__name__}:cost"),
        anytime=True,
    ),
    SlashCommand(
        "status",
        "kith",
        "the model, the checks, and what waits here",
        Lazy(f"{__name__}:status"),
        anytime=True,
    ),
    SlashCommand(
        "permissions",
        "kith",
        "what is allowed here without a question",
        Lazy(f"{__name__}:permissions"),
        anytime=True,
    ),
    SlashCommand(
        "memory",
        "kith",
        "notes that models are told first",
        Lazy(f"{__name__}:memory"),
        anytime=True,
    ),
)

_CHARS: Final = 4  # of a token, about
_TRUST: Final = {
    "new": "not trusted yet: kith trust",
    "changed": "changed since you trusted it: kith trust",
    "declined": "not trusted",
    "unfit": "unreadable: kith trust --show",
}


def _show(talk: Talk, rows: Sequence[tuple[str, str]]) -> None:
    talk.terminal.show_lines(pairs_lines(rows, talk.terminal.width))


async def status(talk: Talk, rest: str) -> None:
    """The conversation, its model, and how changes are checked here."""
    past, chosen = talk.past, talk.project.settings
    title = f" {printable(past.title)}" if past.title else ""
    tasks = f", {count(past.tasks, 'task')}" if past.tasks else ", nothing said yet"
    rows = [
        ("folder", from_home(str(talk.root))),
        ("conversation", f"{short_session(talk.id)}{title}{tasks}"),
        ("mode", f"{talk.mode}: {MEANINGS[talk.mode]}"),
        ("model", _model(talk)),
    ]
    for check in await known_checks(talk.root, chosen):
        stands = f": {word_standing(check.stands)} before any change" if check.stands else ", not run yet"
        rows.append(("check", f"{check.command}  ({check.why}){stands}"))
    rows += [("check", "none; name one with /config check COMMAND")] if rows[-1][0] == "model" else []
    if waiting := waiting_sessions(chosen.state, talk.root):
        rows.append(("waiting", f"{count(len(waiting), 'change')} not applied: /sessions"))
    if standing := _TRUST.get(chosen.brought.standing):
        rows.append(("folder's files", standing))
    _show(talk, rows)


def _model(talk: Talk) -> str:
    meter, chosen = talk.status.meter, talk.project.settings.model
    window = f", window {tokens(meter.window)} tokens" if meter.window else ""
    return f"{meter.model or chosen or 'found when the first task begins'}{window}"


async def cost(talk: Talk, rest: str) -> None:
    """The calls, tokens, time and money of this conversation, and the money of today."""
    log, limit = talk.project.log, talk.project.settings.max_day_usd
    records = log.events(talk.id, kinds={"Called"})
    calls = [each.event for each in records if isinstance(each.event, Called)]
    most = f" of {dollars(limit)} (max_day_usd)" if limit is not None else ""
    today = f"{dollars(paid_today(log))}{most}, all conversations"
    _show(talk, [("last task", _spent(talk.past.calls)), ("conversation", _spent(calls)), ("today", today)])


def _spent(calls: Sequence[Called]) -> str:
    if not calls:
        return "no model call"
    read, written = (sum(getattr(each.usage, part) for each in calls) for part in ("input", "output"))
    seconds = sum(each.timing.total_s for each in calls)
    prices = [each.usd for each in calls if each.usd is not None]
    money = f", {dollars(sum(prices))}" if prices else ""
    calls_made = count(len(calls), "model call")
    return f"{calls_made}, {word_tokens(read, written)}, {seconds:.1f} s{money}"


async def permissions(talk: Talk, rest: str) -> None:
    """The mode, and all that needs no question here."""
    chosen = talk.project.settings
    rows = [("mode", f"{talk.mode}: {MEANINGS[talk.mode]}")]
    rows += [("sandbox", "on" if talk.project.tree.confined else "none: kith asks before commands")]
    rows += [("host", host) for host in chosen.reachable]
    permits = [("always", permit_text(each)) for each in permitted(talk.project.log, talk.root)]
    _show(talk, rows + permits)
    if permits:
        talk.say("\nTo be asked again: kith permits --forget NUMBER", "dim")


async def memory(talk: Talk, rest: str) -> None:
    """The notes and skills that models are told of here, and where to write more."""
    chosen = talk.project.settings
    known = gather(chosen)
    for fault in known.faults:
        talk.say(printable(fault), "yellow")
    _show(
        talk,
        [(each.path, f"{len(each.text) // _CHARS:,} tokens, {each.heading}") for each in known.notes]
        or [("notes", "none yet")],
    )
    skills = f" Skills: {len(known.skills):,}, /skills lists them." if known.skills else ""
    talk.say(f"\n{_places(chosen)}{skills}", "dim")


def _places(chosen: Settings) -> str:
    own = from_home(str(chosen.config / NOTES[0]))
    return f"Notes are in {NOTES[0]} of this folder, and in {own} for all folders."
