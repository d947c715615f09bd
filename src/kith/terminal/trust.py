"""`kith trust`: show what a folder configures for kith, and take a person's yes or no to it."""

import argparse
import sys
from pathlib import Path
from typing import Final

from kith.agent.trust import QUESTION, Offer, decide, forget, look_at
from kith.core.errors import EXIT_DONE, EXIT_REJECTED, UsageError
from kith.core.event_loop import run_loop
from kith.core.run import new_id
from kith.core.values import Question
from kith.memory.log import LOG_FILE, Log
from kith.memory.permits import everything_said, last_trusted
from kith.settings import find_folders
from kith.terminal.console_screen import ConsoleScreen
from kith.terminal.options import find_root
from kith.terminal.questions import ask
from kith.terminal.screen import Screen
from kith.terminal.show_change import show_file
from kith.view.lines import count, from_home, wrapped
from kith.view.printing import printable

_STANDING: Final = {
    "new": "You have not said yet whether it counts, so it is ignored.",
    "changed": "It has changed since you trusted it, so it is ignored.",
    "declined": "You said that it is to be ignored.",
    "trusted": "You trust it as it is.",
}


def trust_command(args: argparse.Namespace) -> int:
    """Show what there is, and ask; or list, or forget."""
    if args.list:
        return _list()
    root = find_root(args.folder)
    if args.forget:
        known = forget(root)
        print(
            "Forgotten; what this folder brings along is ignored."
            if known
            else "Nothing was said of this folder."
        )
        return EXIT_DONE
    screen, offer = _screen(), run_loop(look_at(root))
    show_offer(screen, root, offer)
    standing = offer.brought.standing
    if args.yes and standing == "unfit":
        raise UsageError("That cannot be trusted, so it stays ignored.")
    if args.show or (standing in ("", "unfit", "trusted") and not offer.unseen):
        return EXIT_DONE
    if not args.yes and not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise UsageError("Nobody could be asked, so it stays ignored; --yes trusts it as it is shown.")
    yes = args.yes or run_loop(ask_about(screen))
    by = "kith trust --yes" if args.yes else "kith trust"
    decide(root, offer.brought, yes=yes, by=by, nested=offer.nested)
    print("It counts from now on, as it is." if yes else "It stays ignored.")
    return EXIT_DONE if yes else EXIT_REJECTED


async def ask_at_start(screen: Screen, root: Path) -> bool:
    """Once for what is new in a folder: show it and ask; whether it counts from now on."""
    offer = await look_at(root)
    show_offer(screen, root, offer)
    yes = await ask_about(screen)
    decide(root, offer.brought, yes=yes, by="a conversation", nested=offer.nested)
    return yes


async def ask_about(screen: Screen) -> bool:
    """The question itself, on the terminal."""
    question = Question(new_id(), "trust", QUESTION, ("yes", "no"))
    return (await ask(screen, question)).choice == "yes"


def show_offer(screen: Screen, root: Path, offer: Offer) -> None:
    """Show the effect of each file, then the files themselves, or their differences."""
    brought, where = offer.brought, printable(from_home(str(root)))
    if brought.standing == "unfit":
        _say(screen, f"{where}: {printable(brought.fault)} All that it brings along is ignored.")
        return
    for fault in brought.left_out:
        _say(screen, printable(fault))
    if not offer.meaning:
        _say(screen, f"{where} has no configuration that kith would use.")
        return
    _say(screen, f"{where} brings along for kith:", style="bold")
    for path, lines in offer.meaning.items():
        _say(screen, f"  {printable(path)}")
        for line in lines:
            _say(screen, printable(f"    {line}"), indent=" " * 6)
    for file in offer.files:
        screen.show("")
        show_file(screen, file)
    since = " Above is how it differs from what you trusted last." if offer.again and offer.files else ""
    screen.show("")
    _say(screen, f"{_standing(offer)}{since}")


def _standing(offer: Offer) -> str:
    """The person's trust in the folder; the settings say nothing of notes inside it."""
    standing = offer.brought.standing
    if offer.unseen and standing in ("", "trusted"):
        return "Of the notes in folders inside, some are new to you, so those are ignored."
    return _STANDING[standing or "trusted"]


def _say(screen: Screen, text: str, indent: str = "", style: str = "") -> None:
    """Broken between words on a terminal, and whole in a pipe or a file."""
    screen.show(wrapped(text, sys.stdout, indent=indent), style=style)


def _list() -> int:
    """Every folder of which something was said, and what is trusted there."""
    _, state, _ = find_folders()
    said = everything_said(Log(state / LOG_FILE)) if (state / LOG_FILE).is_file() else {}
    for place, answers in said.items():
        trusted = last_trusted(answers)
        how = f"trusted as {trusted.digest[:12]}" if trusted else "ignored"
        more = f" ({count(len(answers), 'answer')})" if len(answers) > 1 else ""
        print(f"{printable(from_home(place))}  {how}{more}")
    if not said:
        print("Nothing was said of any folder yet.", file=sys.stderr)
    return EXIT_DONE


def _screen() -> Screen:
    from rich.console import Console

    return ConsoleScreen(Console(highlight=False))
