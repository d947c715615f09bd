"""What drawing costs: replies of Markdown in pieces, long paragraphs, unkind ones, and diffs.

    python benchmarks/rendering.py [LINES]

For a reply of so many LINES (5,000), in pieces of four characters: microseconds of a piece early and at the
end, with the unfinished block drawn at every eighth, and the slowest piece, in processor time. Then the same
figures for texts that are hard on a parser, and the time of diffs.
"""

import gc
import sys
import time
from collections.abc import Iterator
from itertools import cycle, islice

from kith.core.values import Change, FileChange
from kith.edits import summarise
from kith.terminal.rendering.diffs import diff_lines
from kith.terminal.rendering.look import Palette, paint
from kith.terminal.rendering.markdown import MarkdownStream

REPLY = """## Part

The mean of **no values** is `0.0` now, see [the docs](https://docs.python.org/3/library/statistics.html) for
what others do; this is a longer paragraph of _ordinary_ words such as models write between blocks of code.

- one item with `code` in it
- another one, **in bold**

```python
def mean(values: list[float]) -> float:
    \"\"\"The mean, or 0.0 for no values.\"\"\"
    return sum(values) / len(values) if values else 0.0  # never divides by zero
```

| name | value |
|------|------:|
| a    |     1 |
"""
UNKIND = {
    "one long paragraph": "word **bold** `code` text. ",
    "marks that never close": "*a *b _c ",
    "brackets": "[a ",
    "links that never close": "[a](b",
    "ticks": "`a ``b ",
    "quotes in quotes": "> ",
    "no blanks": "abcdefgh",
    "no blanks, wide": "日本語テキスト",
    "one line of code": "x=1;",
}
SIZE = 4_000  # characters of an unkind text
PIECE = 4


def feed(text: str) -> Iterator[float]:
    """Seconds of each piece of a text; at every eighth the unfinished block is drawn, too."""
    stream, palette = MarkdownStream(80), Palette("dark", 24)
    for number in range(0, len(text), PIECE):
        began = time.thread_time()
        lines = stream.take(text[number : number + PIECE])
        if number % (8 * PIECE) == 0:
            lines = [*lines, *stream.tail]
        paint(lines, palette)
        yield time.thread_time() - began
    stream.end()


def tell(name: str, seconds: list[float]) -> None:
    tenth = max(len(seconds) // 10, 1)
    first, last = (sum(part) / len(part) * 1e6 for part in (seconds[tenth : 2 * tenth], seconds[-tenth:]))
    most = max(seconds[tenth:]) * 1e3
    print(f"{name:28} {len(seconds):7,} {first:9.0f} {last:9.0f} {most:9.1f}", flush=True)


def tell_diff(name: str, file: FileChange) -> None:
    began = time.thread_time()
    lines = diff_lines(file, 80)
    drawn = time.thread_time() - began
    paint(lines, Palette("dark", 24))
    painted = time.thread_time() - began - drawn
    ms = f"{drawn * 1e3:.0f} ms, {painted * 1e3:.0f} ms more for colours"
    print(f"{name:28} {len(lines):7,} lines: {ms}")


def main() -> None:
    lines = int(sys.argv[1]) if len(sys.argv) > 1 else 5_000
    source = "\n".join(islice(cycle(REPLY.split("\n")), lines))
    gc.freeze()
    print(f"{'microseconds of a piece':28} {'pieces':>7} {'2nd tenth':>9} {'last':>9} {'worst ms':>9}")
    tell(f"a reply of {lines:,} lines", list(feed(source)))
    for name, text in UNKIND.items():
        whole = (text * SIZE)[:SIZE]
        tell(name, list(feed(f"```py\n{whole}" if "code" in name else whole)))
    code = REPLY.encode() * 50
    for name, change in (
        ("a diff of some lines", Change("a.py", code, code.replace(b"else 0.0", b"else 1.0", 5))),
        ("a diff of 1,000 lines", Change("a.py", b"x = 1\n" * 500, b"x = 2\n" * 500)),
        ("a diff of 20,000 lines", Change("a.py", b"x = 1\n" * 10_000, b"y = 'z'\n" * 10_000)),
    ):
        tell_diff(name, summarise((change,))[0])


if __name__ == "__main__":
    main()
