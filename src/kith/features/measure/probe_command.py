"""`kith models probe`: what is tried just now, then the card: what a model is good for, and what not."""

import argparse
import json
import shutil
import sys
import textwrap
from collections.abc import Iterator, Mapping
from contextlib import aclosing, closing
from typing import Any, Final, TextIO

from kith import __version__
from kith.agent.failed_runs import telling_end
from kith.agent.models import places_of, sources_of
from kith.core.errors import EXIT_DONE
from kith.core.event_loop import run_until_signal
from kith.core.events import Carded, Event, Notice, Progress, RunEnded, RunStarted, Stepped
from kith.core.run import new_id
from kith.features.measure.probe import probe
from kith.memory.log import LOG_FILE, Log
from kith.memory.session import Listener, Session
from kith.models.choose import choose_provider
from kith.models.forecasts import Foresee
from kith.models.stack import look
from kith.settings import Settings, load_settings
from kith.settings.features import find_part
from kith.terminal.options import find_root, settings_flags
from kith.terminal.streams import is_lively
from kith.terminal.terminal import PlainVoice, TerminalVoice
from kith.view.printing import printable

# A probe of the model that is chosen, in a session of its own: what it found stands on the model's
# card.


async def probe_model(chosen: Settings, log: Log, listener: Listener) -> tuple[str, dict[str, Any]]:
    """Measure the chosen model and keep the result on its card, in a session of its own. Raises KithError.

    Returns the model's name, and the facts on its card.
    """
    with Session(log, new_id(), [listener]) as session:
        session.emit(RunStarted("probe a model", "", chosen.model, __version__))
        with telling_end(session.emit):
            provider = await choose_provider(
                chosen.model, places_of(chosen), sources_of(chosen), session.emit
            )
            foresee: Foresee | None = find_part(lambda feature: feature.foresee)
            looking = look(provider, log.card, chosen.window, session.emit, foresee=foresee)
            async with aclosing(await looking) as opened:
                session.emit(Notice(f"Probing {opened.facts.name}; that takes a minute at most."))
                result = await probe(session.emit, opened.metered(tells=False), window=opened.window)
        name, facts = opened.facts.name, result.facts
        if opened.facts.digest:
            session.emit(Carded(opened.facts.digest, name, facts))
        session.emit(RunEnded("done", f"{name} was probed."))
    return name, facts


WORDS: Final = {"passed": "ok", "failed": "no", "not tested": "-"}
STYLES: Final = {"passed": "green", "failed": "red", "not tested": "dim"}
_INDENT: Final = 26  # columns of the word and the item's name


def probe_command(args: argparse.Namespace) -> int:
    """Measure a model, keep the result, and show it."""
    settings = load_settings(find_root(args.folder), settings_flags(args))
    lively = is_lively(sys.stderr)
    voice = TerminalVoice() if lively else PlainVoice()
    with closing(voice):
        listener = tell_steps(voice.hear, lively)
        model, facts = run_until_signal(probe_model(settings, Log(settings.state / LOG_FILE), listener))
    show_probe(model, facts, as_json=args.json)
    return EXIT_DONE


def tell_steps(hear: Listener, lively: bool) -> Listener:
    """A listener that says what is tried: before all that the model does, or else as a line of its own."""
    trying = ""

    def listen(event: Event, path: tuple[str, ...]) -> None:
        nonlocal trying
        match event:
            case Stepped(name, "began"):
                trying = name
                hear(Progress(trying, 0) if lively else Notice(f"{trying} ..."), path)
            case Progress(what, done, total) if trying:
                hear(Progress(trying if what == "asked" else f"{trying}: {what}", done, total), path)
            case _:
                hear(event, path)

    return listen


def show_probe(
    model: str, facts: Mapping[str, Any], *, as_json: bool = False, stream: TextIO | None = None
) -> None:
    """Show what a probe stored: `facts` as `ProbeResult.facts` gives them, or from the card."""
    stream = stream or sys.stdout
    if as_json:
        print(json.dumps({"model": model, **facts}, indent=2), file=stream)
        return
    from rich.console import Console
    from rich.text import Text

    probe = facts["probe"]
    width = max(50, min(100, shutil.get_terminal_size().columns))
    console = Console(file=stream, highlight=False, soft_wrap=True)
    console.print(Text(f"{printable(model)}, probed in {probe['seconds']:.0f} s\n", style="bold"))
    for line in _verdict(probe):
        for row in textwrap.wrap(line, width, subsequent_indent=" " * 10):
            console.print(Text(row))
    console.print()
    for line in _numbers(probe):
        console.print(Text(line))
    console.print()
    for state, name, line in _items(probe, width - _INDENT):
        word = Text(f"{WORDS.get(state, ''):>4}  ", style=STYLES.get(state, ""))
        console.print(word, f"{name:<19} {line}".rstrip(), sep="", markup=False)


def _verdict(probe: Mapping[str, Any]) -> Iterator[str]:
    """The two lines that matter."""
    yield f"good for: {'; '.join(probe['good_for']) or 'nothing that was tested'}"
    yield f"not for:  {'; '.join(probe['not_for']) or 'nothing was found that it cannot do'}"


def _numbers(probe: Mapping[str, Any]) -> Iterator[str]:
    """Speed at each depth, and thinking."""
    for speed in probe["speeds"]:
        rates = (_rate(speed["read_rate"], "reads"), _rate(speed["write_rate"], "writes"))
        clock = ", by the clock" if speed["by"] == "clock" else ""
        yield f"{', '.join(filter(None, rates)) or 'no speed'} with {speed['depth']:,} tokens{clock}"
    if probe["thinks"]:
        yield f"thinks first: {probe['thinking_tokens']:,} tokens about a trivial question"


def _rate(rate: float, verb: str) -> str:
    return f"{verb} {rate:,.{0 if rate >= 20 else 1}f} tokens/s" if rate else ""


def _items(probe: Mapping[str, Any], width: int) -> Iterator[tuple[str, str, str]]:
    """Each item's state, name, and why, on as many lines as it takes."""
    for item in probe["items"]:
        why = "not tested: " * (item["state"] == "not tested") + printable(item["why"])
        lines = textwrap.wrap(why, width, max_lines=3, placeholder=" ...") if item["why"] else [""]
        for number, line in enumerate(lines):
            yield ("", "", line) if number else (item["state"], item["name"], line)
