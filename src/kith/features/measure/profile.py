"""Sum up measurements: speed and success of each model, cost, and changes."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from typing import Any, Final

from msgspec import Struct, field
from msgspec.structs import asdict, replace

from kith.agent.project import Project
from kith.core.errors import UsageError
from kith.core.feature import Lazy
from kith.features.measure.intervals import Share, Spread, share_of
from kith.features.measure.measured_rows import VerdictRow, read_measured
from kith.features.measure.rows import CallRow, LegRow, by_model
from kith.features.measure.speed_and_success import (
    ModelSpeed,
    Success,
    describe_models,
    measure_speeds,
    measure_successes,
    read_rate,
    tokens_of,
    write_rate,
)
from kith.features.measure.trends import Shift, Trend, find_shifts, find_trends
from kith.memory.log import Log
from kith.settings.features import parts_for
from kith.view.lines import count, day
from kith.view.markup import Html

# What another feature adds to a profile, as `Feature.extends["measure"]`.


class ProfileScope(Struct, frozen=True):
    """Of what a profile is wanted: all folders, a model (or a part of its name), a kind of work, a time."""

    everywhere: bool = False
    model: str = ""
    kind: str = ""
    since: float = 0.0


class Addition(Struct, frozen=True):
    """The contribution of one part: data of the profile, lines under a title, and a section of the page.

    `page` is the section's title and the function that draws it, from `found`.
    """

    data: Mapping[str, Any] = field(default_factory=dict)
    title: str = ""
    lines: Sequence[str] = ()
    page: tuple[str, Lazy[Callable[[Any], Html]]] | None = None
    found: Any = None


class ProfilePart(Struct, frozen=True):
    """Reads what a part has to say of a project, within a scope."""

    read: Callable[[Project, ProfileScope], Addition]


# What a failed call's words say, by sort; the first that fits.
_ERRORS: Final = {
    "cancelled": ("cancelled",),
    "limit": ("limit", "spent", "stopped"),
    "timeout": ("timed out", "timeout", "sign of life"),
    "overflow": ("window", "context", "too long"),
    "busy": ("overload", "busy", "too many", "rate"),
    "key": ("key", "allowed", "auth"),
    "connection": ("connect", "reach", "answers", "down", "closed"),
}


class Profile(Struct, frozen=True):
    """The rows that a profile is of, in the order of time, and what they come to. `root` "": everywhere."""

    root: str
    since: float
    calls: tuple[CallRow, ...]
    legs: tuple[LegRow, ...]
    verdicts: tuple[VerdictRow, ...]
    speeds: tuple[ModelSpeed, ...]
    successes: tuple[Success, ...]
    trends: tuple[Trend, ...]
    shifts: tuple[Shift, ...]
    added: tuple[Addition, ...] = ()

    @property
    def models(self) -> list[str]:
        """The names of all models with a call or a part of a task."""
        return sorted({each.model for each in self.speeds} | {each.model for each in self.successes})


def read_apart(project: Project, scope: ProfileScope) -> "Profile":
    """A profile, read in whichever thread calls this: with a connection to the log of its own."""
    with closing(Log(project.log.path)) as log:
        return read_profile(replace(project, log=log), scope)


def read_profile(project: Project, scope: ProfileScope) -> Profile:
    """The profile of what the log holds. Raises UsageError for a model or a kind that was never measured."""
    root = None if scope.everywhere else project.root
    found = read_measured(project.log, root, scope.since, cache=project.settings.cache)
    calls, legs, verdicts = found.calls, found.legs, found.verdicts
    if scope.model:
        _refuse_unknown("model", scope.model, {call.model for call in calls} | {leg.model for leg in legs})
        calls = tuple(call for call in calls if scope.model in call.model)
        legs = tuple(leg for leg in legs if scope.model in leg.model)
        verdicts = tuple(verdict for verdict in verdicts if scope.model in verdict.model)
    if scope.kind:
        names = {leg.kind for leg in legs} | {call.purpose for call in calls}
        _refuse_unknown("kind of work", scope.kind, names)
        legs = tuple(leg for leg in legs if leg.kind == scope.kind)
        sessions = {leg.session for leg in legs}
        calls = tuple(call for call in calls if call.purpose == scope.kind or call.session in sessions)
        verdicts = tuple(verdict for verdict in verdicts if verdict.kind == scope.kind)
    trends = find_trends(calls, legs)
    parts: tuple[ProfilePart, ...] = parts_for("measure")
    return Profile(
        str(root or ""),
        scope.since,
        calls,
        legs,
        verdicts,
        measure_speeds(calls),
        measure_successes(legs),
        trends,
        find_shifts(calls, trends),
        tuple(each.read(project, scope) for each in parts),
    )


def _refuse_unknown(what: str, wanted: str, known: set[str]) -> None:
    if any(wanted in name if what == "model" else wanted == name for name in known):
        return
    there = f"there are: {', '.join(sorted(known))}" if known else "nothing was measured yet"
    raise UsageError(f"No {what} {wanted!r} was measured; {there}.")


# --- as plain data ---------------------------------------------------------------------------


def describe_profile(profile: Profile) -> dict[str, Any]:
    """The profile as plain data; shares and medians come with their 95 % interval, None where none holds."""
    return {
        "root": profile.root or None,
        "since": profile.since or None,
        "calls": len(profile.calls),
        "models": list(describe_models(profile.legs)),
        "speed": [_flat(each) for each in profile.speeds],
        "success": [_flat(each) for each in profile.successes],
        "trends": [asdict(each) for each in profile.trends],
        "changes": [asdict(each) for each in profile.shifts],
        "gates": describe_gates(profile.verdicts),
        "cache": describe_caches(profile.calls),
        "money": describe_money(profile),
        "errors": describe_errors(profile),
        "days": describe_days(profile),
        **{key: value for each in profile.added for key, value in each.data.items()},
    }


def _flat(row: ModelSpeed | Success) -> dict[str, Any]:
    """A row with its shares and spreads as small objects."""
    found = {}
    for name in type(row).__struct_fields__:
        value = getattr(row, name)
        if isinstance(value, Share):
            value = {**asdict(value), "share": value.share, "interval": value.interval}
        found[name] = asdict(value) if isinstance(value, Spread) else value
    return found


def describe_gates(verdicts: Iterable[VerdictRow]) -> list[dict[str, Any]]:
    """Count how often each gate accepted each model's work."""
    said: dict[tuple[str, str], list[bool]] = defaultdict(list)
    for verdict in verdicts:
        said[verdict.model, verdict.gate].append(verdict.ok)
    rows = ((*key, share_of(found)) for key, found in sorted(said.items()))
    return [
        {"model": model, "gate": gate, **asdict(share), "share": share.share, "interval": share.interval}
        for model, gate, share in rows
    ]


def describe_caches(calls: Iterable[CallRow]) -> list[dict[str, Any]]:
    """Of each model's prompt tokens, those that its server did not compute again."""
    rows = []
    for model, own in by_model(call for call in calls if call.usage.input and not call.error).items():
        read, computed = sum(call.usage.input for call in own), sum(call.evaluated for call in own)
        spared = max(0, read - computed)
        rows.append({"model": model, "input": read, "computed": computed, "spared": spared / read})
    return rows


def describe_money(profile: Profile) -> list[dict[str, Any]]:
    """Sum up each model's cost in dollars; `unpriced` counts the calls without a known price."""
    solved = defaultdict[str, int](int)
    for leg in profile.legs:
        solved[leg.model] += bool(leg.solved)
    rows = []
    for model, own in by_model(call for call in profile.calls if not call.error).items():
        paid = [call.usd for call in own if call.usd is not None]
        usd = sum(paid) if paid else None
        each = usd / solved[model] if usd is not None and solved[model] else None
        unpriced = len(own) - len(paid)
        rows.append({"model": model, "usd": usd, "unpriced": unpriced, "usd_per_solved": each})
    return rows


def describe_errors(profile: Profile) -> list[dict[str, Any]]:
    """Calls that failed, and mistakes in tasks, by sort."""
    failed, mistakes = defaultdict[str, dict[str, int]](dict), defaultdict[str, dict[str, int]](dict)
    for call in profile.calls:
        if call.error:
            sort = _sort_of(call.error)
            failed[call.model][sort] = failed[call.model].get(sort, 0) + 1
    for leg in profile.legs:
        for sort, number in leg.failures.items():
            mistakes[leg.model][sort] = mistakes[leg.model].get(sort, 0) + number
    return [
        {
            "model": model,
            "calls": len(own),
            "failed": sum(failed[model].values()),
            "by_sort": failed[model],
            "mistakes": mistakes[model],
        }
        for model, own in by_model(profile.calls).items()
    ]


def _sort_of(error: str) -> str:
    words = error.lower()
    return next((sort for sort, signs in _ERRORS.items() if any(sign in words for sign in signs)), "other")


def describe_days(profile: Profile) -> list[dict[str, Any]]:
    """Each day (of this machine's clock) on which a model worked: speed, tokens, money, tasks."""
    calls: dict[tuple[str, str], list[CallRow]] = defaultdict(list)
    legs: dict[tuple[str, str], list[LegRow]] = defaultdict(list)
    for call in profile.calls:
        calls[day(call.at), call.model].append(call)
    for leg in profile.legs:
        legs[day(leg.at), leg.model].append(leg)
    return [_day(*key, calls[key], legs[key]) for key in sorted(calls.keys() | legs.keys())]


def _day(at: str, model: str, calls: Sequence[CallRow], legs: Sequence[LegRow]) -> dict[str, Any]:
    judged = [leg.solved for leg in legs if leg.solved is not None]
    return {
        "day": at,
        "model": model,
        "calls": len(calls),
        "failed": sum(bool(call.error) for call in calls),
        "read": Spread.of([rate for call in calls if (rate := read_rate(call))]).median,
        "write": Spread.of([rate for call in calls if (rate := write_rate(call))]).median,
        "computed": sum(call.evaluated for call in calls),
        "spared": sum(max(0, call.usage.input - call.evaluated) for call in calls),
        "written": sum(call.usage.output for call in calls),
        "usd": sum(call.usd or 0.0 for call in calls),
        "tasks": len(legs),
        "judged": len(judged),
        "solved": sum(judged),
        "task_tokens": sum(tokens_of(leg) for leg in legs),
    }


def facts_of(calls: Sequence[CallRow]) -> list[str]:
    """Describe a model as it ran last."""
    if not calls:
        return []
    last = calls[-1]
    window = f"window {last.window:,}" if last.window else ""
    where = "cloud" if last.cloud else last.machine
    return [each for each in (last.parameters, last.quantisation, window, where) if each]


def counts_of(profile: Profile) -> list[str]:
    """Count what a profile holds: `2 calls`, `1 task`, `1 model`."""
    tasks = {(leg.session, leg.task, leg.part) for leg in profile.legs}
    counted = ((profile.calls, "call"), (tasks, "task"), (profile.models, "model"))
    return [count(len(each), noun) for each, noun in counted]
