"""The test commands that a project states about itself: for its runners, for CI, for people."""

import ast
import configparser
import re
import shlex
import tomllib
from collections.abc import Collection, Iterator
from typing import Any, Final

from msgspec import Struct

from kith.gates.toolchain import Read, matching, read_text
from kith.gates.toolchains.manifests import MAKEFILES, TARGETS, recipe_lines

_SETTINGS: Final = ("tox.ini", "setup.cfg", "pyproject.toml", "hatch.toml", "pixi.toml", "noxfile.py")
_PAGES: Final = ("AGENTS.md", "CLAUDE.md", "CONTRIBUTING.md", "CONTRIBUTING.rst", ".github/CONTRIBUTING.md")
_SCRIPTS: Final = ("runtests.sh", "run_tests.sh", "run-tests.sh", "test.sh", "script/test", "scripts/test")
_CI: Final = re.compile(
    r"\.github/workflows/[^/]+\.ya?ml|\.gitlab-ci\.yml|\.travis\.yml|\.circleci/config\.yml"
)
_CI_READ: Final = 6
_LONGEST: Final = 400  # characters of a command that is looked at
_KEY: Final = re.compile(r"^\s*(?:-\s+)*(?:(?:run|script|command|test)\s*:\s*[|>]?)?\s*(?:-\s+)*")
# Variables of tox that concern its own work, Python's or coverage's, but none of the tests.
_OWN_AFFAIR: Final = re.compile(
    r"(?:COVERAGE|COV_|PIP_|UV_|TOX|VIRTUALENV|PYTHON(?!PATH$)|FORCE_COLOR|PY_COLORS|LC_|LANG)"
)
_TABLES: Final = frozenset({"scripts", "tasks", "commands", "test-command", "test_command"})
_DEEPEST: Final = 8

# What only wraps a command: its own options end where the wrapped one begins.
_WRAPPERS: Final = (
    ("uv", "run"),
    ("poetry", "run"),
    ("pdm", "run"),
    ("hatch", "run"),
    ("pipenv", "run"),
    ("rye", "run"),
    ("pixi", "run"),
    ("micromamba", "run"),
    ("conda", "run"),
    ("xvfb-run",),
    ("env",),
    ("time",),
    ("exec",),
    ("sudo",),
    ("command",),
)
# Options of wrappers that take a value as a word of its own.
_VALUED: Final = re.compile(
    r"-[pner]|--(?:group|extra|python|with|package|only-group|no-group|project|directory|env-file|name|environment"
    r"|with-requirements)"
)


class Stated(Struct, frozen=True):
    """One simple command, without what only wraps it, and the file that states it."""

    words: tuple[str, ...]
    where: str
    env: tuple[tuple[str, str], ...] = ()


def stated_clues(files: Collection[str]) -> tuple[str, ...]:
    """The files that may state a command, those that count most first."""
    ci = sorted(matching(files, (".yml", ".yaml"), _CI))
    # The names of workflows that test come before those that publish.
    ci.sort(key=lambda path: not re.search(r"test|ci\b|build|check|python|linux", path.rpartition("/")[2]))
    named = (*_SETTINGS, *ci[:_CI_READ], *MAKEFILES, *_SCRIPTS, *_PAGES)
    return tuple(path for path in named if path in files)


def find_stated(files: Collection[str], read: Read) -> tuple[Stated, ...]:
    """Every command that some file states, each once, in the order in which they count."""
    found: dict[tuple[str, ...], Stated] = {}
    for path in stated_clues(files):
        text = read_text(read, path).replace("\r\n", "\n")
        for line in _lines_of(path, text):
            for each in _understand(line, path):
                found.setdefault(each.words, each)
    return tuple(found.values())


def _lines_of(path: str, text: str) -> Iterator[str]:
    name = path.rpartition("/")[2]
    try:
        if name in ("tox.ini", "setup.cfg"):
            yield from _tox(text)
        elif name == "noxfile.py":
            yield from _nox(text)
        elif name.endswith(".toml"):
            data = tomllib.loads(text)
            yield from _tables(data if name != "pyproject.toml" else data.get("tool", {}), False, 0)
        elif name in MAKEFILES:
            for target in TARGETS:
                yield from recipe_lines(text, target)
        elif path in _PAGES:
            yield from _page(text)
        else:
            yield from (_KEY.sub("", line) for line in _joined(text))
    except (ValueError, SyntaxError, configparser.Error, RecursionError):
        return


def _joined(text: str) -> list[str]:
    """Lines, those that end with a backslash together with the next."""
    return re.sub(r"\\\n\s*", " ", text).splitlines()


def _tox(text: str) -> Iterator[str]:
    """The commands of environments, those without a name first: the others are often for linters."""
    parser = configparser.RawConfigParser(strict=False)
    parser.read_string(text)
    sections = [name for name in parser.sections() if re.match(r"testenv\b", name)]
    for section in sorted(sections, key=lambda name: name != "testenv"):
        env = _tox_env(parser, section)
        for line in _joined(parser[section].get("commands", "")):
            command = re.sub(r"^\s*[\w.,!{}-]+:\s+(?=\S)", "", line)  # only for some factors
            yield f"{env}{command.lstrip(' -@')}" if command.strip() else ""


def _tox_env(parser: configparser.RawConfigParser, section: str) -> str:
    """The variables of an environment, or those of `testenv`, as a shell has them before a command.

    Those only for some factors and those that take their value from elsewhere are left out.
    """
    held = (
        parser[name].get("setenv") or parser[name].get("set_env")
        for name in (section, "testenv")
        if name in parser
    )
    text = re.sub(r"\{(?:toxinidir|tox_root)\}/?", "./", next(filter(None, held), ""))
    pairs = re.findall(r"^\s*([A-Za-z_]\w*)\s*=[ \t]*([^\n{}$`]*?)\s*$", text, re.M)
    return "".join(f"{name}={shlex.quote(value)} " for name, value in pairs if not _OWN_AFFAIR.match(name))


def _nox(text: str) -> Iterator[str]:
    """Yield the commands of nox sessions, with the arguments that are constants."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "run":
            words = [each.value for each in node.args if isinstance(each, ast.Constant)]
            yield shlex.join(word for word in words if isinstance(word, str))


def _tables(data: Any, wanted: bool, depth: int) -> Iterator[str]:
    """Every command in the tables of scripts and tasks that the tools of Python know."""
    if depth > _DEEPEST:
        return
    if isinstance(data, str) and wanted:
        yield from _joined(data)
    elif isinstance(data, list) and wanted and data and all(isinstance(each, str) for each in data):
        # A list is one command in words, or several commands.
        yield from data if " " in data[0] else [shlex.join(data)]
    elif isinstance(data, list):
        for each in data:
            yield from _tables(each, wanted, depth + 1)
    elif isinstance(data, dict):
        if isinstance(data.get("legacy_tox_ini"), str):
            yield from _tox(data["legacy_tox_ini"])
        for key, value in data.items():
            yield from _tables(value, wanted or key in _TABLES, depth + 1)


def _page(text: str) -> Iterator[str]:
    """The lines of a document's code, without those that show how to run one test."""
    blocks = re.findall(r"^ *(?:```|~~~)[^\n]*\n(.*?)^ *(?:```|~~~)", text, re.M | re.S)
    indented = re.findall(r"^(?: {3,}|\t)(\S[^\n]*)$", text, re.M)
    for line in (
        *(line for block in blocks for line in _joined(block)),
        *indented,
        *re.findall(r"`([^`\n]+)`", text),
    ):
        if not re.search(r"\.py\b|::", line):
            yield re.sub(r"^\s*\$ ", "", line)


def _understand(line: str, where: str) -> Iterator[Stated]:
    """The simple commands of a line that change no folder and leave no blanks to be filled in."""
    line = re.sub(r"\{(?:posargs|args)(?::([^{}]*))?\}", r"\1", line.strip())
    line = re.sub(r"\$\((PYTHON\w*|PY)\)|\$\{(?:PYTHON\w*|PY)\}|\$PYTHON\b|\{env_?python\}", "python", line)
    line = re.sub(r"\{(?:toxinidir|tox_root)\}/?", "./", line)
    line = re.sub(r"\$?\$\{\w+:-([^{}$]*)\}", r"\1", line)
    line = re.sub(r":?\$(?:PYTHONPATH\b|[({]PYTHONPATH[)}])", "", line)
    if not line or len(line) > _LONGEST or line.startswith(("#", "<")):
        return
    for part in re.split(r"&&|\|\||[;|]", line):
        try:
            words = shlex.split(part.strip().lstrip("-@+!").strip(), comments=True)
        except ValueError:
            return
        if words[:1] in (["cd"], ["pushd"]):
            return
        env, words = _unwrap(words)
        if words and not re.search(r"[{}$*<>]", words[0]):
            yield Stated(tuple(words), where, env)


def _unwrap(words: list[str]) -> tuple[tuple[tuple[str, str], ...], list[str]]:
    """The command inside, and the variables that are set for it."""
    env: list[tuple[str, str]] = []
    while words:
        pair = re.fullmatch(r"([A-Za-z_]\w*)=(.*)", words[0], re.S)
        wrapper = next((each for each in _WRAPPERS if tuple(words[: len(each)]) == each), None)
        if pair:
            env += [(pair[1], pair[2])] if not re.search(r"[$`{}]", pair[2]) else []
            words = words[1:]
        elif wrapper:
            words = words[len(wrapper) :]
            while words and words[0].startswith("-"):
                words = words[2 if _VALUED.fullmatch(words[0]) else 1 :]
            if wrapper == ("hatch", "run") and words and ":" in words[0]:
                return (), []  # a script of an environment, which is read where it is written
        else:
            return tuple(env), words
    return (), []
