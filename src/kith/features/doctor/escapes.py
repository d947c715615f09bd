"""What the doctor tries in order to get out of a sandbox: attempts in words, and the programs that make them.

Every program is Python, with the names of `PRELUDE`. It calls `reached()` when it got what it should not, and
otherwise ends with a line that says what stood in the way. What it did outside is looked for there, too.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from kith.trees.seccomp import MACHINES

REACHED: Final = "kith-probe-reached"
# `outside`, `port`, `process`, `asleep` and the like are given in front of it; the folder is the tree's.
PRELUDE: Final = f"""
import ctypes, errno, fcntl, os, socket, subprocess, sys, time
libc = ctypes.CDLL(None, use_errno=True)
def reached(): print({REACHED!r}, flush=True)
def call(name, *args):
    if name not in calls: print("no such call here"); sys.exit()
    got = libc.syscall(ctypes.c_long(calls[name]), *args)
    if got < 0: print(os.strerror(ctypes.get_errno()))
    return got
def refused(name, *args):
    if call(name, *args) >= 0: reached()
def sends(kind, address, how=socket.SOCK_STREAM):
    with socket.socket(kind, how) as end:
        end.settimeout(1); end.connect(address); end.send(b"x")
def writes(path):
    with open(path, "a") as file: file.write("x")
    reached()
def opens(path):
    with open(path, "rb") as file: file.read(1)
    reached()
"""


@dataclass(frozen=True, slots=True)
class Attempt:
    """A way out: what it is about, what is tried, and with what program, which may have to be stopped."""

    topic: str
    tried: str
    program: str

    @property
    def ends(self) -> bool:
        return self.topic != "limits"


_FILES: Final = (
    ("write to /etc", "writes('/etc/kith-probe')"),
    ("write to /usr", "writes('/usr/kith-probe')"),
    ("write to a folder beside the project", "writes(outside + '/new')"),
    ("write through a link that leads out", "open('leads-out/new', 'w').write('x')"),
    ("write through a hard link to a file", "open('hard-link', 'a').write(canary)"),
    ("change the project itself, past the trial", "open('file', 'a').write(canary)"),
    ("plant a git hook", "os.makedirs('.git/hooks', exist_ok=True); writes('.git/hooks/post-commit')"),
    ("leave a program with the set-user-ID bit", "open('su', 'w').close(); os.chmod('su', 0o4755)"),
    ("read a file beside the project", "print(open(outside + '/secret').read())"),
    ("read the password file", "opens('/etc/shadow')"),
    ("read a file of the home folder", "reached() if files_in(home) else print('none is there')"),
    ("read kith's own files", "reached() if os.listdir(state) else print('none is there')"),
    ("make a device", "os.mknod('/tmp/disk', 0o60600, os.makedev(8, 0)); reached()"),
    ("open the machine's memory", "opens('/dev/mem')"),
    ("open a file by its number on the disk", "refused('open_by_handle_at', -100, b'x' * 64, 0)"),
)
_NAMESPACES: Final = (
    ("mount everything writable again", "refused('mount', b'/', b'/', None, 32 | 4096, None)"),
    ("take a mount away", "refused('umount2', b'/tmp', 2)"),
    ("change the root folder", "os.chroot('/tmp'); reached()"),
    ("make a user namespace", "refused('unshare', 0x10000000)"),
    ("make one while starting a process", "refused('clone', 0x10000000 | 17, None, None, None, None)"),
    ("enter the namespaces of the first process", "refused('setns', os.open('/proc/1/ns/mnt', 0), 0)"),
    ("look through the first process's root", "print(os.listdir('/proc/1/root' + outside))"),
    ("have a capability", "reached() if capabilities() else print('there is none')"),
    (
        "gain one from a program",
        "reached() if 'NoNewPrivs:\\t0' in status() else print('programs gain none')",
    ),
)
_PROCESSES: Final = (
    ("see a process outside", "reached() if os.path.exists(f'/proc/{process}') else print('out of sight')"),
    ("signal a process outside", "os.kill(process, 0); reached()"),
    ("trace a process", "refused('ptrace', 0, 0, 0, 0)"),
    ("read another process's memory", "refused('process_vm_readv', os.getppid(), None, 0, None, 0, 0)"),
    ("outlive the command", "subprocess.Popen(['sleep', str(asleep)], start_new_session=True)"),
)
_NETWORK: Final = (
    ("connect to this machine", "sends(socket.AF_INET, ('127.0.0.1', port))"),
    ("send a datagram to this machine", "sends(socket.AF_INET, ('127.0.0.1', port), socket.SOCK_DGRAM)"),
    ("connect to the internet", "sends(socket.AF_INET, ('1.1.1.1', 53)); reached()"),
    ("connect to a socket beside the project", "sends(socket.AF_UNIX, outside + '/socket')"),
    ("connect to a socket in the project", "sends(socket.AF_UNIX, 'socket')"),
    ("connect to a socket without a file", "sends(socket.AF_UNIX, '\\0kith-probe-%d' % port)"),
    ("listen to the network's packets", "socket.socket(17, socket.SOCK_RAW); reached()"),
    ("talk to the host of a virtual machine", "socket.socket(40, socket.SOCK_STREAM); reached()"),
    ("talk to the kernel's own sockets", "socket.socket(16, socket.SOCK_RAW, 9); reached()"),
)
_KERNEL: Final = (
    ("change a setting of the kernel", "open('/proc/sys/kernel/core_pattern', 'r+'); reached()"),
    ("use the emergency key", "open('/proc/sysrq-trigger', 'w'); reached()"),
    ("change a setting of a device", "open('/sys/kernel/mm/transparent_hugepage/enabled', 'r+'); reached()"),
    ("read the kernel's messages", "refused('syslog', 3, ctypes.create_string_buffer(9), 9)"),
    ("read the keys of the session", "refused('keyctl', 0, -3, 1)"),
    ("store a key", "refused('add_key', b'user', b'kith', b'x', 1, -2)"),
    ("use io_uring", "refused('io_uring_setup', 1, ctypes.create_string_buffer(256))"),
    ("load a program into the kernel", "refused('bpf', 0, ctypes.create_string_buffer(128), 128)"),
    ("watch the processor", "refused('perf_event_open', ctypes.create_string_buffer(128), 0, -1, -1, 0)"),
    ("handle faults of memory", "refused('userfaultfd', 1)"),
    ("type into a terminal", "fcntl.ioctl(os.openpty()[1], 0x5412, b'x'); reached()"),
    ("set the clock", "time.clock_settime(0, time.time()); reached()"),
)
_SECRETS: Final = (
    ("find a key in the environment", "print(*os.environ.values())"),
    ("find it in the first process's", "print(open('/proc/1/environ').read())"),
    ("find it in any process's", "print(*(open(f'/proc/{n}/environ').read() for n in numbers()))"),
    ("find where kith hides things", "print(*(open(f'/proc/{n}/cmdline').read() for n in numbers()))"),
)
_LIMITS: Final = (
    ("start processes without end", "many(lambda: os.fork() or time.sleep(30) or os._exit(0))"),
    ("open files without end", "many(lambda: os.open('/dev/null', 0))"),
    ("write a file without end", "os.posix_fallocate(os.open('large', 65), 0, 1 << 40); reached()"),
    ("fill the memory with files", "too_roomy('/var/tmp', '/dev/shm', '/run')"),
    ("use memory without end", "grow(); reached()"),
    ("print without end", "while True: os.write(1, b'y' * 65536)"),
    ("run without end", "time.sleep(3600); reached()"),
)
_MORE: Final = """
def status(): return open('/proc/self/status').read()
def capabilities(): return int(status().split('CapEff:')[1].split()[0], 16)
def numbers(): return [n for n in os.listdir('/proc') if n.isdigit() and n != str(os.getpid())]
def many(make):
    for _ in range(5000): make()
    reached()
def files_in(folder): return [n for n in os.listdir(folder) if os.path.isfile(os.path.join(folder, n))]
def too_roomy(*folders):
    found = [os.statvfs(each) for each in {os.stat(each).st_dev: each for each in folders}.values()]
    room = sum(each.f_blocks * each.f_frsize for each in found)
    whole = os.sysconf('SC_PHYS_PAGES') * os.sysconf('SC_PAGE_SIZE')
    reached() if room > max(whole * 3 // 4, 1 << 28) else print('they are limited')
def grow():
    held = []
    for _ in range(64): held.append(bytearray(b'x' * (1 << 26)))
"""
TOPICS: Final = {
    "files": _FILES,
    "namespaces": _NAMESPACES,
    "processes": _PROCESSES,
    "network": _NETWORK,
    "kernel": _KERNEL,
    "secrets": _SECRETS,
    "limits": _LIMITS,
}


def attempts() -> Iterator[Attempt]:
    """All of them, by topic."""
    for topic, rows in TOPICS.items():
        for tried, program in rows:
            yield Attempt(topic, tried, program)


def program_of(attempt: Attempt, given: dict[str, object], machine: str) -> str:
    """The whole program: what it is given, the prelude, and the attempt."""
    known = {**given, "calls": dict(MACHINES[machine].numbers) if machine in MACHINES else {}}
    lines = [f"{name} = {value!r}" for name, value in known.items()]
    body = "\n".join(f"    {line}" for line in attempt.program.splitlines())
    guarded = f"try:\n{body}\nexcept (OSError, MemoryError) as error:\n    print(error)"
    return "\n".join([*lines, PRELUDE, _MORE, guarded])
