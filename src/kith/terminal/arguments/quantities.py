"""What options take, read from words: numbers, amounts of money, moments, hosts."""

import argparse
import time
from pathlib import Path


def positive(text: str) -> int:
    """A number from 1 on; `16k` and `16_384` are ways to write one."""
    digits = text.replace("_", "")
    number, unit = (digits[:-1], 1024) if digits[-1:] in ("k", "K") else (digits, 1)
    if not number.isdigit() or int(number) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 1 on")
    return int(number) * unit


def some_id(text: str) -> str:
    """An id that was given: an empty one comes from an unset variable, and must not mean the newest."""
    if not text.strip():
        raise argparse.ArgumentTypeError("the id is empty")
    return text


def money(text: str) -> float:
    """US dollars, with or without their sign."""
    try:
        amount = float(text.removeprefix("$"))
    except ValueError:
        amount = -1.0
    if not 0 <= amount < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is not an amount of dollars")
    return amount


def percent(text: str) -> float:
    """From 0 to 100, with or without its sign."""
    try:
        share = float(text.removesuffix("%"))
    except ValueError:
        share = -1.0
    if not 0 <= share <= 100:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 0 to 100")
    return share


def moment(text: str) -> float:
    """Seconds of the epoch: so long ago, or the beginning of a day."""
    units = {"h": 3_600, "d": 86_400, "w": 604_800}
    count, unit = text[:-1], units.get(text[-1:], 0)
    if unit and count.isdigit():
        return time.time() - int(count) * unit
    try:
        return time.mktime(time.strptime(text, "%Y-%m-%d"))
    except (ValueError, OverflowError) as error:
        raise argparse.ArgumentTypeError(f"{text!r} is no time; 30d or 2026-11-01 is one") from error


def number(text: str) -> int:
    """From 0 on."""
    if not text.isdigit():
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 0 on")
    return int(text)


def port(text: str) -> int:
    """A port's number; 0 stands for any that is free."""
    value = number(text)
    if value > 65_535:
        raise argparse.ArgumentTypeError("takes a port from 0 to 65535")
    return value


def host(text: str) -> str:
    """A host that commands may reach, in clean form."""
    from kith.core.hosts import parse_host  # with ipaddress, for few command lines

    try:
        return str(parse_host(text))
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error).removesuffix(".")) from error


def place(text: str) -> str:
    """A file where it stands now, from wherever it is looked for later."""
    path = Path(text).expanduser().absolute()
    if not path.is_file():
        raise argparse.ArgumentTypeError(f"There is no file {text!r}")
    return str(path)
