"""`kith models prices`: the table by which calls are priced, and where each row comes from."""

import argparse
import json
import sys
from datetime import date
from typing import Any

from kith.agent.prices import OWN_FILE, Price, Rate, prices_of
from kith.core.codec import encode
from kith.core.errors import EXIT_DONE
from kith.settings import load_settings
from kith.terminal.folder import find_root
from kith.view.lines import wrapped
from kith.view.printing import printable

_COLUMNS = ("input", "cached", "written", "output")


def prices_command(args: argparse.Namespace) -> int:
    """Each model's prices in US dollars for a million tokens."""
    settings = load_settings(find_root(args.folder), {})
    prices, own = prices_of(settings), settings.config / OWN_FILE
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
