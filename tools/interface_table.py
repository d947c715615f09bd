"""List every command, option, endpoint and setting, with where it is documented and where it is tested.

python tools/interface_table.py            # print the table, as a page of the site
python tools/interface_table.py --check    # name what nobody documents or tests; exit code 1 for any
"""

import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final, NamedTuple

from fastapi.routing import APIRoute

from kith.features.web.app import make_app
from kith.features.web.desk import Desk
from kith.settings.check import KEYS, in_words, keys_in_tables
from kith.terminal.command_table import TALK, commands
from kith.terminal.conversation.slash_commands import slash_commands
from kith.terminal.shell_completion import choices_of

ROOT: Final = Path(__file__).parent.parent
# Nobody tests these yet. The set may only shrink.
UNTESTED: Final = frozenset(("--time",))
_GENERATED: Final = (
    "docs/commands.md"  # the site's reference, which tools/docs_site.py makes from the parsers
)
_HIDDEN: Final = ("-h", "--help")


class Part(NamedTuple):
    """One part of the interface, and the expressions by which pages and tests are found to name it."""

    kind: str
    name: str
    meaning: str
    in_docs: str
    in_tests: str


class Row(NamedTuple):
    """A part with the first page and the first test that name it, "" where there is none."""

    part: Part
    page: str
    test: str


def parts() -> Iterator[Part]:
    """Every part of the interface, in the order of a reader's interest."""
    for command in commands().values():
        words = command.name.split()
        listed = r"[\"'],\s*[\"']".join(map(re.escape, words))
        spaced = re.escape(command.name)
        yield Part("command", f"kith {command.name}", command.meaning, rf"kith {spaced}\b",
                   rf"[\"']{listed}[\"']|(?:kith|KITH\}}) {spaced}\b|[\"']{spaced}\b")  # fmt: skip
    yield from _options()
    for name, slash in slash_commands().items():
        word = rf"(?<![\w.])/{re.escape(name)}\b"
        yield Part(
            "in a conversation", f"/{name}", slash.meaning, word, rf"{word}|[\"']{re.escape(name)}[\"' ]"
        )
    for route in make_app(Desk({}, {})).routes:
        if isinstance(route, APIRoute) and route.include_in_schema:
            yield _endpoint(route)
    for key, hint in (*KEYS.items(), *keys_in_tables().items()):
        name = re.escape(key.rpartition(".")[2])
        yield Part("setting", key, in_words(hint), rf"(?i)(?<![a-z]){name}\b",
                   rf"\b{name}\b|{name.upper()}\b|--{name.replace('_', '-')}\b")  # fmt: skip


def _options() -> Iterator[Part]:
    """The options of all commands; the same one of several commands is one part."""
    users: dict[str, list[str]] = {}
    for command in (TALK, *commands().values()):
        for option in choices_of(command).options if command.arguments else ():
            users.setdefault(option, []).append(f"kith {command.name}".strip())
    for option, of in users.items():
        if option not in _HIDDEN:
            shown = ", ".join(of[:3]) + (f" and {len(of) - 3} more" if len(of) > 3 else "")
            word = rf"(?<![\w-]){re.escape(option)}(?![\w-])"
            yield Part("option", option, shown, word, word)


def _endpoint(route: APIRoute) -> Part:
    """A path; tests write its variables in their own way, and often leave out `/api`."""
    path = re.escape(route.path.removeprefix("/api/").lstrip("/"))
    loose = re.sub(r"\\{[^}]*\\}", r"[^\\s\"'`]+", path)
    told = (route.summary or route.description or route.name).split("\n")[0]
    methods = "/".join(sorted(route.methods or ()))
    return Part("endpoint", f"{methods} {route.path}", told, loose, loose)


def rows() -> list[Row]:
    """Each part with the pages and the tests where it is found first."""
    docs = _texts([ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))])
    tests = _texts(sorted((ROOT / "tests").rglob("*.py")))
    return [
        Row(
            part,
            _first(part, part.in_docs, docs) or (_GENERATED if part.kind in ("command", "option") else ""),
            _first(part, part.in_tests, tests),
        )
        for part in parts()
    ]


def _texts(files: Iterable[Path]) -> dict[str, tuple[str, str]]:
    """Each file's text, and the same in lower case."""
    texts = {str(file.relative_to(ROOT)): file.read_text(encoding="utf-8") for file in files}
    return {name: (text, text.lower()) for name, text in texts.items()}


def _first(part: Part, pattern: str, texts: dict[str, tuple[str, str]]) -> str:
    compiled = re.compile(pattern)
    longest = max(re.findall("[a-z]+", part.name.lower()), key=len)
    word = part.name.lower() if part.kind == "option" else longest  # most files do not even hold this
    return next(
        (name for name, (text, lower) in texts.items() if word in lower and compiled.search(text)), ""
    )


def page() -> str:
    """The table as a page of the site."""
    lines = ["| part | name | meaning | documented | tested |", "|---|---|---|---|---|"]
    for (kind, name, meaning, *_), documented, tested in rows():
        told = meaning.replace("|", "\\|")
        where = documented.removeprefix("docs/") or "-"
        link = f"[{where}]({where})" if documented.startswith("docs/") else where
        lines.append(f"| {kind} | `{name}` | {told} | {link} | {tested or '-'} |")
    about = (
        "Generated from kith's code: every name that you can use, and the first page and test that use it."
    )
    return f"# Interface\n\n{about}\n\n" + "\n".join(lines) + "\n"


def faults() -> list[str]:
    """What is missing, in sentences."""
    found = rows()
    names = {row.part.name for row in found if not row.test}
    return [
        *(f"{row.part.name} is in no page of docs/." for row in found if not row.page),
        *(f"{name} is in no test." for name in sorted(names - UNTESTED)),
        *(f"{name} is tested now: take it out of UNTESTED." for name in sorted(UNTESTED - names)),
    ]


def main() -> int:
    if "--check" not in sys.argv[1:]:
        print(page(), end="")
        return 0
    found = faults()
    print("\n".join(found), end="\n" if found else "")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
