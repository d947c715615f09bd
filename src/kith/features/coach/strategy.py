"""A way to ask a model: a closed record of what may be changed, and which one holds for a model's work.

A strategy changes settings and formats, never the task: the person's own words stand in every prompt as they
were written. The original way has no id, is always there, and is what everything falls back to."""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any, Final, Literal, get_args

from msgspec import Struct, field
from msgspec.structs import asdict, replace

from kith.core.decisions import Coached, Compared
from kith.core.events import Options, RunEnded, RunStarted
from kith.features.coach.sequential_test import Pair
from kith.features.measure.rows import CallRow, LegRow
from kith.memory.log import Log
from kith.view.lines import count, shortened

TASK: Final = "{task}"  # where the person's words stand in a wording
EditForm = Literal["tools", "blocks", "whole"]
FILES: Final = (0, 1, 3, 6)
LONGEST_WORDING: Final = 1_600  # characters, about 400 tokens
_PROBE: Final = "Zeile 1: {x}\nline 2 `y` \\n"  # words that no template may change
_FIRST: Final = 100  # characters of the person's words, where they are shown within a wording
_WARM: Final = 0.05  # of the tasks, in which the way before an adopted one is kept measured


class Levers(Struct, frozen=True):
    """The options of a strategy. The defaults change nothing.

    `room`: factor on the tokens of the project's excerpts. `files`: the number of files (0: as many as
    fit), `signatures`: only the first lines of their definitions. `edits`: by tools, as search/replace
    blocks, or whole files. `steps`: model calls of one attempt (0: as set). `split`: one function at a
    time. `wording`: the text around the task, with TASK in its place.
    """

    room: float = 1.0
    files: int = 0
    signatures: bool = False
    edits: EditForm = "tools"
    steps: int = 0
    temperature: float | None = None
    top_p: float | None = None
    min_p: float | None = None
    max_tokens: int | None = None
    think: bool | None = None
    split: bool = False
    wording: str = ""

    @property
    def changed(self) -> dict[str, Any]:
        """Only what differs from the original way."""
        return {key: value for key, value in asdict(self).items() if value != getattr(_NOTHING, key)}


_NOTHING: Final = Levers()
# Lever -> the least and the most that it may be set to.
RANGES: Final[Mapping[str, tuple[float, float]]] = {
    "room": (0.1, 3.0),
    "steps": (3, 100),
    "temperature": (0.0, 1.5),
    "top_p": (0.1, 1.0),
    "min_p": (0.0, 0.5),
    "max_tokens": (256, 32_768),
}


class Strategy(Struct, frozen=True):
    """A way to ask: its levers, the id of the way that it was made from, who made it, and why.

    `predicted` is what its author expects: "solved" (a share more) and "seconds" (more).
    """

    levers: Levers = _NOTHING
    parent: str = ""
    author: str = ""
    hypothesis: str = ""
    predicted: Mapping[str, float] = field(default_factory=dict)

    @property
    def id(self) -> str:
        """The same for the same levers, from any author; "" for the original strategy."""
        return _id_of(self.levers)

    @property
    def data(self) -> dict[str, Any]:
        """The strategy as plain data, for the log."""
        return {
            "id": self.id,
            "levers": self.levers.changed,
            "parent": self.parent,
            "hypothesis": self.hypothesis,
            "predicted": dict(self.predicted),
        }


@cache
def _id_of(levers: Levers) -> str:
    changed = json.dumps(levers.changed, sort_keys=True)
    return hashlib.sha256(changed.encode()).hexdigest()[:8] if levers != _NOTHING else ""


ORIGINAL: Final = Strategy()


def read_strategy(data: Mapping[str, Any], author: str = "") -> Strategy:
    """A strategy from plain data. Raises ValueError, in words, for a lever that is unknown or mistyped."""
    levers = data.get("levers", {})
    if not isinstance(levers, Mapping):
        raise ValueError("levers must be an object")
    for name, value in levers.items():
        if name not in Levers.__struct_fields__:
            raise ValueError(f"there is no lever {name!r}; there are: {', '.join(Levers.__struct_fields__)}")
        if not _fits(name, value):
            raise ValueError(f"{name} cannot be {value!r}")
    predicted = data.get("predicted", {})
    if not isinstance(predicted, Mapping):
        raise ValueError("predicted must be an object")
    numbers = {str(key): float(value) for key, value in predicted.items() if isinstance(value, int | float)}
    hypothesis = str(data.get("hypothesis", ""))[:300]
    return Strategy(Levers(**levers), str(data.get("parent", "")), author, hypothesis, numbers)


def _fits(name: str, value: object) -> bool:
    """True if a value is of the lever's type."""
    default = getattr(_NOTHING, name)
    if name in RANGES:
        number = isinstance(value, int | float) and not isinstance(value, bool)
        whole = isinstance(value, int) or name not in ("steps", "max_tokens")
        return (value is None and default is None) or (number and whole)
    if name == "think":
        return value is None or isinstance(value, bool)
    return type(value) is type(default)


def check_strategy(strategy: Strategy, window: int = 0) -> str:
    """Explain why a strategy is not allowed; "" when it is. `window` in tokens (0: unknown)."""
    levers = strategy.levers
    if not strategy.id:
        return "it changes nothing"
    for name, (least, most) in RANGES.items():
        value = getattr(levers, name)
        if value is not None and value != getattr(_NOTHING, name) and not least <= value <= most:
            return f"{name} is {value}, and may be {least:g} to {most:g}"
    if levers.files not in FILES:
        return f"files is {levers.files}, and may be one of {', '.join(map(str, FILES))}"
    if levers.edits not in get_args(EditForm):
        return f"edits is {levers.edits!r}, and may be one of {', '.join(get_args(EditForm))}"
    if window and levers.max_tokens and levers.max_tokens > window // 2:
        return f"replies of {levers.max_tokens:,} tokens leave no room in a window of {window:,}"
    return _check_wording(levers.wording)


def _check_wording(wording: str) -> str:
    if not wording:
        return ""
    if wording.count(TASK) != 1:
        return f"the wording must contain {TASK} once, for the task's own words"
    if len(wording) > LONGEST_WORDING:
        return f"the wording has {len(wording):,} characters, and may have {LONGEST_WORDING:,}"
    if _PROBE not in phrase(_PROBE, Levers(wording=wording)):
        return "the wording changes the task's own words"
    return ""


def phrase(task: str, levers: Levers) -> str:
    """The task's own words, within the wording."""
    return levers.wording.replace(TASK, task) if levers.wording else task


# The states of a way, in words.
STATES: Final = {
    "proposed": "on trial",
    "refused": "given up",
    "canary": "tried on live work",
    "adopted": "holds",
}


def tell_levers(levers: Mapping[str, Any]) -> str:
    """`edits whole, files 3`: what differs from the original way."""
    words = [f"{name} {_tell(value)}" for name, value in levers.items() if name != "wording"]
    return ", ".join([*words, *(["in other words"] if levers.get("wording") else [])])


def _tell(value: Any) -> str:
    return ("off", "on")[value] if isinstance(value, bool) else str(value)


def tell_way(strategy: Strategy, pairs: Iterable[Pair], words: str) -> str:
    """Tell the person how their words are asked now, and what came of that on recorded tasks."""
    tried = list(pairs)
    parts = [f"Asked in another way by kith coach ({strategy.id}): {tell_levers(strategy.levers.changed)}."]
    if tried:
        before, after = (sum(getattr(pair, name) for pair in tried) for name in ("before", "after"))
        tasks = count(len(tried), "recorded task")
        parts.append(f"Of {tasks} it solved {after}, the way before {before}.")
    parts.append("/original (F2) or --original asks as you wrote it.")
    lines = [" ".join(parts)]
    if strategy.levers.wording:
        asked = phrase(_beginning(words, 1, _FIRST), strategy.levers)  # room for what stands around them
        lines += [f"Your words: {_beginning(words)}", f"Asked as: {_beginning(asked)}"]
    return "\n".join(lines)


def _beginning(text: str, most_lines: int = 3, most: int = 300) -> str:
    """The first lines of a text, with dots where more follow."""
    lines = [line.rstrip() for line in text.strip().splitlines()]
    more = " ..." if len(lines) > most_lines else ""
    return shortened("\n".join(lines[:most_lines]) + more, most)


# --- which way holds -----------------------------------------------------------------------------


class Ways(Struct, frozen=True):
    """The strategies of one model for one kind of work.

    `adopted`: those in use, the newest last. `canary`: one that paired trials accepted, on trial in a
    share of the live work. `proposed`: those that wait for trials. `since`: id -> time of its present
    state.
    """

    model: str = ""
    kind: str = ""
    adopted: tuple[Strategy, ...] = ()
    canary: Strategy | None = None
    proposed: tuple[Strategy, ...] = ()
    since: Mapping[str, float] = field(default_factory=dict)
    history: tuple[tuple[float, Coached], ...] = ()

    @property
    def champion(self) -> Strategy:
        """The way that holds."""
        return self.adopted[-1] if self.adopted else ORIGINAL

    @property
    def before(self) -> Strategy:
        """The way that held before the champion, and would hold again without it."""
        return self.adopted[-2] if len(self.adopted) > 1 else ORIGINAL

    @property
    def tried(self) -> frozenset[str]:
        """The ids of all ways that were ever proposed."""
        return frozenset(str(event.strategy.get("id", "")) for _, event in self.history)

    def recall(self, id: str) -> Strategy | None:
        """The way with this id, whatever became of it; None when it was never told of."""
        told = (event for _, event in reversed(self.history) if event.strategy.get("id") == id)
        return next((read_strategy(event.strategy, event.author) for event in told), None)


def key_of(digest: str, model: str) -> str:
    """Return the key of a model: its weights, or its name where they are unknown."""
    return digest or model


def is_of(row: LegRow | CallRow, key: str, model: str) -> bool:
    """True if a row belongs to the model with this `key` and name."""
    return row.digest == key if row.digest else row.model == model


def fold_ways(events: Iterable[tuple[float, Coached]]) -> dict[tuple[str, str], Ways]:
    """(model's key, kind of work) -> how it is asked, from all that was told, the oldest first.

    The last state told of a strategy holds. There is one canary at most; other weights start over.
    """
    found = dict[tuple[str, str], Ways]()
    for at, event in events:
        key = key_of(event.digest, event.model), event.kind
        found[key] = _take(found.get(key, Ways(event.model, event.kind)), at, event)
    return found


def _take(ways: Ways, at: float, event: Coached) -> Ways:
    try:
        strategy = read_strategy(event.strategy, event.author)
    except ValueError:  # written by a kith that knows other levers
        return ways
    id = strategy.id
    adopted = tuple(each for each in ways.adopted if each.id != id)
    canary = None if ways.canary and ways.canary.id == id else ways.canary
    proposed = tuple(each for each in ways.proposed if each.id != id)
    if event.state == "adopted" and id:
        adopted = (*adopted, strategy)
    elif event.state == "canary" and id:
        canary = strategy
    elif event.state == "proposed" and id:
        proposed = (*proposed, strategy)
    return replace(
        ways,
        model=event.model,
        adopted=adopted,
        canary=canary,
        proposed=proposed,
        since={**ways.since, id: at},
        history=(*ways.history, (at, event)),
    )


def choose(ways: Ways, live: float, ticket: str) -> Strategy:
    """Choose a strategy: the champion, or for a share `live` of all tickets the canary.

    A ticket (a session's id) always gets the same answer while nothing changes. A twentieth of the work, but
    no more than `live`, keeps the strategy before the champion measured.
    """
    digits = hashlib.sha256(ticket.encode()).digest()
    drawn = int.from_bytes(digits[:6]) / 2**48
    if ways.canary and drawn < live:
        return ways.canary
    return ways.before if ways.adopted and drawn >= 1 - min(_WARM, live) else ways.champion


def accepted_share(history: Sequence[Coached], author: str) -> tuple[int, int]:
    """Count an author's accepted proposals, and the settled ones."""
    last = {str(event.strategy.get("id", "")): event for event in history if event.author == author}
    states = [
        {event.state for event in history if event.strategy.get("id") == id and event.author == author}
        for id in last
    ]
    good = sum(bool(each & {"canary", "adopted"}) for each in states)
    return good, sum(each != {"proposed"} for each in states)


# Read from the log what coaching did: strategies, pairs of each experiment, and replays.


COACH: Final = "coach"  # what a session is for, by RunStarted: an experiment, or a word about a way
REPLAY: Final = "replay"  # a recorded task, done again
_READ: Final = frozenset({"Coached", "Compared", "RunStarted", "RunEnded"})

# A model's key and a kind of work; with a strategy's id it names an experiment.
Work = tuple[str, str]


class Coaching(Struct, frozen=True):
    """The strategies of each model, and the pairs of experiments: (work, strategy) -> task's id -> pair."""

    ways: Mapping[Work, Ways] = field(default_factory=dict)
    pairs: Mapping[tuple[Work, str], dict[str, Pair]] = field(default_factory=dict)


class Replayed(Struct, frozen=True):
    """The result of replaying a recorded task, and its seconds; `solved` None: no evidence."""

    solved: bool | None
    seconds: float


def options_of(kind: str, key: str, work: str, strategy: str, task: str = "") -> Options:
    """The options of a session of coaching, by which it is found again."""
    return Options(kind, digest=key, work=work, strategy=strategy, recorded=task)


def read_coaching(log: Log) -> Coaching:
    """All that was told of ways to ask, and all pairs. Raises KithError when the log cannot be read."""
    told, pairs = list[tuple[float, Coached]](), dict[tuple[Work, str], dict[str, Pair]]()
    for session in reversed(log.of_kind(COACH)):
        work = ("", "")
        for record in log.events(session, kinds=_READ):
            match record.event:
                case RunStarted(options=options):
                    work = (options.digest, options.work)
                case Coached() as event:
                    told.append((record.at, event))
                case Compared(strategy, task, before, after, before_s, after_s):
                    own = pairs.setdefault((work, strategy), {})
                    own.setdefault(task, Pair(before, after, before_s, after_s))
    told.sort(key=lambda each: each[0])
    return Coaching(fold_ways(told), pairs)


def read_replays(log: Log, key: str) -> dict[tuple[str, str], Replayed]:
    """(strategy, task) -> how a replay for the model known by `key` ended; the first that came to its end."""
    found = dict[tuple[str, str], Replayed]()
    for session in reversed(log.of_kind(REPLAY)):
        began, options = 0.0, Options()
        for record in log.events(session, kinds=_READ):
            match record.event:
                case RunStarted(options=given):
                    began, options = record.at, given
                case RunEnded(status) if options.digest == key and status in _SOLVED:
                    name = options.strategy, options.recorded
                    found.setdefault(name, Replayed(_SOLVED[status], record.at - began))
    return found


# How the session of a replay ends -> what that says of the task.
_SOLVED: Final[Mapping[str, bool | None]] = {"done": True, "failed": False, "rejected": None}
