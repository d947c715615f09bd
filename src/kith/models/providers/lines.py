"""Bytes of a stream into lines, and lines into server-sent events."""

from collections.abc import AsyncIterable, AsyncIterator

from kith.core.errors import ModelError

LONGEST_LINE = 64 * 1024 * 1024  # bytes; a whole file may come as one tool argument, more is a broken server


async def read_lines(chunks: AsyncIterable[bytes], longest: int = LONGEST_LINE) -> AsyncIterator[str]:
    r"""Whole lines, without their `\n` or `\r\n`; the last one may lack it.

    Chunks may be cut anywhere, inside a character too. Raises ModelError for a line above `longest` bytes.
    """
    pieces: list[bytes] = []
    size = 0
    async for chunk in chunks:
        *ended, rest = chunk.split(b"\n")
        for line in ended:
            yield _text(pieces, line)
            pieces, size = [], 0
        pieces.append(rest)
        size += len(rest)
        if size > longest:
            raise ModelError(f"the model server sent a line of more than {longest:,} bytes")
    if size:
        yield _text(pieces, b"")


async def read_events(lines: AsyncIterable[str]) -> AsyncIterator[str]:
    """The data of each server-sent event; comments (the pings of a busy server) and other fields are skipped.

    Format: https://html.spec.whatwg.org/multipage/server-sent-events.html#event-stream-interpretation, but
    an event that the end of the stream cut short of its blank line counts too.
    """
    data: list[str] = []
    async for line in lines:
        if line.startswith("data:"):
            data.append(line[5:].removeprefix(" "))
        elif not line and data:
            yield "\n".join(data)
            data = []
    if data:
        yield "\n".join(data)


def _text(pieces: list[bytes], last: bytes) -> str:
    line = b"".join((*pieces, last)).removesuffix(b"\r")
    return line.decode("utf-8", "replace").removeprefix("\ufeff")
