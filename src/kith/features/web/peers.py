"""Find the owner of the process at the other end of a connection, where this machine can tell."""

import os
import sys
from collections.abc import Iterator
from ipaddress import IPv4Address, ip_address
from pathlib import Path
from typing import Final

_TABLES: Final = (Path("/proc/net/tcp"), Path("/proc/net/tcp6"))
_ESTABLISHED: Final = "01"  # the only state in which the kernel's table names the owner for sure
_ROOT, _NOBODY = 0, 65534  # _NOBODY: a user that this namespace does not know

End = tuple[str, int]  # address and port


def is_strange(peer: End, here: End) -> bool:
    """True if a connection from this machine comes from another user's process.

    The table has two rows for it, one for each end. Where it does not even show this end, it tells nothing:
    then nobody is strange. See proc_net_tcp in the Linux kernel's documentation.
    """
    if not ip_address(peer[0]).is_loopback:
        return False
    known, owners = _look(peer, here)
    return known and not (owners and owners <= {os.getuid(), _ROOT, _NOBODY})


def is_ours(peer: End, here: End) -> bool:
    """True if a connection is seen to come from a process of this user, on this machine."""
    owners = _look(peer, here)[1]
    return bool(owners) and owners <= {os.getuid(), _ROOT}


def can_tell() -> bool:
    """True if this machine shows the owners of connections."""
    return any(table.exists() for table in _TABLES)


def _look(peer: End, here: End) -> tuple[bool, set[int]]:
    """True if the table shows this end of a connection; also the owners of the other end."""
    theirs, ours = _written(peer), _written(here)
    owners: set[int] = set()
    known = False
    for local, remote, state, uid in _rows():
        known = known or (local in ours and remote in theirs)
        if local in theirs and remote in ours and state == _ESTABLISHED:
            owners.add(uid)
    return known, owners


def _rows() -> Iterator[tuple[str, str, str, int]]:
    for table in _TABLES:
        try:
            lines = table.read_text().splitlines()[1:]
        except OSError:
            continue
        for line in lines:
            fields = line.split()
            yield fields[1], fields[2], fields[3], int(fields[7])


def _written(end: End) -> set[str]:
    """The spellings of one end in the tables: words of four bytes as this machine's numbers, in hex."""
    address, port = ip_address(end[0]), end[1]
    forms = [address.packed]
    if isinstance(address, IPv4Address):
        forms.append(b"\0" * 10 + b"\xff\xff" + address.packed)
    return {f"{_hex(form)}:{port:04X}" for form in forms}


def _hex(packed: bytes) -> str:
    words = (packed[at : at + 4] for at in range(0, len(packed), 4))
    return "".join(f"{int.from_bytes(word, sys.byteorder):08X}" for word in words)
