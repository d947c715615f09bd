"""Long texts on a page: folded, cut in the middle where they are huge, and how much is not seen is told."""

from typing import Final

from kith.view.markup import NOTHING, Html, element, joined

_SHORT_CHARS, _SHORT_LINES = 600, 10  # what is shown at once
_MOST: Final = 24_000  # characters that one output puts on a page
_HEAD, _TAIL = 8_000, 4_000  # of a longer one
_LINE: Final = 160  # characters of what stands in one line


def clipped(foreign: str, most: int = _LINE) -> str:
    """One line of a text, with the number of characters that are left out."""
    line = " ".join(foreign.split("\n")).strip()
    return line if len(line) <= most else f"{line[:most]}… [{len(line) - most:,} characters left out]"


def output_html(
    output: str, name: str, whole: str | None = None, lost: int = 0, *, folded: bool = False
) -> Html:
    """An output under its name: open when it is short and not to be `folded`, else folded behind its size.

    `whole` is the address of all of it; None where a page must hold everything itself. `lost` counts bytes
    that were left out before anybody could keep them.
    """
    lines = output.count("\n") + (not output.endswith("\n"))
    gone = element("p", f"[{lost:,} bytes were not kept]", class_="cut") if lost else NOTHING
    if not output:
        return gone
    if not folded and len(output) <= _SHORT_CHARS and lines <= _SHORT_LINES:
        return joined((element("pre", output, class_="output"), gone))
    size = f"{name}: {lines:,} {'line' if lines == 1 else 'lines'}, {len(output):,} characters"
    summary = element("summary", size)
    return element("details", summary, _body(output, whole), gone, class_="fold")


def _body(output: str, whole: str | None) -> Html:
    if len(output) <= _MOST or whole is None:
        return element("pre", output, class_="output", tabindex="0")
    hidden = len(output) - _HEAD - _TAIL
    link = element("a", "Show all of it", href=whole)
    marker = element("p", f"[{hidden:,} characters are not shown here] ", link, class_="cut")
    head = element("pre", output[:_HEAD], class_="output", tabindex="0")
    return joined((head, marker, element("pre", output[-_TAIL:], class_="output", tabindex="0")))
