"""Stored pictures: what is drawn, as text, beside the tests; DRAW_PICTURES=1 draws them anew."""

import os
from collections.abc import Iterable
from pathlib import Path

from kith.terminal.rendering.spans import Line, plain

PLACE = Path(__file__).parent / "drawn"


def drawn(lines: Iterable[Line]) -> str:
    """Lines as words alone."""
    return "".join(f"{plain(line)}\n" for line in lines)


def with_roles(lines: Iterable[Line]) -> str:
    """Lines with the roles of their words: `{strong:words}`."""
    return "".join(
        "".join(f"{{{role}:{text}}}" if role else text for text, role in line) + "\n" for line in lines
    )


def check_picture(name: str, picture: str) -> None:
    """The picture is the one that is stored."""
    file = PLACE / name
    if os.environ.get("DRAW_PICTURES"):
        file.parent.mkdir(exist_ok=True)
        file.write_text(picture, encoding="utf-8")
    assert picture == file.read_text(encoding="utf-8")
