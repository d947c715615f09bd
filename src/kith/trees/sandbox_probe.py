"""Probe this machine's sandbox once; the result is kept until it restarts."""

import json
import os
import shutil
import subprocess
import sys
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from kith.core.errors import KithError
from kith.core.workspace import ExecLimits
from kith.trees.sandbox import BARE, Wires, bwrap_options, launch_of
from kith.trees.sandbox_view import Box
from kith.trees.trial_folder import claim_folder

_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class Abilities:
    """The sandbox features that work here; for each missing one the reason in one sentence ("": works)."""

    no_sandbox: str = ""
    no_overlay: str = ""

    @property
    def sandbox(self) -> bool:
        return not self.no_sandbox

    @property
    def overlay(self) -> bool:
        return not self.no_overlay


def probe(root: Path, state: Path, cache: Path) -> Abilities:
    """Probe the sandbox for the tree at `root` with trials in `state`; `cache` keeps the result."""
    file = cache / "abilities.json"
    key = "\n".join((_boot(), str(_user()), str(shutil.which("bwrap")), str(state), str(root)))
    known: dict[str, dict[str, str]] = {}
    with suppress(OSError, ValueError):
        known = json.loads(file.read_text())
    if isinstance(known, dict) and isinstance(known.get(key), dict):
        with suppress(TypeError):
            return Abilities(**known[key])
    found = look(root, state)
    boot = _boot()
    kept = {old: value for old, value in known.items() if old.startswith(boot + "\n")}
    with suppress(OSError):
        cache.mkdir(parents=True, exist_ok=True)
        new = file.with_suffix(f".{os.getpid()}")
        new.write_text(json.dumps({**kept, key: asdict(found)}))
        new.replace(file)
    return found


def look(root: Path, state: Path) -> Abilities:
    """Try it: run a command in a sandbox, and one in a sandbox on an overlay."""
    no_sandbox = _try_sandbox(root)
    return Abilities(no_sandbox, no_sandbox or _try_overlay(root, state))


def _try_sandbox(root: Path) -> str:
    if sys.platform != "linux":
        return "there is no sandbox for commands on this system"
    if not shutil.which("bwrap"):
        return "bubblewrap is not installed (the command is called bwrap)"
    complaint = _run(Box(root, root, False))
    return f"bubblewrap does not work here ({complaint})" if complaint else ""


def _try_overlay(root: Path, state: Path) -> str:
    owner = root.stat()
    if (owner.st_uid, owner.st_gid) != (os.geteuid(), os.getegid()):
        return f"{root} belongs to another user or group"
    try:
        with claim_folder(state, root) as folder:
            for layer in ("upper", "work"):
                (folder / layer).mkdir()
            os.mknod(folder / "whiteout", 0o020000, 0)
            os.setxattr(folder / "upper", "user.overlay.opaque", b"n")
            os.removexattr(folder / "upper", "user.overlay.opaque")
            complaint = _run(Box(root, root, True, overlay=folder))
    except (OSError, KithError) as error:
        complaint = str(error)
    return f"overlays cannot be mounted here ({complaint})" if complaint else ""


def _run(box: Box) -> str:
    """ "" when a command succeeds in the box, else the first line of the complaint."""
    with Wires() as wires, launch_of(box, ExecLimits()) as launch:
        wires.tell(bwrap_options(box, {}))
        argv = launch.argv(wires.bwrap(["true"]))
        try:
            ran = subprocess.run(
                argv,
                env=BARE,
                cwd="/",
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=_SECONDS,
                pass_fds=wires.pass_fds,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            return str(error)
    lines = ran.stderr.decode(errors="replace").strip().splitlines()
    return "" if ran.returncode == 0 else (lines or [f"exit code {ran.returncode}"])[0]


def _boot() -> str:
    """A name for the time since the machine started; the next start may have other settings."""
    with suppress(OSError):
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    return ""


def _user() -> int:
    return os.getuid() if sys.platform != "win32" else 0
