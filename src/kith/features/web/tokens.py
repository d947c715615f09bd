"""Authenticate: the token, what is derived from it, and the note that tells `kith client` of a server."""

import hmac
import json
import os
import re
import secrets
from hashlib import sha256
from pathlib import Path

from msgspec import Struct
from msgspec.structs import asdict

from kith.core.errors import UsageError
from kith.core.replace_file import put_private

CLIENT = "kith client"  # as it calls itself to a server
_BYTES = 32  # of randomness in a token
_SHORTEST = 32  # characters of a token that a person chose: what 128 bits take in hex
_LEGAL = re.compile(r"[A-Za-z0-9._~+/=-]*")  # what RFC 6750 lets a bearer token consist of
_NONCE = re.compile(r"[A-Za-z0-9_-]{16,128}")


def new_token() -> str:
    """A token that cannot be guessed."""
    return secrets.token_urlsafe(_BYTES)


def check_token(token: str) -> str:
    """A token that a person chose. Raises UsageError where it could be guessed, or cannot be sent."""
    if not _LEGAL.fullmatch(token):
        raise UsageError("A token consists of letters, digits and . _ ~ + / = - only.")
    if len(token) < _SHORTEST:
        raise UsageError(
            f"A token of {len(token)} characters could be guessed; take {_SHORTEST}: openssl rand -hex 16"
        )
    return token


def same(one: str, other: str) -> bool:
    """True if two secrets are equal, in a time that does not tell where they differ."""
    return hmac.compare_digest(one.encode(), other.encode())


def cookie_for(token: str, port: int) -> str:
    """The cookie in place of the token: browsers send a cookie to every port of a host."""
    return _derived(token, f"cookie {port}")


def ticket_for(token: str, port: int) -> str:
    """The ticket in place of the token on a browser's command line, which other users can read."""
    return _derived(token, f"ticket {port}")


def proof_for(token: str, port: int, nonce: str) -> str:
    """The answer to a nonce that only a holder of the token can give."""
    return _derived(token, f"hello {port} {nonce}")


def is_nonce(text: str) -> bool:
    return bool(_NONCE.fullmatch(text))


def _derived(token: str, what: str) -> str:
    return hmac.new(token.encode(), f"kith {what}".encode(), sha256).hexdigest()


class ServerNote(Struct, frozen=True):
    """A server that runs, or ran: for commands of the same user, in a file that nobody else can read."""

    url: str
    token: str
    port: int
    pid: int

    def write(self, state: Path) -> None:
        place = _place(state, self.port)
        state.mkdir(mode=0o700, parents=True, exist_ok=True)
        put_private(place, json.dumps(asdict(self)).encode())

    @property
    def alive(self) -> bool:
        """True if its process exists; its proof shows that it is the server."""
        try:
            os.kill(self.pid, 0)
        except OSError:
            return False
        return True


def _place(state: Path, port: int) -> Path:
    return state / f"serve-{port}.json"


def read_note(state: Path, port: int) -> ServerNote | None:
    """The note of the last server on this port; None where there is none, or others could have read it."""
    try:
        place = _place(state, port)
        facts = place.stat()
        if facts.st_mode & 0o077 or facts.st_uid != os.getuid():
            return None
        return ServerNote(**json.loads(place.read_text()))
    except (OSError, ValueError, TypeError):
        return None


def notes(state: Path) -> list[ServerNote]:
    """The servers whose processes are there, the newest first."""
    places = sorted(state.glob("serve-*.json"), key=lambda place: place.stat().st_mtime, reverse=True)
    names = (re.fullmatch(r"serve-(\d+)\.json", place.name) for place in places)
    read = (read_note(state, int(name[1])) for name in names if name)
    return [note for note in read if note and note.alive]


def forget(state: Path, port: int) -> None:
    """Take the note of a port away."""
    _place(state, port).unlink(missing_ok=True)
