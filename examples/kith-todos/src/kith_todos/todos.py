"""TODO comments of a project: found, listed, and counted before and after a change."""

import argparse
import re
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

from kith.core.run import Gate, Run
from kith.core.values import Changes, Verdict
from kith.settings import load_settings
from kith.terminal.conversation.talk import Talk


class TodoSettings(Struct, frozen=True):
    """`[todos]` in the configuration: the words that mark what is left to do."""

    words: tuple[str, ...] = ("TODO", "FIXME")


def find_todos(text: str, words: tuple[str, ...]) -> Iterator[tuple[int, str]]:
    """The lines with a comment that begins with one of the words, from 1."""
    pattern = re.compile(rf"(?:#|//)\s*(?:{'|'.join(map(re.escape, words))})\b.*")
    for number, line in enumerate(text.splitlines(), 1):
        if found := pattern.search(line):
            yield number, found[0]


def list_todos(root: Path) -> Iterator[str]:
    words = load_settings(root, {}).section(TodoSettings).words
    for path in sorted(root.rglob("*.py")):
        for number, text in find_todos(path.read_text("utf-8", "replace"), words):
            yield f"{path.relative_to(root)}:{number}: {text}"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", nargs="?", default=".", metavar="DIR", help="where to look (.)")


def todos_command(args: argparse.Namespace) -> int:
    for line in list_todos(Path(args.folder).resolve()):
        print(line)
    return 0


async def show_todos(talk: Talk, rest: str) -> None:
    talk.say("\n".join(list_todos(talk.root)) or "Nothing is left to do.")


def no_new_todos(run: Run) -> Gate:
    """A change must not add TODO comments; the model is told which ones it added."""

    async def judge(run: Run, changes: Changes) -> Verdict:
        words = TodoSettings().words
        new = []
        for change in changes:
            before = [
                text for _, text in find_todos((change.before or b"").decode("utf-8", "replace"), words)
            ]
            for number, text in find_todos((change.after or b"").decode("utf-8", "replace"), words):
                if text not in before:
                    new.append(f"{change.path}:{number}: {text}")
        if not new:
            return Verdict(True, by="todos")
        return Verdict(False, "Finish what these comments put off:\n" + "\n".join(new), "todos")

    return judge
