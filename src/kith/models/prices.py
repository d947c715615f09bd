"""Prices of calls in US dollars, by a dated table of list prices in which the person's own rows win."""

import re
import tomllib
from collections.abc import Mapping
from datetime import date
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, Final

from msgspec import Struct, field

from kith.core.errors import UsageError
from kith.core.values import Usage

OWN_FILE: Final = "prices.toml"  # beside the person's config.toml
_MILLION: Final = 1_000_000
_RATES: Final = ("input", "output", "cached", "written", "lasting")
_NEEDED: Final = ("input", "output")
_WITHIN: Final = {"long": "above", "later": "from"}  # rows inside of a row, and what each must say beside
# What may stand behind a model's name without making it another model: a date, a number of the version.
_VERSION: Final = re.compile(
    r"(?:-(?:latest|preview|exp|customtools))*(?:[-@](?:\d{3}|\d{8}|\d\d-\d\d(?:\d\d)?|\d{4}-\d\d-\d\d))?"
)


class Rate(Struct, frozen=True):
    """US dollars for a million tokens of each sort.

    `written` went into a cache, `lasting` into one that keeps them for an hour, `cached` came from one.
    """

    input: float
    output: float
    cached: float
    written: float
    lasting: float

    def of(self, usage: Usage) -> float:
        """Return the cost of these tokens."""
        fresh = max(0, usage.input - usage.cached - usage.written)  # whatever a server says
        cost = fresh * self.input + usage.cached * self.cached + usage.output * self.output
        into = max(0, usage.written - usage.lasting) * self.written + usage.lasting * self.lasting
        return (cost + into) / _MILLION


class Price(Struct, frozen=True):
    """A model's prices: the usual rate, that of prompts above so many tokens, and the one from a day on.

    `source` is the page, or the person's file, and `seen` the day on which the page said so.
    """

    model: str
    rate: Rate
    source: str
    seen: date | None = None
    long: Rate | None = None
    above: int = 0
    later: Rate | None = None
    since: date | None = None

    def on(self, day: date, tokens: int) -> Rate:
        """The rate of a call with so many prompt tokens on a day."""
        if self.later and self.since and day >= self.since:
            return self.later
        return self.long if self.long and tokens > self.above else self.rate


class Prices(Struct, frozen=True):
    """The table."""

    rows: Mapping[str, Price] = field(default_factory=dict)

    @property
    def seen(self) -> date | None:
        """The day of the oldest row that has one."""
        return min((row.seen for row in self.rows.values() if row.seen), default=None)

    def find(self, model: str) -> Price | None:
        """The row for a model by its full name (PROVIDER/MODEL), or by its bare one, dated or not."""
        bare = model.rpartition("/")[2]
        fitting = [key for key in self.rows if any(_is_version(name, key) for name in (model, bare))]
        return self.rows[max(fitting, key=len)] if fitting else None

    def cost(self, model: str, usage: Usage, day: date | None = None) -> float | None:
        """Return the cost of a call in US dollars; None where no price is known."""
        price = self.find(model)
        return price.on(day or date.today(), usage.input).of(usage) if price else None


def load_prices(config: Path | None = None) -> Prices:
    """kith's own table, with the rows of the person's own file (in the folder `config`) in their places.

    Raises UsageError naming file and line.
    """
    shipped = _shipped()
    own = config / OWN_FILE if config else None
    if own is None or not own.is_file():
        return shipped
    try:
        text = own.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{own} cannot be read: {error}.") from error
    return Prices({**shipped.rows, **_read(text, str(own)).rows})


@cache
def _shipped() -> Prices:
    return _read(files("kith.models").joinpath(OWN_FILE).read_text(encoding="utf-8"), "")


def _is_version(name: str, key: str) -> bool:
    """True if a name is the key's own, or that of a dated version of it."""
    return name.startswith(key) and _VERSION.fullmatch(name, len(key)) is not None


def _read(text: str, file: str) -> Prices:
    """The table that a text holds; `file` names it in errors and as the source, "" for kith's own."""
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        found = re.search(r"line (\d+)", str(error))
        line = found[1] if found else len(text.splitlines())
        raise UsageError(f"{file}, line {line}: not valid TOML: {error}.") from error
    sources, rows = {} if file else data.pop("sources"), dict[str, Price]()
    for name, row in data.items():
        where = f"{file}, line {_line_of(text, name)}: {name}"
        if not isinstance(row, dict):
            raise UsageError(f'{where} is no table; write the model as ["{name}"] above its prices.')
        source = sources.get(name.partition("/")[0], {"page": file})
        rows[name] = _price(name, {**source, **row}, where)
    return Prices(rows)


def _price(name: str, row: Mapping[str, Any], where: str) -> Price:
    own = {key: value for key, value in row.items() if key not in (*_WITHIN, "page", "seen")}
    rate, found = _rate(own, where), dict[str, Any]()
    for key, mark in _WITHIN.items():
        if key in row:
            within = dict(row[key]) if isinstance(row[key], dict) else {}
            found[mark] = within.pop(mark, None)
            found[key] = _rate(within, f"{where}, {key}")
    above, since = found.get("above", 0), found.get("from")
    if type(above) is not int or above < 0:
        raise UsageError(f"{where}, long: above must be a number of tokens, not {above!r}.")
    if "later" in found and type(since) is not date:
        raise UsageError(f"{where}, later: from must be a day such as 2027-01-01, not {since!r}.")
    seen, page = row.get("seen"), str(row["page"])
    return Price(
        name,
        rate,
        page,
        seen if type(seen) is date else None,
        found.get("long"),
        above,
        found.get("later"),
        since,
    )


def _rate(row: Mapping[str, Any], where: str) -> Rate:
    for key, value in row.items():
        if key not in _RATES:
            known = ", ".join((*_RATES, *_WITHIN))
            raise UsageError(f"{where}: unknown key {key!r}; there are: {known}.")
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < _MILLION:
            raise UsageError(f"{where}: {key} must be dollars for a million tokens, not {value!r}.")
    for key in _NEEDED:
        if key not in row:
            raise UsageError(f"{where}: {key} is missing.")
    fresh = float(row["input"])
    cached, written = row.get("cached", fresh), row.get("written", fresh)
    # Who charges for a cache charges an hour in it with twice what reading anew costs (Anthropic).
    lasting = row.get("lasting", 2 * fresh if written > fresh else written)
    return Rate(fresh, float(row["output"]), float(cached), float(written), float(lasting))


def _line_of(text: str, name: str) -> int:
    """The line on which a row begins."""
    head = re.compile(rf"""\s*\[?\s*["']?{re.escape(name)}["']?\s*[\]=.]""")
    return next((number for number, line in enumerate(text.splitlines(), 1) if head.match(line)), 1)
