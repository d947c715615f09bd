"""A tree full of traps, and a jail in which many commands run one after the other."""

import os
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from kith.shell import safe_environment

SECRET = "nobody-may-read-this"
_TRAP = '#!/bin/sh\ntouch "{}/fired-$$"\n'
_SETTINGS = {
    "core.fsmonitor": "../trap.sh",
    "core.pager": "../trap.sh",
    "diff.external": "../trap.sh",
    "diff.t.textconv": "../trap.sh",
    "filter.f.clean": "../trap.sh",
    "filter.f.smudge": "../trap.sh",
    "gpg.program": "../trap.sh",
    "core.sshCommand": "../trap.sh",
    "core.editor": "../trap.sh",
    "log.showSignature": "true",
    "alias.st": "!../trap.sh",
    "core.hooksPath": "hooks",
}


@dataclass(frozen=True)
class Jail:
    """`tree` is where commands run, with a secret and a place for canaries outside of it."""

    folder: Path

    @property
    def tree(self) -> Path:
        return self.folder / "tree"

    @classmethod
    def make(cls, folder: Path) -> "Jail":
        jail, tree = cls(folder), folder / "tree"
        (tree / "src").mkdir(parents=True)
        (tree / "hooks").mkdir()
        (folder / "outside").mkdir()
        (folder / "outside" / "secret.txt").write_text(SECRET)
        for place in (folder / "trap.sh", tree / "x.sh", tree / "hooks" / "post-index-change"):
            place.write_text(_TRAP.format(folder / "outside"))
            place.chmod(0o755)
        for name in ("a", "b", "a.py", "b.py", "src/a.py", "a.csv", "x", "c", "list"):
            (tree / name).write_text(f"def f():\n    return 'x y'  # {name}\n" * 3)
        (tree / "a.json").write_text('{"a": [1, 2]}')
        (tree / "s").write_text("1e touch a-canary\n")
        (tree / ".gitattributes").write_text("*.py diff=t filter=f\n")
        for words in (("init", "-q"), ("add", "."), ("commit", "-qm", "x")):
            name = ("-c", "user.name=x", "-c", "user.email=x@x")
            subprocess.run(["git", *name, *words], cwd=tree, check=True, capture_output=True)
        for key, value in _SETTINGS.items():
            subprocess.run(["git", "config", key, value], cwd=tree, check=True)
        (tree / "a.py").write_text("changed\n")
        return jail

    def state(self) -> dict[str, tuple[object, ...]]:
        """Every file with what is in it and when that was changed."""
        found: dict[str, tuple[object, ...]] = {}
        for place, _, files in os.walk(self.folder):
            for name in (*files, "."):
                path = Path(place) / name
                stat = path.lstat()
                found[str(path)] = (stat.st_mode, stat.st_mtime_ns, b"" if name == "." else path.read_bytes())
        return found

    def run(self, lines: Sequence[str]) -> bytes:
        """Run commands, one after the other, each in a bash of its own; what they print."""
        environment = {"HOME": "/tmp", "LANG": "C.UTF-8"} | safe_environment("/usr/bin:/bin", str(self.tree))
        words = ["bwrap", "--unshare-all", "--die-with-parent", "--ro-bind", "/", "/", "--dev", "/dev"]
        words += ["--proc", "/proc", "--tmpfs", "/tmp", "--bind", str(self.folder), str(self.folder)]
        script = 'while IFS= read -r -d "" line; do timeout 5 bash -c "$line" </dev/null 2>&1; done; true'
        given = b"".join(line.encode() + b"\0" for line in lines)
        jailed = [*words, "--chdir", str(self.tree), "bash", "--norc", "-c", script]
        return subprocess.run(jailed, input=given, capture_output=True, env=environment, check=True).stdout
