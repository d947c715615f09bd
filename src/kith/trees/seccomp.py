"""Build a seccomp filter: the system calls that a confined command may make.

The rules refuse calls that no build and no test needs, and that were used for sandbox escapes. Programs
that try such a call and can do without get an error that they know. Only code of another processor's kind
(32 bits) is killed, for which the numbers below mean other calls.
"""

import errno
import platform
import struct
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Final

from msgspec import Struct

# linux/seccomp.h, linux/filter.h: what a filter answers, and the four instructions it is made of.
ALLOW: Final = 0x7FFF0000
KILL: Final = 0x80000000
ERRNO: Final = 0x00050000
_LOAD, _EQUAL, _GREATER, _ANY_OF, _AND, _ANSWER = 0x20, 0x15, 0x25, 0x45, 0x54, 0x06
_NUMBER_AT, _MACHINE_AT = 0, 4  # struct seccomp_data


def _argument_at(place: int) -> int:
    return 16 + 8 * place  # the lower half: the kernel takes no more of these arguments


class Machine(Struct, frozen=True):
    """A processor's kind as the kernel names it (linux/audit.h), and its numbers for calls."""

    audit: int
    numbers: Mapping[str, int]
    foreign: int = 0  # numbers from here on are another interface on the same processor (x32)


# The same on every processor, since Linux 5.0 numbers calls for all at once.
_COMMON: Final = {
    "io_uring_setup": 425,
    "io_uring_enter": 426,
    "io_uring_register": 427,
    "open_tree": 428,
    "move_mount": 429,
    "fsopen": 430,
    "fsconfig": 431,
    "fsmount": 432,
    "fspick": 433,
    "clone3": 435,
    "pidfd_getfd": 438,
    "mount_setattr": 442,
    "quotactl_fd": 443,
    "open_tree_attr": 467,
}
_NEWEST: Final = 469  # Linux 6.17; what comes later is not there yet, as on an older kernel
_X86_64: Final = _COMMON | {
    "ioctl": 16,
    "socket": 41,
    "socketpair": 53,
    "clone": 56,
    "ptrace": 101,
    "syslog": 103,
    "mknod": 133,
    "uselib": 134,
    "personality": 135,
    "ustat": 136,
    "sysfs": 139,
    "vhangup": 153,
    "modify_ldt": 154,
    "pivot_root": 155,
    "sysctl": 156,
    "chroot": 161,
    "acct": 163,
    "settimeofday": 164,
    "mount": 165,
    "umount2": 166,
    "swapon": 167,
    "swapoff": 168,
    "reboot": 169,
    "iopl": 172,
    "ioperm": 173,
    "create_module": 174,
    "init_module": 175,
    "delete_module": 176,
    "get_kernel_syms": 177,
    "query_module": 178,
    "quotactl": 179,
    "nfsservctl": 180,
    "lookup_dcookie": 212,
    "clock_settime": 227,
    "kexec_load": 246,
    "add_key": 248,
    "request_key": 249,
    "keyctl": 250,
    "migrate_pages": 256,
    "mknodat": 259,
    "unshare": 272,
    "move_pages": 279,
    "perf_event_open": 298,
    "fanotify_init": 300,
    "name_to_handle_at": 303,
    "open_by_handle_at": 304,
    "clock_adjtime": 305,
    "setns": 308,
    "process_vm_readv": 310,
    "process_vm_writev": 311,
    "kcmp": 312,
    "finit_module": 313,
    "kexec_file_load": 320,
    "bpf": 321,
    "userfaultfd": 323,
}
_AARCH64: Final = _COMMON | {
    "lookup_dcookie": 18,
    "ioctl": 29,
    "mknodat": 33,
    "umount2": 39,
    "mount": 40,
    "pivot_root": 41,
    "nfsservctl": 42,
    "chroot": 51,
    "vhangup": 58,
    "quotactl": 60,
    "acct": 89,
    "personality": 92,
    "unshare": 97,
    "kexec_load": 104,
    "init_module": 105,
    "delete_module": 106,
    "clock_settime": 112,
    "syslog": 116,
    "ptrace": 117,
    "reboot": 142,
    "settimeofday": 170,
    "socket": 198,
    "socketpair": 199,
    "add_key": 217,
    "request_key": 218,
    "keyctl": 219,
    "clone": 220,
    "swapon": 224,
    "swapoff": 225,
    "migrate_pages": 238,
    "move_pages": 239,
    "perf_event_open": 241,
    "fanotify_init": 262,
    "name_to_handle_at": 264,
    "open_by_handle_at": 265,
    "clock_adjtime": 266,
    "setns": 268,
    "process_vm_readv": 270,
    "process_vm_writev": 271,
    "kcmp": 272,
    "finit_module": 273,
    "bpf": 280,
    "userfaultfd": 282,
    "kexec_file_load": 294,
}
MACHINES: Final = {
    "x86_64": Machine(0xC000003E, _X86_64, foreign=0x40000000),
    "aarch64": Machine(0xC00000B7, _AARCH64),
}

# Answered as by a kernel without them: who tries them (libuv, glibc, wine) knows another way.
_ABSENT: Final = ("clone3", "io_uring_setup", "io_uring_enter", "io_uring_register", "modify_ldt", "sysctl")
_CONDITIONAL: Final = ("socket", "socketpair", "clone", "unshare", "personality", "ioctl", "mknod", "mknodat")
_NAMESPACES: Final = 0x7E020080  # CLONE_NEW*: NS, CGROUP, UTS, IPC, USER, PID, NET, TIME
_CLONE_NAMESPACES: Final = _NAMESPACES & ~0xFF  # the lowest byte is a signal in clone
# Without randomized addresses (sanitizers, debuggers), 32 bits' uname, an old kernel's uname; nothing else.
_PERSONALITIES: Final = (0, 0x0008, 0x0020000, 0x0040000, 0x0020008, 0x0040008, 0xFFFFFFFF)
_TERMINALS: Final = (0x5412, 0x541C, 0x541D, 0x5423)  # TIOCSTI, TIOCLINUX, TIOCCONS, TIOCSETD
_UNIX, _INET, _INET6, _NETLINK = 1, 2, 10, 16
_STREAM, _DATAGRAM, _KIND = 1, 2, 0xF
_PROTOCOLS: Final = (0, 1, 6, 17, 58, 262)  # whatever fits, ICMP, TCP, UDP, ICMPv6, MPTCP
_KIND_OF_FILE, _CHARACTERS, _BLOCKS = 0xF000, 0x2000, 0x6000

_Code = list[tuple[int, int, int, int]]


@cache
def make_filter(machine: str = "") -> bytes:
    """The filter for a kind of processor (this one's), as bwrap reads it; b"" for one that is not known."""
    known = MACHINES.get(machine or (platform.machine() if struct.calcsize("P") == 8 else ""))
    return b"".join(struct.pack("<HBBI", *line) for line in _assemble(known)) if known else b""


def _assemble(machine: Machine) -> _Code:
    numbers = machine.numbers
    code: _Code = [
        (_LOAD, 0, 0, _MACHINE_AT),
        *_unless(machine.audit, KILL),
        (_LOAD, 0, 0, _NUMBER_AT),
    ]
    if machine.foreign:
        code += _when(_GREATER, machine.foreign - 1, _error(errno.ENOSYS))
    code += _when(_GREATER, _NEWEST, _error(errno.ENOSYS))
    for name, number in numbers.items():
        if name in _CONDITIONAL:
            rule = _RULES[name]
            code += [(_EQUAL, 0, len(rule), number), *rule]
        else:
            code += _when(_EQUAL, number, _error(errno.ENOSYS if name in _ABSENT else errno.EPERM))
    return [*code, (_ANSWER, 0, 0, ALLOW)]


def _error(number: int) -> int:
    return ERRNO | number


def _when(test: int, value: int, answer: int) -> _Code:
    return [(test, 0, 1, value), (_ANSWER, 0, 0, answer)]


def _unless(value: int, answer: int) -> _Code:
    return [(_EQUAL, 1, 0, value), (_ANSWER, 0, 0, answer)]


def _one_of(values: Sequence[int], otherwise: int) -> _Code:
    """Go on when what is loaded is among the values."""
    last = len(values)
    return [*((_EQUAL, last - at, 0, value) for at, value in enumerate(values)), (_ANSWER, 0, 0, otherwise)]


def _masked(place: int, mask: int) -> _Code:
    return [(_LOAD, 0, 0, _argument_at(place)), (_AND, 0, 0, mask)]


def _allow_rest(*parts: Iterable[tuple[int, int, int, int]]) -> _Code:
    return [*(line for part in parts for line in part), (_ANSWER, 0, 0, ALLOW)]


def _sockets() -> _Code:
    """UNIX ones, TCP and UDP, and what asks for the own addresses; other families reach past namespaces."""
    internet = _allow_rest(
        _masked(1, _KIND),
        _one_of((_STREAM, _DATAGRAM), _error(errno.EPERM)),
        [(_LOAD, 0, 0, _argument_at(2))],
        _one_of(_PROTOCOLS, _error(errno.EPROTONOSUPPORT)),
    )
    routes = _allow_rest([(_LOAD, 0, 0, _argument_at(2))], _unless(0, _error(errno.EPROTONOSUPPORT)))
    return [
        (_LOAD, 0, 0, _argument_at(0)),
        *_when(_EQUAL, _UNIX, ALLOW),
        (_EQUAL, 0, len(routes), _NETLINK),
        *routes,
        *_one_of((_INET, _INET6), _error(errno.EAFNOSUPPORT)),
        *internet,
    ]


def _files(place: int) -> _Code:
    """Pipes and the like, but no devices."""
    refused = _error(errno.EPERM)
    return _allow_rest(
        _masked(place, _KIND_OF_FILE), _when(_EQUAL, _CHARACTERS, refused), _when(_EQUAL, _BLOCKS, refused)
    )


def _first(*rule: tuple[int, int, int, int], place: int = 0) -> _Code:
    return _allow_rest([(_LOAD, 0, 0, _argument_at(place))], rule)


_RULES: Final[Mapping[str, _Code]] = {
    "socket": _sockets(),
    "socketpair": _first(*_unless(_UNIX, _error(errno.EAFNOSUPPORT))),
    "clone": _first(*_when(_ANY_OF, _CLONE_NAMESPACES, _error(errno.EPERM))),
    "unshare": _first(*_when(_ANY_OF, _NAMESPACES, _error(errno.EPERM))),
    "personality": _first(*_one_of(_PERSONALITIES, _error(errno.EPERM))),
    "ioctl": _first(
        *(line for each in _TERMINALS for line in _when(_EQUAL, each, _error(errno.EPERM))), place=1
    ),
    "mknod": _files(1),
    "mknodat": _files(2),
}
