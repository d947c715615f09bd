"""Bytes between a command and a host that it may reach, counted; and whether a tunnel goes where it said."""

import asyncio
from dataclasses import dataclass

from kith.core.hosts import clean_name
from kith.core.loops import leave
from kith.trees.network.heads import Head
from kith.trees.network.hello import HANDSHAKE, read_hello

CHUNK = 65_536
HELLO_SECONDS = 30.0
_OPEN = b"HTTP/1.1 200 Connection established\r\n\r\n"
_ALERT = bytes((21, 3, 3, 0, 2, 2, 112))  # TLS: fatal, unrecognized_name (RFC 6066, section 3)

# Other records of TLS: some servers pass over an alert, say, and read the name in what follows it.
_OTHER_RECORDS = (b"\x14", b"\x15", b"\x17", b"\x18")

Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


@dataclass(slots=True)
class Tally:
    """What went to one place and came from it, in bytes, and why something did not."""

    sent: int = 0
    received: int = 0
    refused: str = ""


async def relay(head: Head, client: Streams, server: Streams, tally: Tally) -> None:
    """Carry a request or a tunnel to its end: that is where the server's words end."""
    if head.tunnel:
        client[1].write(_OPEN)
    outward = asyncio.create_task(_outward(head, client, server[1], tally))
    try:
        while chunk := await server[0].read(CHUNK):
            tally.received += len(chunk)
            client[1].write(chunk)
            await client[1].drain()
    finally:
        await leave(outward)


async def _outward(head: Head, client: Streams, server: asyncio.StreamWriter, tally: Tally) -> None:
    """What the command sends. Where it fails, the server's end is closed, which ends the whole relay."""
    try:
        if head.tunnel:
            await _send(await _first_bytes(head, client[0]), server, tally)
            while chunk := await client[0].read(CHUNK):
                await _send(chunk, server, tally)
            server.write_eof()
            return
        await _send(head.forward, server, tally)
        left = head.length
        while left:
            chunk = await client[0].read(min(left, CHUNK))
            if not chunk:
                raise EOFError
            await _send(chunk, server, tally)
            left -= len(chunk)
    except ValueError as error:
        tally.refused = str(error)
        client[1].write(_ALERT)
        server.close()
    except (OSError, EOFError):
        server.close()


async def _send(chunk: bytes, server: asyncio.StreamWriter, tally: Tally) -> None:
    tally.sent += len(chunk)
    server.write(chunk)
    await server.drain()


async def _first_bytes(head: Head, client: asyncio.StreamReader) -> bytes:
    """What a tunnel begins with; a whole ClientHello where it is TLS. Raises ValueError for another name.

    Servers that stand behind one address choose by this name: without a look at it, the name that was
    allowed would open the door to all of them.
    """
    data = await client.read(CHUNK)
    if data[:1] in _OTHER_RECORDS:
        raise ValueError("begins TLS in another way than clients do")
    if data[:1] != bytes([HANDSHAKE]):
        return data
    async with asyncio.timeout(HELLO_SECONDS):
        while (name := read_hello(data)) is None:
            more = await client.read(CHUNK)
            if not more:
                raise EOFError
            data += more
    if name and clean_name(name) != head.name:
        raise ValueError(f"asks for {clean_name(name)} in a tunnel to it")
    return data
