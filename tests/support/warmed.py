"""A process that has done once what every kith in a fork of it would do anew: a third of a short task's time.

It loads kith's modules and plays a task and some commands. What kith then remembers for the life of a process
is forgotten again, unless it follows from kith's own code alone.
"""

import gc
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from contextlib import ExitStack, chdir, redirect_stderr, redirect_stdout, suppress
from importlib import import_module
from pathlib import Path

from msgspec import Struct

LOADED = (
    *("kith.__main__", "kith.agent.reverting", "kith.terminal.models", "kith.terminal.conversation.app"),
    *("kith.terminal.rendering.diffs", "kith.terminal.status", "kith.features.build.command"),
    *("kith.models.providers.ollama", "kith.models.providers.openai_like", "kith.models.discovery.catalogue"),
    *("kith.trees.overlay", "kith.trees.copy", "kith.features.editors.agent", "acp"),
    *("kith.features.coach.adaptation", "kith.features.confer.history", "kith.features.engine.options"),
    *("kith.features.measure.rows", "kith.features.review.notes", "kith.features.background.tool"),
    *("pyflakes.checker", "importlib.resources.readers", "pydoc", "ctypes", "encodings.utf_8_sig"),
    *("httpx2", "httpcore2", "h11", "truststore", "anyio._backends._asyncio"),
)
# The caches of functions whose answers follow from kith's code and this machine, not from an environment.
KEPT = frozenset(
    {
        *("kith.core.codec._field_options", "kith.core.codec._reader", "kith.core.codec._hints"),
        *("kith.settings.features.known_features", "kith.trees.seccomp.make_filter"),
        *("kith.trees.sandbox._machine", "kith.trees.sandbox._secrets"),
        *("kith.edits.autorun._table", "kith.edits.autorun._patterns", "kith.edits.autorun._lines"),
        *("kith.context.task_kinds._patterns", "kith.context.task_words._general"),
        *("kith.gates.failure_output.failed_tests", "kith.agent.asking.roles._shipped"),
    }
)
_WRONG, _RIGHT = "(len(numbers) + 1)", "len(numbers)"
_FILES = {
    "average.py": f"def mean(numbers):\n    return sum(numbers) / {_WRONG}\n",
    "test_average.py": (
        "import unittest\n\nfrom average import mean\n\n\nclass TestMean(unittest.TestCase):\n"
        "    def test_mean(self):\n        self.assertEqual(mean([2, 4]), 3)\n"
    ),
}
_PLAY = [
    {"calls": [{"name": "edit", "args": {"path": "average.py", "old": _WRONG, "new": _RIGHT}}]},
    {"text": "Mended."},
]
_COMMANDS = (["waiting"], ["sessions"], ["diff"], ["undo"], ["config"], ["run", "--help"])
_PLAIN = re.compile(r"[\w./-]{1,200}")


class Warmth(Struct, frozen=True):
    """What the task that was played found out of the sandbox, and where it was played."""

    home: str
    root: str
    device: int
    abilities: str

    def tell(self, folder: Path, environ: Mapping[str, str]) -> None:
        """Let a kith that starts in a folder know it, as if it had run there before."""
        home = Path(environ.get("HOME", ""))
        file = _abilities_in(home)
        usual = {"XDG_STATE_HOME": ".local/state", "XDG_CACHE_HOME": ".cache"}
        if file.exists() or any(environ.get(name) != str(home / place) for name, place in usual.items()):
            return
        folder = folder.resolve()
        root = next((each for each in (folder, *folder.parents) if (each / ".git").is_dir()), folder)
        for place in (root, home):
            status = place.stat()
            if status.st_dev != self.device or status.st_uid != os.getuid():
                return
            if not _PLAIN.fullmatch(str(place)):
                return
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(self.abilities.replace(self.home, str(home)).replace(self.root, str(root)))


def warm() -> Warmth:
    """Load kith, play a task and some commands, and forget what depends on where it was played."""
    for name in LOADED:
        import_module(name)
    from kith.core.codec import KINDS
    from kith.settings.features import known_features

    known_features()
    kinds, environ = dict(KINDS), dict(os.environ)
    with tempfile.TemporaryDirectory(prefix="kith-warmed-") as name:
        place = Path(name).resolve()
        try:
            _play(place)
        finally:
            os.environ.clear()
            os.environ.update(environ)
        file = _abilities_in(place / "home")
        abilities = file.read_text() if file.exists() else "{}"
        warmth = Warmth(str(place / "home"), str(place / "tree"), place.stat().st_dev, abilities)
    KINDS.clear()
    KINDS.update(kinds)
    _forget()
    tempfile.tempdir = None  # each child has a TMPDIR of its own
    gc.unfreeze()  # what kith's own quick loading has put aside
    gc.collect()
    gc.freeze()  # a fork that looks for garbage would copy all of these pages
    return warmth


def _abilities_in(home: Path) -> Path:
    return home / ".cache" / "kith" / "abilities.json"


def _play(place: Path) -> None:
    from kith.cli import main

    home, root, script = place / "home", place / "tree", place / "script.json"
    home.mkdir()
    root.mkdir()
    for name, text in _FILES.items():
        (root / name).write_text(text)
    script.write_text(json.dumps(_PLAY))
    for name in [name for name in os.environ if name.startswith(("KITH_", "GIT_", "XDG_"))]:
        del os.environ[name]
    os.environ |= {"HOME": str(home), "KITH_DISCOVERY": "off", "GIT_CONFIG_NOSYSTEM": "1"}
    os.environ |= {"XDG_STATE_HOME": str(home / ".local/state"), "XDG_CACHE_HOME": str(home / ".cache")}
    author = ("-c", "user.name=A Person", "-c", "user.email=person@example.org")
    for words in (["init", "-q"], ["add", "."], [*author, "commit", "-q", "-m", "An average"]):
        subprocess.run(["git", *words], cwd=root, check=True)
    task = ["run", "--output-format", "json", "--yes", "-m", f"replay/{script}", "Mend mean in average.py"]
    with ExitStack() as stack:
        stack.enter_context(chdir(root))
        stack.callback(setattr, sys, "stdin", sys.stdin)
        sys.stdin = stack.enter_context(Path(os.devnull).open())
        for redirect, stream in ((redirect_stdout, "out"), (redirect_stderr, "err")):
            stack.enter_context(redirect(stack.enter_context((place / stream).open("w"))))
        for words in (task, *_COMMANDS):
            with suppress(SystemExit):
                main(words)


def _forget() -> None:
    for name, module in tuple(sys.modules.items()):
        if name == "kith" or name.startswith("kith."):
            for each in tuple(vars(module).values()):
                forget = getattr(each, "cache_clear", None)
                if forget and f"{each.__module__}.{each.__qualname__}" not in KEPT:
                    forget()
