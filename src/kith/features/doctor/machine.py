"""The machine: memory, the sandbox, git, ripgrep, the terminal, proxies, and how long kith takes to start."""

import os
import re
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Final, TextIO

from kith.core.errors import BusyError, TreeError
from kith.core.numbers import size_text
from kith.features.doctor.check import Check, Level, Tell, closed
from kith.models.discovery.machine import read_memory
from kith.models.discovery.memory import Memory
from kith.settings import Settings
from kith.trees.environment import find_surroundings
from kith.trees.git import run_git
from kith.trees.sandbox import probe

GIT_NEEDED: Final = (2, 30)
LEAST_MEMORY: Final = 3 << 30  # bytes: what a small model at 4 bits takes, with its window
SLOW_START_S: Final = 1.5
_INSTALLERS: Final = {
    "brew": "brew install",
    "apt-get": "sudo apt-get install",
    "dnf": "sudo dnf install",
    "pacman": "sudo pacman -S",
    "zypper": "sudo zypper install",
    "apk": "sudo apk add",
    "winget": "winget install",
}
# Why a kernel may keep users from making a sandbox: a file, the text in it that forbids, the mending.
_FORBIDDING: Final = (
    ("kernel/apparmor_restrict_unprivileged_userns", "1", "kernel.apparmor_restrict_unprivileged_userns=0"),
    ("kernel/unprivileged_userns_clone", "0", "kernel.unprivileged_userns_clone=1"),
    ("user/max_user_namespaces", "0", "user.max_user_namespaces=15000"),
)


def install_command(package: str) -> str:
    """Return the install command of this machine's package manager."""
    found = next((command for program, command in _INSTALLERS.items() if shutil.which(program)), "install")
    return f"{found} {package}"


def check_memory(tell: Tell) -> None:
    """Check if a model fits into memory."""
    tell(judge_memory(read_memory(cards=True)))


def judge_memory(memory: Memory) -> Check:
    """Judge if the free memory is enough for a model that writes code."""
    cards = f", and {size_text(memory.gpu)} on graphics cards" if memory.gpu else ""
    limit = f" (the limit {memory.limit})" if memory.limit else ""
    text = f"{size_text(memory.available)} of {size_text(memory.total)} are free{limit}{cards}"
    if memory.budget >= LEAST_MEMORY:
        return Check("memory", "green", f"{text}.")
    fix = "close other programs, or use a model on another machine"
    return Check("memory", "yellow", f"{text}: too little for a model that writes code.", fix)


def check_sandbox(root: Path, settings: Settings, tell: Tell) -> None:
    """Check that commands run in a sandbox, and show the cost of a trial."""
    if settings.sandbox == "off":
        text = "The sandbox is off: a model's commands run with all your rights."
        tell(Check("sandbox", "yellow", text, 'sandbox = "auto"'))
        return
    if settings.sandbox == "outside":
        text = "The sandbox is outside: you said that a container or virtual machine confines commands."
        tell(Check("sandbox", "green", text))
        return
    try:
        can = probe(root.resolve(), settings.state.absolute(), settings.cache.absolute())
    except BusyError as error:
        tell(Check("sandbox", "red", str(error), "kith doctor, once less runs here"))
        return
    if not can.sandbox:
        level: Level = "red" if settings.sandbox == "require" else "yellow"
        asked = "kith asks before every command that can change something"
        text = f"No sandbox: {can.no_sandbox}. {asked}."
        tell(Check("sandbox", level, text, _fix_sandbox(can.no_sandbox)))
    elif not can.overlay:
        tell(
            Check(
                "sandbox", "green", f"Commands run in a sandbox; trials are copies, since {can.no_overlay}."
            )
        )
    else:
        tell(Check("sandbox", "green", "Commands run in a sandbox, and trials need no copy."))
    if can.sandbox and (shown := find_surroundings(root.resolve(), settings.pass_env).folders):
        places = ", ".join(map(str, shown))
        tell(Check("sandbox", "green", f"Besides the system's programs, commands can read: {places}."))


def _fix_sandbox(reason: str) -> str:
    if "not installed" in reason:
        return install_command("bubblewrap")
    for name, forbids, setting in _FORBIDDING:
        file = Path("/proc/sys") / name
        if file.exists() and file.read_text().strip() == forbids:
            return f"sudo sysctl {setting}"
    return ""


async def check_git(root: Path, tell: Tell) -> None:
    """Check that git exists, is new enough, and accepts this folder."""
    try:
        said = (await run_git(root, "version")).stdout.decode(errors="replace")
        version = tuple(int(number) for number in re.findall(r"\d+", said)[:2])
        if version < GIT_NEEDED:
            text = f"{said.strip().capitalize()} is too old: kith was tested with 2.30 and newer."
            tell(Check("git", "yellow", text, install_command("git")))
            return
        top = await run_git(root, "rev-parse", "--show-toplevel")
    except TreeError as error:
        text = f"{str(error).capitalize()}; kith works without it, but sees no history and ignores no files."
        tell(Check("git", "yellow", text, install_command("git")))
        return
    name = f"Git {'.'.join(map(str, version))}"
    if top.ok:
        tell(Check("git", "green", f"{name}; this folder is a repository."))
    elif b"dubious ownership" in top.stderr:
        text = f"{name} refuses this repository, because another user owns it."
        tell(
            Check("git", "yellow", text, f"git config --global --add safe.directory {shlex.quote(str(root))}")
        )
    elif b"not a git repository" in top.stderr:
        tell(Check("git", "green", f"{name}; this folder is not a repository, but kith undo works."))
    else:
        tell(Check("git", "yellow", closed(f"{name} says of this folder: {top.complaint}"), "git status"))


def check_search(tell: Tell) -> None:
    """Check for ripgrep."""
    if shutil.which("rg"):
        tell(Check("search", "green", "Ripgrep is there."))
    else:
        text = "Ripgrep is not installed; searching large projects is slower without it."
        tell(Check("search", "yellow", text, install_command("ripgrep")))


def check_terminal(stream: TextIO, environ: Mapping[str, str], tell: Tell) -> None:
    """Check that the terminal can show all characters, and colour."""
    encoding = (stream.encoding or "ascii").lower().replace("_", "-")
    if encoding not in ("utf-8", "utf8"):
        text = f"The output is written in {encoding}, which lacks many characters; kith spells them out."
        tell(Check("terminal", "yellow", text, "export LANG=C.UTF-8"))
        return
    why = ""
    if not stream.isatty():
        why = "the output goes to a file or a pipe"
    elif environ.get("NO_COLOR"):
        why = "NO_COLOR is set"
    elif environ.get("TERM", "dumb") == "dumb" and os.name != "nt":
        why = "TERM names no terminal that has any"
    tell(Check("terminal", "green", f"UTF-8, without colour: {why}." if why else "UTF-8 and colour."))


def check_proxies(environ: Mapping[str, str], tell: Tell) -> None:
    """Check if a proxy in the environment would catch requests to this machine."""
    names = [name for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY") if environ.get(name)]
    if not names:
        tell(Check("proxy", "green", "No proxy catches requests to this machine."))
        return
    exempt = environ.get("no_proxy") or environ.get("NO_PROXY") or ""
    spared = {host.strip().lstrip(".") for host in exempt.split(",")}
    caught = [host for host in ("localhost", "127.0.0.1") if not spared & {host, "*"}]
    if not caught:
        tell(Check("proxy", "green", f"{names[0]} is set, and excludes this machine."))
        return
    text = f"{names[0]} catches {' and '.join(caught)} too: kith bypasses it, other programs do not."
    wanted = ",".join(filter(None, [exempt, "localhost", "127.0.0.1", "::1"]))
    tell(Check("proxy", "yellow", text, f"export NO_PROXY={wanted}"))


def check_start(tell: Tell) -> None:
    """Measure kith's start-up time."""
    command = [sys.executable, "-P", "-m", "kith", "--version"]
    began = time.monotonic()
    try:
        ran = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=10, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        tell(Check("start", "yellow", closed(f"kith could not be started again: {error}")))
        return
    took = time.monotonic() - began
    if ran.returncode:
        lines = ran.stderr.decode(errors="replace").strip().splitlines() or ["no reason given"]
        tell(Check("start", "red", closed(f"kith does not start: {lines[-1]}"), " ".join(command)))
    elif took > SLOW_START_S:
        text = f"kith takes {took:.1f} s to start; a quiet machine needs a tenth of it."
        tell(Check("start", "yellow", text, f"{sys.executable} -X importtime -m kith --version"))
    else:
        tell(Check("start", "green", f"kith starts in {took:.2f} s."))
