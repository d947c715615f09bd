"""Fixed times: read from plain phrases, cron syntax and systemd's; written for cron and systemd."""

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Final

from msgspec import Struct

from kith.core.errors import UsageError

_DAYS: Final = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_MONTHS: Final = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_HOURS: Final[Mapping[str, int]] = {
    **{"night": 2, "morning": 7, "noon": 12, "afternoon": 15, "evening": 19, "midnight": 0},
}
_USUAL: Final = 2  # o'clock, where a phrase names no time
EXAMPLES: Final = '"every night", "every weekday at 9:30", "every 30 minutes", "0 2 * * *"'
_YEARS: Final = 40  # the 29th of February comes to a certain weekday so rarely around the year 2100


class When(Struct, frozen=True):
    """Times of a clock, each field as numbers, () for all; or `calendar`, in systemd's own syntax.

    `days` are of the month, `weekdays` count from 0, Monday. A day has to be right in both.
    """

    minutes: tuple[int, ...] = ()
    hours: tuple[int, ...] = ()
    days: tuple[int, ...] = ()
    months: tuple[int, ...] = ()
    weekdays: tuple[int, ...] = ()
    calendar: str = ""

    @property
    def on_calendar(self) -> str:
        """The times as systemd's OnCalendar takes them."""
        if self.calendar:
            return self.calendar
        days = ",".join(_DAYS[each].capitalize() for each in self.weekdays)
        date = f"*-{_listed(self.months)}-{_listed(self.days)}"
        return f"{days} {date} {_listed(self.hours)}:{_listed(self.minutes)}:00".strip()

    @property
    def cron(self) -> str:
        """The five fields of a line of a crontab; "" where only systemd knows the times."""
        weekdays = sorted((each + 1) % 7 for each in self.weekdays)
        fields = (self.minutes, self.hours, self.days, self.months, weekdays)
        return "" if self.calendar else " ".join(map(_listed, fields))

    def after(self, moment: datetime) -> datetime | None:
        """The next time after a moment; None if there is none, or only systemd knows it."""
        if self.calendar:
            return None
        day = moment.replace(hour=0, minute=0, second=0, microsecond=0)
        for number in range(366 * _YEARS):
            each = day + timedelta(days=number)
            if self._has(each) and (found := next((t for t in self._times(each) if t > moment), None)):
                return found
        return None

    def _has(self, day: datetime) -> bool:
        pairs = ((self.months, day.month), (self.days, day.day), (self.weekdays, day.weekday()))
        return all(number in field or not field for field, number in pairs)

    def _times(self, day: datetime) -> Iterator[datetime]:
        for hour in self.hours or range(24):
            for minute in self.minutes or range(60):
                yield day.replace(hour=hour, minute=minute)


def _listed(numbers: Sequence[int]) -> str:
    return ",".join(map(str, numbers)) or "*"


def read_when(text: str) -> When:
    """Read times as a person gives them. Raises UsageError, one sentence."""
    words = " ".join(text.lower().replace(",", " , ").split()).replace(" , ", ", ").strip()
    if not words:
        raise UsageError(f"When should it run? For example: {EXAMPLES}.")
    if _is_cron(text):
        return _read_cron(text)
    if found := _read_phrase(words):
        return found
    if re.search(r"\d:\d\d|[*]:|[*]-[*\d]", text) and not re.search(r"\b(?:every|at|on)\b", words):
        return When(calendar=_one_line(text))
    raise UsageError(f"The time {text.strip()!r:.80} is not known; kith knows {EXAMPLES}.")


def _one_line(text: str) -> str:
    if not text.isprintable():
        raise UsageError("A time is one line of text.")
    return text.strip()


# --- phrases ----------------------------------------------------------------------------------


_TIME: Final = re.compile(
    r"\bat (?:(?P<word>noon|midnight)|(?P<h>\d{1,2})(?::(?P<m>\d\d))? ?(?P<half>am|pm)?)(?!\S)"
)
_STEP: Final = re.compile(r"every (\d+) ?(minute|min|hour|h)s?")
_PART: Final = rf"(?P<part>{'|'.join(_HOURS)})s?"
_DAY: Final = "(?:mon|tues?|wed|wednes|thu|thur|thurs|fri|sat|satur|sun)(?:days?)?"
_ON: Final = re.compile(
    rf"(?:(?:every|on|each) )?(?P<days>{_DAY}(?:(?:, and |, | and | or ){_DAY})*)(?: {_PART})?"
)
_WHOLE: Final = re.compile(
    rf"(?:(?:every|each|on) )?(?:{_PART}|days?|(?P<week>weekdays?|work(?:ing )?days?)|(?P<end>weekends?))"
)
# Words that systemd and cron know, too, with their times.
_SHORT: Final[Mapping[str, When]] = {
    **dict.fromkeys(("hourly", "every hour", "@hourly"), When(minutes=(0,))),
    "every minute": When(),
    **dict.fromkeys(("daily", "@daily", "@midnight"), When((0,), (0,))),
    "nightly": When((0,), (_HOURS["night"],)),
    "weekly": When((0,), (0,), weekdays=(0,)),
    "@weekly": When((0,), (0,), weekdays=(6,)),
    **dict.fromkeys(("monthly", "@monthly"), When((0,), (0,), (1,))),
}
_LONG: Final[Mapping[str, When]] = {
    "every week": When(weekdays=(0,)),
    "every month": When(days=(1,)),
}


def _read_phrase(words: str) -> When | None:
    """The times of a phrase; None for one that is not known. Raises UsageError for an impossible time."""
    if short := _SHORT.get(words):
        return short
    if step := _STEP.fullmatch(words):
        return _steps(int(step[1]), step[2])
    time = _TIME.search(words)
    rest = (
        " ".join((words[: time.start()] + words[time.end() :]).replace(",", " , ").split()) if time else words
    )
    rest = rest.replace(" , ", ", ").strip(" ,") or "every day"
    base, part = _days_of(rest)
    if base is None:
        return None
    hour, minute = _clock(time, part)
    return When((minute,), (hour,), base.days, base.months, base.weekdays)


def _days_of(rest: str) -> tuple[When | None, str]:
    """The days that a phrase without its time means, and the part of the day that it names."""
    if base := _LONG.get(rest):
        return base, ""
    if whole := _WHOLE.fullmatch(rest):
        days = tuple(range(5)) if whole["week"] else (5, 6) if whole["end"] else ()
        return When(weekdays=days), whole["part"] or ""
    if on := _ON.fullmatch(rest):
        named = re.findall(_DAY, on["days"])
        return When(weekdays=tuple(sorted({_DAYS.index(each[:3]) for each in named}))), on["part"] or ""
    return None, ""


def _clock(time: re.Match[str] | None, part: str) -> tuple[int, int]:
    """The hour and the minute. Raises UsageError for those that no clock shows."""
    if time is None:
        return _HOURS.get(part, _USUAL), 0
    if time["word"]:
        return _HOURS[time["word"]], 0
    hour, minute, half = int(time["h"]), int(time["m"] or 0), time["half"]
    if (half and not 1 <= hour <= 12) or hour > 23 or minute > 59:
        raise UsageError(f"There is no time {time[0].removeprefix('at ')!r}; 9:30, 21:30 and 9 pm are times.")
    if half:
        hour = hour % 12 + 12 * (half == "pm")
    elif (part in ("afternoon", "evening") and hour < 12) or (part == "night" and 8 <= hour < 12):
        hour += 12
    return hour, minute


def _steps(number: int, unit: str) -> When:
    """Every so many minutes or hours, which must divide the hour or the day: no clock knows others."""
    whole, name = (60, "minutes") if unit.startswith("m") else (24, "hours")
    if not 0 < number < whole or whole % number:
        fitting = ", ".join(str(each) for each in range(1, whole) if whole % each == 0)
        raise UsageError(f"Every {number} {name} is no fixed time; the number must be one of {fitting}.")
    steps = tuple(range(0, whole, number)) if number > 1 else ()
    return When(minutes=steps) if whole == 60 else When((0,), steps)


# --- cron --------------------------------------------------------------------------------------


_FIELDS: Final = (
    ("minute", 0, 59, ()),
    ("hour", 0, 23, ()),
    ("day", 1, 31, ()),
    ("month", 1, 12, _MONTHS),
    ("weekday", 0, 7, ("sun", *_DAYS[:6])),
)
_CRON: Final = re.compile(r"[\d*?/,\-]+|[\d*/,\-]*(?:[a-z]{3}[\d/,\-]*)+")


def _is_cron(text: str) -> bool:
    fields = text.lower().split()
    return len(fields) == 5 and all(_CRON.fullmatch(each) for each in fields) and not fields[0].isalpha()


def _read_cron(text: str) -> When:
    """Read the five fields. Raises UsageError."""
    fields = [_field(each, *about) for each, about in zip(text.lower().split(), _FIELDS, strict=True)]
    minutes, hours, days, months, weekdays = fields
    if days and weekdays:
        raise UsageError(
            "A day of the month and a day of the week mean either of them in cron, and both in systemd; "
            "make two schedules."
        )
    own = tuple(sorted({(each - 1) % 7 for each in weekdays}))
    return When(minutes, hours, days, months, own if len(own) < 7 else ())


def _field(text: str, name: str, low: int, high: int, words: Sequence[str]) -> tuple[int, ...]:
    """The numbers of a field, () for all of them."""
    found = set[int]()
    for part in text.split(","):
        span, slash, step = part.partition("/")
        first, dash, last = span.partition("-")
        if span in ("*", "?"):
            begin, end = low, min(high, low + 6) if name == "weekday" else high
        else:
            begin = _number(first, name, low, high, words)
            end = _number(last, name, low, high, words) if dash else high if slash else begin
        if begin > end or (slash and not (step.isdigit() and int(step))):
            raise UsageError(f"{part!r} is not the {name} in cron's syntax.")
        found |= set(range(begin, end + 1, int(step) if slash else 1))
    every = range(low, (high if name != "weekday" else 6) + 1)
    return () if found >= set(every) else tuple(sorted(found))


def _number(text: str, name: str, low: int, high: int, words: Sequence[str]) -> int:
    if text in words:
        return words.index(text) + low
    if text.isdigit() and low <= int(text) <= high:
        return int(text)
    raise UsageError(f"{text!r} is not the {name} in cron's syntax; it goes from {low} to {high}.")
