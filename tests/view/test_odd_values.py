"""Every message drawn with empty, long, wide and hostile values: whole lines that fit, and no leaks."""

import ast
import asyncio
import re
from collections.abc import Iterator
from typing import Any

import pytest

from kith.core.codec import KINDS
from kith.core.events import Delta
from kith.core.values import Question
from kith.memory.past import fold
from kith.memory.receipt import describe_run
from kith.settings.features import features
from kith.terminal.conversation.item_view import Voice
from kith.terminal.questions import ask
from kith.terminal.rendering.diffs import diff_lines
from kith.terminal.rendering.panels import key_lines, receipt_panel
from kith.terminal.rendering.spans import plain
from kith.terminal.report import receipt_lines
from kith.view.items import Items
from kith.view.printing import printable
from kith.view.wording import fact_line, line_of, status_of
from odd_values import faults, instances
from places import ROOT
from played_screen import PlayedScreen

SOURCE = ROOT / "src" / "kith"
WIDTHS = (60, 80, 120)
OWN = [each.load() for feature in features() for each in feature.events]
EVENTS = {kind.__name__: kind for kind in (*KINDS.values(), *OWN) if kind is not Delta}


class Seen(PlayedScreen):
    """A screen that keeps what lives on it, too, as wide as it is."""

    def live(self, name: str, region: Any) -> None:
        text = region(self.width) if callable(region) else region
        if text:
            self.told.append(text.rstrip("\n"))


def check(pieces: list[str], width: int | None) -> None:
    wrong = [(fault, piece[:400]) for piece in pieces for fault in faults(piece, width)]
    assert not wrong, "\n".join(f"{fault}: {piece!r}" for fault, piece in wrong[:4])


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", EVENTS)
def test_a_conversation_draws_every_event(name: str, width: int) -> None:
    told = []
    for event in instances(EVENTS[name]):
        screen = Seen(width=width)
        Voice(screen).hear(event, ())
        told.append(screen.text)
    check(told, width)


@pytest.mark.parametrize("name", EVENTS)
def test_lines_for_pipes_tell_every_event(name: str) -> None:
    told = []
    for event in instances(EVENTS[name]):
        told += [printable(line_of(changed.item)[1]) for changed in Items().take(event, ())]
        told += [printable(fact_line(event)), status_of(event) or ""]
    check(told, None)


@pytest.mark.parametrize("width", WIDTHS)
def test_questions_are_asked_in_whole_lines(width: int) -> None:
    for question in instances(Question):
        screen = Seen(["n"] * 4, width)
        asyncio.run(ask(screen, question))
        keys = [plain(line) for asked in screen.asked for line in key_lines(asked, width)]
        diffs = ["\n".join(map(plain, diff_lines(file, width))) for file in question.files]
        check(["\n".join(keys), *diffs], width)
        check([screen.text], None if question.kind == "change" else width)  # a plain diff stays as it is


@pytest.mark.parametrize("width", WIDTHS)
def test_receipts_fit_whatever_was_done(width: int) -> None:
    for rows in zip(
        *(list(instances(EVENTS[name])) for name in ("RunStarted", "Called", "Judged", "Applied")),
        strict=True,
    ):
        lines = receipt_lines(describe_run("0123456789ab", fold(rows)))
        screen = PlayedScreen(width=width)
        screen.show_lines(receipt_panel(lines, width, screen.look.glyphs))
        check(screen.told, width)


# --- errors ----------------------------------------------------------------------------------


def raised() -> Iterator[tuple[str, str]]:
    """The place and the words of every error that the source raises, empty values left out."""
    for file in sorted(SOURCE.rglob("*.py")):
        text = file.read_text(encoding="utf-8")
        for node in ast.walk(ast.parse(text)) if "raise " in text else ():
            call = node.exc if isinstance(node, ast.Raise) else None
            if not isinstance(call, ast.Call) or not ast.unparse(call.func).endswith("Error"):
                continue
            if call.args and isinstance(call.args[0], ast.JoinedStr | ast.Constant):
                yield f"{file.relative_to(SOURCE)}:{node.lineno}", _words(call.args[0])


def _words(text: ast.JoinedStr | ast.Constant) -> str:
    parts = text.values if isinstance(text, ast.JoinedStr) else [text]
    return "".join(str(part.value) if isinstance(part, ast.Constant) else "{}" for part in parts)


def test_no_error_repeats_the_name_of_the_program_or_ends_in_a_colon() -> None:
    every = dict(raised())
    assert len(every) > 300
    assert [place for place, words in every.items() if re.match(r"kith(?: [a-z]+)*:", words)] == []
    assert [place for place, words in every.items() if words.rstrip().endswith(":")] == []
