"""`kith models`: what can be asked, what fits this machine, what is worth having, and what calls cost."""

import argparse
import json
import shutil
import sys
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from datetime import date
from itertools import groupby
from typing import Any, Protocol

from kith.agent.models import list_all, list_names, recommend_models
from kith.core.codec import encode
from kith.core.errors import EXIT_DONE, EXIT_NO_MODEL
from kith.core.event_loop import run_loop
from kith.core.numbers import size_text
from kith.memory.log import LOG_FILE, Log
from kith.models.prices import OWN_FILE, Price, Rate, load_prices
from kith.settings import load_settings
from kith.terminal.options import find_root
from kith.terminal.shell_completion import plain_names
from kith.view.lines import wrapped
from kith.view.printing import printable

TITLES = ("MODEL", "SIZE", "QUANT", "WINDOW", "TOOLS", "THINKS", "FITS")
GAP, INDENT = "  ", "    "
NARROW = 60  # columns; below it lines are longer than the window is wide
UNBROKEN = 10_000  # columns of a pipe: whoever searches there finds a model and its figures in one line

StyledLine = list[tuple[str, str]]  # pieces of text, each with its style


class ModelRow(Protocol):
    """A model in the table: a catalogue's entry."""

    @property
    def name(self) -> str: ...
    @property
    def source(self) -> str: ...
    @property
    def where(self) -> str: ...
    @property
    def size(self) -> int: ...
    @property
    def quantisation(self) -> str: ...
    @property
    def window(self) -> int: ...
    @property
    def trained(self) -> int: ...
    @property
    def tools(self) -> bool | None: ...
    @property
    def thinking(self) -> bool | None: ...
    @property
    def fits(self) -> bool | None: ...
    @property
    def why(self) -> str: ...
    @property
    def loaded(self) -> bool: ...
    @property
    def read_rate(self) -> float: ...
    @property
    def write_rate(self) -> float: ...
    @property
    def good_for(self) -> tuple[str, ...]: ...
    @property
    def not_for(self) -> tuple[str, ...]: ...


class Recommended(Protocol):
    """A model that can be downloaded: a recommendation."""

    @property
    def name(self) -> str: ...
    @property
    def size(self) -> int: ...
    @property
    def window(self) -> int: ...
    @property
    def why(self) -> str: ...
    @property
    def tight(self) -> str: ...
    @property
    def command(self) -> str: ...
    @property
    def ollama_command(self) -> str: ...


def models_command(args: argparse.Namespace) -> int:
    """Every model that can be asked: of servers here or configured, and on the disk."""
    settings = load_settings(find_root(args.folder), {"offline": args.offline})
    if args.names:
        print("".join(f"{name}\n" for name in plain_names(run_loop(list_names(settings)))), end="")
        return EXIT_DONE
    found = run_loop(list_all(settings, Log(settings.state / LOG_FILE)))
    return show_models(found.rows, args.json, found.notes)


def recommend_command(args: argparse.Namespace) -> int:
    """Recommend models for this machine, and how to get them."""
    return show_recommendations(recommend_models(), args.json)


def show_models(rows: Sequence[ModelRow], as_json: bool, notes: Sequence[str] = ()) -> int:
    """Print the table and the notes, or JSON with every field; notes alone go to stderr. An exit code."""
    if as_json:
        print(json.dumps([encode(row) for row in rows], indent=2))
    elif rows:
        _print(table(rows, _width()))
        _print([[(wrapped(printable(note), sys.stdout), "dim")] for note in ("", *filter(None, notes))])
    else:
        print(wrapped(printable("\n".join(notes)), sys.stderr), file=sys.stderr)
    return EXIT_DONE if rows else EXIT_NO_MODEL


def show_recommendations(offers: Sequence[Recommended], as_json: bool) -> int:
    """Print what is worth having on this machine, and the command that gets it."""
    if as_json:
        print(json.dumps([encode(offer) for offer in offers], indent=2))
    else:
        _print(line for offer in offers for line in _offer_lines(offer, _width()))
    return EXIT_DONE


def table(rows: Sequence[ModelRow], width: int) -> Iterator[StyledLine]:
    """The models below their servers and folders, in columns that are as wide as they need to be.

    A name is never cut: one that is too long for its column has a line of its own.
    """
    cells = [_cells(row) for row in rows]
    widths = [max(map(len, column)) for column in zip(TITLES, *cells, strict=True)]
    room = max(width, NARROW) - sum(widths[1:]) - len(GAP) * len(widths)
    widths[0] = min(widths[0], max(room, len(TITLES[0])))
    yield [(GAP + _columns(TITLES, widths), "dim")]
    for place, group in groupby(zip(rows, cells, strict=True), key=lambda pair: _place(pair[0])):
        yield [(place, "bold")]
        for row, texts in group:
            yield from _row_lines(row, texts, widths)
            yield from ([(part, "dim")] for part in _notes(row, width))


def _row_lines(row: ModelRow, texts: Sequence[str], widths: Sequence[int]) -> Iterator[StyledLine]:
    name, *rest, last = texts
    if len(name) > widths[0]:
        yield [(GAP + name, "")]
        name = ""
    style = {True: "green", False: "red", None: "dim"}[row.fits]
    yield [(GAP + _columns((name, *rest), widths) + GAP, ""), (last, style)]


def _columns(texts: Sequence[str], widths: Sequence[int]) -> str:
    """Texts in columns; sizes to the right, all else to the left."""
    padded = [
        text.rjust(width) if at == 1 else text.ljust(width)
        for at, (text, width) in enumerate(zip(texts, widths, strict=False))
    ]
    return GAP.join(padded)


def _cells(row: ModelRow) -> tuple[str, ...]:
    return (
        printable(row.name),
        size_text(row.size) if row.size else "",
        printable(row.quantisation),
        _window(row.window, row.trained),
        _say(row.tools),
        _say(row.thinking),
        "loaded" if row.loaded else _say(row.fits),
    )


def _place(row: ModelRow) -> str:
    """The heading that a row stands under: its server, or whose file it is."""
    server = row.where.startswith(("http://", "https://"))
    return printable(f"{row.source} at {row.where}" if server else f"{row.source}, on the disk")


def _notes(row: ModelRow, width: int) -> Iterator[str]:
    """Notes without a column: why it does not fit, its measured speed, its uses."""
    rates = [
        f"{verb} {rate:,.0f}" for verb, rate in (("reads", row.read_rate), ("writes", row.write_rate)) if rate
    ]
    notes = [
        row.why if row.fits is False else "",
        f"{' and '.join(rates)} tokens/s" if rates else "",
        f"good for: {', '.join(row.good_for)}" if row.good_for else "",
        f"not for: {', '.join(row.not_for)}" if row.not_for else "",
    ]
    text = printable("; ".join(filter(None, notes)))
    yield from textwrap.wrap(
        text, max(width, NARROW), initial_indent=INDENT, subsequent_indent=INDENT, break_on_hyphens=False
    )


def _offer_lines(offer: Recommended, width: int) -> Iterator[StyledLine]:
    about = f"{size_text(offer.size)}, with a window of {offer.window:,} tokens: {offer.why}."
    yield [(offer.name, "bold")]
    for text, style in ((about, ""), (f"It {offer.tight}." if offer.tight else "", "yellow")):
        for part in textwrap.wrap(text, max(width, NARROW), initial_indent=GAP, subsequent_indent=GAP):
            yield [(part, style)]
    yield [(f"{GAP}{offer.command}", "green")]
    yield [(f"{GAP}or: {offer.ollama_command}", "dim")]


def _window(running: int, trained: int) -> str:
    if running and trained and running != trained:
        return f"{_thousands(running)} of {_thousands(trained)}"
    return _thousands(running) if running else f"up to {_thousands(trained)}" if trained else ""


def _thousands(tokens: int) -> str:
    """`32k`, as windows are written: in units of 1024."""
    return f"{tokens / 1024:.0f}k" if tokens >= 1024 else str(tokens)


def _say(value: bool | None) -> str:
    return {True: "yes", False: "no", None: "?"}[value]


def _width() -> int:
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else UNBROKEN


def _print(lines: Iterable[StyledLine]) -> None:
    """Lines to stdout, in colour where that is a terminal."""
    if not sys.stdout.isatty():
        for line in lines:
            print("".join(text for text, _ in line).rstrip())
        return
    from rich.console import Console
    from rich.text import Text

    console = Console(highlight=False, soft_wrap=True)
    for line in lines:
        console.print(Text.assemble(*line))


# `kith models prices`: the table by which calls are priced, and where each row comes from.

_COLUMNS = ("input", "cached", "written", "output")


def prices_command(args: argparse.Namespace) -> int:
    """Each model's prices in US dollars for a million tokens."""
    settings = load_settings(find_root(args.folder), {})
    prices, own = load_prices(settings.config), settings.config / OWN_FILE
    rows = list(prices.rows.values())
    if args.json:
        print(json.dumps([_plain(row) for row in rows], indent=2))
        return EXIT_DONE
    lines = [line for row in rows for line in _lines(row)]
    width = max(len(name) for name, _ in lines)
    print(f"{'US dollars, a million tokens':{width}}" + "".join(f"{name:>9}" for name in _COLUMNS))
    for name, rate in lines:
        figures = (f"{getattr(rate, column):9.3f}" for column in _COLUMNS)
        cents = (f"{figure[:-1]} " if figure[-1] == "0" else figure for figure in figures)
        print(f"{printable(name):{width}}{''.join(cents)}".rstrip())
    sources = list(dict.fromkeys(row.source for row in rows))
    pages = " and ".join(source for source in sources if source != str(own))
    print(wrapped(f"\nFrom {pages}, as they were on {prices.seen} or later.", sys.stdout))
    print(wrapped(f"Your rows win: {own}" + ("" if str(own) in sources else " (none yet)"), sys.stdout))
    return EXIT_DONE


def _lines(price: Price) -> list[tuple[str, Rate]]:
    """A model's rates, each with what it is for."""
    today, rows = date.today(), [(price.model, price.rate)]
    if price.later and price.since and today >= price.since:
        return [(price.model, price.later)]
    if price.long:
        rows.append((f"  prompts above {price.above:,}", price.long))
    if price.later:
        rows.append((f"  from {price.since}", price.later))
    return rows


def _plain(price: Price) -> dict[str, Any]:
    days = {name: getattr(price, name) for name in ("seen", "since")}
    return {**encode(price), **{name: str(day) if day else None for name, day in days.items()}}
