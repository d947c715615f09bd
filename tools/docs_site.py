"""Hooks of mkdocs: add the pages that are made from code or stand outside docs/, and adapt their links.

python tools/docs_site.py commands    # print the reference of commands, from their parsers
python tools/docs_site.py settings    # print the reference of settings, from their types

`interface_table.py` makes a third page: every name that a user can use, with its page and its test.
"""

import argparse
import re
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path, PurePosixPath
from posixpath import normpath, relpath
from typing import TYPE_CHECKING, Any, Final

from kith.core.feature import Command
from kith.settings.check import KEYS, in_words, keys_in_tables, tables
from kith.settings.values import Settings
from kith.terminal.command_table import TALK, commands
from kith.terminal.conversation.slash_commands import groups

sys.path.insert(0, str(Path(__file__).parent))  # mkdocs loads this file by its path
from interface_table import page as interface_page

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page

ROOT: Final = Path(__file__).parent.parent
DOCS: Final = ROOT / "docs"
# Pages of the site -> their files outside docs/.
OUTSIDE: Final = {
    "index.md": "README.md",
    "architecture.md": "ARCHITECTURE.md",
    "contributing.md": "CONTRIBUTING.md",
    "changelog.md": "CHANGELOG.md",
    "security.md": "SECURITY.md",
    "examples.md": "examples/README.md",
}
_LINK: Final = re.compile(r"\[([^\]]*)\]\((?!\w+:)([^)#\s]+)(#[^)\s]*)?\)")
_DIAGRAM: Final = re.compile(r"^```mermaid\nstateDiagram-v2\n(.*?)^```", re.MULTILINE | re.DOTALL)
_STEPS: Final = ("step", "outcome", "next step")
_SETTING: Final = re.compile(r"^(?:\[(?P<table>\w+)\]|(?P<key>\w+) = [^#\n]*#(?P<meaning>.*))", re.MULTILINE)


def on_files(files: "Files", config: "MkDocsConfig") -> "Files":
    """Add the generated pages and those outside docs/."""
    from mkdocs.structure.files import File

    pages = {page: (ROOT / file).read_text(encoding="utf-8") for page, file in OUTSIDE.items()}
    pages |= {
        "commands.md": commands_page(),
        "settings.md": settings_page(),
        "interface.md": interface_page(),
    }
    for page, text in pages.items():
        files.append(File.generated(config, page, content=text))
    return files


def on_page_markdown(markdown: str, page: "Page", config: "MkDocsConfig", files: "Files") -> str:
    """Adapt links, and turn state diagrams into tables, which need no script from elsewhere."""
    markdown = _DIAGRAM.sub(lambda match: _table(_STEPS, _arrows(match[1])), markdown)
    return _LINK.sub(lambda match: _adapt(match, page.file.src_uri), markdown)


def _arrows(diagram: str) -> list[tuple[str, str, str]]:
    found = re.findall(r"^ *(\w+) --> (\w+): (.+)$", diagram, re.MULTILINE)
    return [(step, outcome, after) for step, after, outcome in found]


def _adapt(match: re.Match[str], page: str) -> str:
    """A link as the site needs it; one to any other file of the repository becomes its text."""
    text, target, heading = match[1], match[2], match[3] or ""
    file = PurePosixPath(OUTSIDE.get(page, f"docs/{page}"))
    wanted = normpath(str(file.parent / target))
    site = {outside: each for each, outside in OUTSIDE.items()}
    if wanted in site:
        place = site[wanted]
    elif wanted.startswith("docs/"):
        place = wanted.removeprefix("docs/")
    elif (ROOT / wanted).exists():
        return text
    else:
        return match[0]
    return f"[{text}]({relpath(place, str(PurePosixPath(page).parent))}{heading})"


def commands_page() -> str:
    """Every command of the command line with its options, and every command of the conversation."""
    parts = ["# Commands", "Generated from kith's own parsers. `kith COMMAND --help` prints the same."]
    for command in (TALK, *commands().values()):
        name = f"kith {command.name}".strip()
        meaning = command.meaning or "open a conversation in this folder"
        parts += [f"## {name}", f"{meaning[:1].upper()}{meaning[1:]}.", _help(name, command)]
    parts.append("## In a conversation")
    for group, members in groups().items():
        rows = [(f"`/{each.name} {each.rest}".strip() + "`", each.meaning) for each in members]
        parts.append(_table((group, ""), rows))
    return "\n\n".join(filter(None, parts)) + "\n"


def _help(name: str, command: Command) -> str:
    if not command.arguments:
        return ""
    parser = argparse.ArgumentParser(
        prog=name,
        usage=" ".join(filter(None, (name, "[OPTIONS]", command.words))),
        formatter_class=lambda prog: argparse.HelpFormatter(prog, width=100),
    )
    command.arguments.load()(parser)
    return f"```text\n{parser.format_help().strip()}\n```"


def settings_page() -> str:
    """Every setting: its values, its default, and the comment of the example in docs/configuration.md."""
    meanings, rows = _meanings(), []
    for key, hint in (*KEYS.items(), *keys_in_tables().items()):
        table, _, name = key.rpartition(".")
        default = _default(getattr(tables()[table]() if table else Settings(), name))
        rows.append((f"`{key}`", in_words(hint), default, meanings.get(key, "")))
    about = "Generated from kith's types. [Configuration](configuration.md) explains the sources of values."
    return f"# Settings\n\n{about}\n\n{_table(('key', 'values', 'default', 'meaning'), rows)}\n"


def _meanings() -> dict[str, str]:
    """Setting -> the comment after it in the example of the page on configuration."""
    page = (DOCS / "configuration.md").read_text(encoding="utf-8")
    table, found = "", {}
    for match in _SETTING.finditer(page.partition("```toml\n")[2].partition("```")[0]):
        if match["table"]:
            table = f"{match['table']}."
        else:
            found[f"{table}{match['key']}"] = match["meaning"].strip()
    return found


def _default(value: Any) -> str:
    if value in (None, "", ()):
        return ""
    return f"`{value:g}`" if isinstance(value, float) else f"`{str(value).lower()}`"


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [heads, ["---"] * len(heads), *([cell.replace("|", "\\|") for cell in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


if __name__ == "__main__":
    print({"commands": commands_page, "settings": settings_page}[sys.argv[1]](), end="")
