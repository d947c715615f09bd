"""Hooks of mkdocs: add the pages that are made from code or stand outside docs/, and adapt their links.

python tools/docs_site.py commands    # print the reference of commands, made from their parsers
python tools/docs_site.py settings    # print the reference of settings, made from their types and docs/configuration.md
"""

import argparse
import re
import sys
from dataclasses import fields
from pathlib import Path, PurePosixPath
from posixpath import normpath, relpath
from typing import TYPE_CHECKING, Any, Final

from kith.core.feature import Command
from kith.settings.check import KEYS, in_words, keys_in_tables, tables
from kith.settings.values import Settings
from kith.terminal.command_table import TALK, commands
from kith.terminal.conversation.slash_commands import groups

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
_SETTING: Final = re.compile(r"^(?:\[(?P<table>\w+)\]|(?P<key>\w+) = [^#\n]*#(?P<meaning>.*))", re.MULTILINE)


def on_files(files: "Files", config: "MkDocsConfig") -> "Files":
    """Add the generated pages and those outside docs/."""
    from mkdocs.structure.files import File

    pages = {page: (ROOT / file).read_text(encoding="utf-8") for page, file in OUTSIDE.items()}
    pages |= {"commands.md": commands_page(), "settings.md": settings_page()}
    for page, text in pages.items():
        files.append(File.generated(config, page, content=text))
    return files


def on_page_markdown(markdown: str, page: "Page", config: "MkDocsConfig", files: "Files") -> str:
    """Let links lead to pages of the site; a link to any other file of the repository becomes its text."""
    return adapt_links(markdown, page.file.src_uri)


def adapt_links(markdown: str, page: str) -> str:
    """The text of a page of the site with its links as they have to be there."""
    return _LINK.sub(lambda match: _adapt(match, page), markdown)


def _adapt(match: re.Match[str], page: str) -> str:
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
    parts = ["# Commands", "Made from the parsers of kith itself. `kith COMMAND --help` prints the same."]
    for command in (TALK, *commands().values()):
        name = f"kith {command.name}".strip()
        parts += [f"## {name}", _sentence(command.meaning or "open a conversation in this folder")]
        if command.arguments:
            parts.append(f"```text\n{_help(name, command)}\n```")
    parts.append("## In a conversation")
    for group, members in groups().items():
        rows = [f"| `/{each.name}{f' {each.rest}' if each.rest else ''}` | {each.meaning} |" for each in members]
        parts.append("\n".join([f"| {group} | |", "|---|---|", *(_cell(row) for row in rows)]))
    return "\n\n".join(parts) + "\n"


def settings_page() -> str:
    """Every setting: what it takes, its default, and the comment of the example in docs/configuration.md."""
    meanings = _meanings()
    defaults = Settings()
    rows = [(key, hint, getattr(defaults, key)) for key, hint in KEYS.items()]
    for key, hint in keys_in_tables().items():
        table, _, name = key.partition(".")
        kind = tables()[table]
        rows.append((key, hint, next(getattr(kind(), each.name) for each in fields(kind) if each.name == name)))
    lines = [
        f"| `{key}` | {in_words(hint)} | {_default(value)} | {meanings.get(key, '')} |" for key, hint, value in rows
    ]
    return "\n".join(
        [
            "# Settings",
            "",
            "Made from the types of kith itself. [Configuration](configuration.md) says where values come from;",
            "`kith config` shows yours.",
            "",
            "| key | takes | default | meaning |",
            "|---|---|---|---|",
            *lines,
            "",
        ]
    )


def _meanings() -> dict[str, str]:
    """Setting -> the comment behind it in the example of the page on configuration."""
    example = (DOCS / "configuration.md").read_text(encoding="utf-8").partition("```toml\n")[2].partition("```")[0]
    table, found = "", {}
    for match in _SETTING.finditer(example):
        if match["table"]:
            table = f"{match['table']}."
        else:
            found[f"{table}{match['key']}"] = match["meaning"].strip().replace("|", "\\|")
    return found


def _help(name: str, command: Command) -> str:
    parser = argparse.ArgumentParser(
        prog=name,
        usage=" ".join(filter(None, (name, "[OPTIONS]", command.words))),
        formatter_class=lambda prog: argparse.HelpFormatter(prog, width=100),
    )
    assert command.arguments is not None
    command.arguments.load()(parser)
    return parser.format_help().strip()


def _sentence(words: str) -> str:
    return f"{words[:1].upper()}{words[1:]}."


def _default(value: Any) -> str:
    if value in (None, "", ()):
        return ""
    return f"`{str(value).lower() if isinstance(value, bool) else value}`"


def _cell(row: str) -> str:
    """A row of two cells, in which `[a|b]` is no third one."""
    first, _, second = row.removeprefix("| ").partition("` | ")
    return f"| {first.replace('|', chr(92) + '|')}` | {second}"


if __name__ == "__main__":
    print({"commands": commands_page, "settings": settings_page}[sys.argv[1]](), end="")
