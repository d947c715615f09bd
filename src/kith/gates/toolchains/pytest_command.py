"""Find how a project calls pytest: its configuration, and the commands that it states."""

import re
import shlex
import tomllib
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, Final

from kith.gates.toolchains.stated_commands import Stated
from kith.gates.toolchains.toolchain import PYTHON, Read, Toolchain, read_text

# What a stated command asks Python to run, and what in the tree its words name.


def of_python(words: list[str]) -> list[str]:
    """Return the words after Python's own and after coverage options: the program that it runs."""
    if words and words[0] == "coverage":
        words = ["python", "-m", *words]
    if not words or not re.fullmatch(r"python[\d.]*|py", words[0].rpartition("/")[2]):
        return []
    rest = words[1:]
    while rest and rest[0].startswith("-") and rest[0] not in ("-m", "-c", "-O", "-OO"):
        rest = rest[2 if rest[0] in ("-W", "-X") else 1 :]
    if rest[:3] == ["-m", "coverage", "run"]:
        rest = rest[3:]
        while rest and rest[0].startswith("-") and rest[0] != "-m":
            rest = rest[1:]
    return rest


def in_tree(word: str, files: Collection[str]) -> str:
    """A folder or file of the tree that a word names, also as something installed; "" for anything else."""
    path = re.sub(r"^\{env_?site_packages_dir\}/", "", word).removeprefix("./").rstrip("/")
    for name in (path, f"src/{path}"):
        if name and (name in files or any(each.startswith(f"{name}/") for each in files)):
            return name
    return ""


def plain_env(env: tuple[tuple[str, str], ...]) -> tuple[tuple[str, str], ...]:
    return tuple(pair for pair in env if pair[0] not in ("PYTHONPATH", "PATH", "HOME", "COVERAGE_FILE"))


PYTEST: Final = f"{PYTHON} -m pytest -q"

# pytest's own options, which work without any plugin: those that take a value, then those that do not.
_VALUED: Final = re.compile(
    r"-[kmWpoc]|--(?:rootdir|confcutdir|ignore|ignore-glob|deselect|import-mode|pythonwarnings|override-ini"
    r"|doctest-glob|doctest-report|assert|log-level)"
)
_PLAIN: Final = re.compile(
    r"-s|--(?:doctest-modules|doctest-ignore-import-errors|doctest-continue-on-failure|pyargs|noconftest"
    r"|keep-duplicates|collect-in-virtualenv|capture=no|capture=sys)"
)
# Options about what is shown, when to stop and where to write: kith's own affair, so they are left out.
_SHOWN: Final = re.compile(r"-r|--(?:basetemp|junit-?xml|junit-prefix|tb|durations|maxfail|color)")
_BARE: Final = re.compile(
    r"-(?:[vqslx]+|[rkmWpo].+)"
    r"|--(?:strict(?:-markers)?|no-header|no-summary|quiet|verbose|exitfirst|lf|ff|showlocals)"
)
# Options of plugins whose value is a word of its own.
_PLUGIN_VALUED: Final = re.compile(
    r"-n|--(?:cov|cov-report|cov-config|numprocesses|dist|timeout|reruns|html)"
)
_RELAXED: Final = "-W ignore::pytest.PytestConfigWarning -W ignore::pytest.PytestUnknownMarkWarning"


@dataclass(frozen=True, slots=True)
class PytestSettings:
    """The configuration of pytest: its file, its options, and the plugins that it requires."""

    where: str = ""
    options: str = ""
    plugins: bool = False
    finds_sources: bool = False
    narrows: bool = False


def read_settings(files: Collection[str], read: Read) -> PytestSettings:
    """Read the configuration of pytest, or a file that names it; empty when there is none."""
    for path in ("pytest.ini", ".pytest.ini"):
        if path in files:
            return _ini_settings(path, "pytest.ini", read_text(read, path), "[pytest]")
    if "pyproject.toml" in files:
        table, named = _pyproject(read_text(read, "pyproject.toml"))
        if table or named:
            return _table_settings(table)
    for path, section in {"setup.cfg": "[tool:pytest]", "tox.ini": "[pytest]"}.items():
        if path in files and section in (text := read_text(read, path)):
            return _ini_settings(path, f"{path} has {section}", text, section)
    if "tox.ini" in files and re.search(r"^[^#;\n]*\bpytest\b(?!-)", read_text(read, "tox.ini"), re.M):
        return PytestSettings("tox.ini names pytest")
    return PytestSettings()


def _ini_settings(path: str, where: str, text: str, section: str) -> PytestSettings:
    body = text.partition(section)[2]
    body = re.split(r"^\[", body, maxsplit=1, flags=re.M)[0]
    values = dict(re.findall(r"^(\w+)[ \t]*[=:][ \t]*((?:[^\n]*\n?)(?:[ \t]+[^\n]*\n?)*)", body, re.M))
    return _table_settings(values, where)


def _table_settings(table: dict[str, Any], where: str = "pyproject.toml names pytest") -> PytestSettings:
    options = table.get("addopts", "")
    return PytestSettings(
        where,
        options if isinstance(options, str) else shlex.join(map(str, options)),
        bool(table.get("required_plugins")),
        bool(table.get("pythonpath")),
        bool(table.get("testpaths")),
    )


def _pyproject(text: str) -> tuple[dict[str, Any], bool]:
    """pytest's own table, and whether pytest is there or among the requirements of any group."""
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return {}, False
    named = "pytest" in _table(data, "tool")
    groups = (_table(data, "dependency-groups"), _table(data, "project", "optional-dependencies"))
    lists = [items for group in groups for items in group.values() if isinstance(items, list)]
    required = [item for items in lists for item in items if isinstance(item, str)]
    named = named or any(re.match(r"pytest\b(?!-)", item) for item in required)
    return _table(data, "tool", "pytest", "ini_options") or _table(data, "tool", "pytest"), named


def _table(data: dict[str, Any], *names: str) -> dict[str, Any]:
    for name in names:
        inner = data.get(name)
        data = inner if isinstance(inner, dict) else {}
    return data


def lenient_line(settings: PytestSettings) -> str:
    """pytest without the options and demands that only plugins can meet; "" where there are none."""
    try:
        words = shlex.split(settings.options)
    except ValueError:
        words = []
    kept, _ = _own_options(words)
    strange = [word for word in words if word.startswith("-") and not _is_own(word)]
    if not strange and not settings.plugins:
        return ""
    without = f"-o {shlex.quote(f'addopts={shlex.join(kept)}')}"
    return f"{PYTEST} {without}{' -o required_plugins=' * settings.plugins} {_RELAXED}"


def _is_own(word: str) -> bool:
    name = word.partition("=")[0]
    known = (_PLAIN.fullmatch(word), _VALUED.fullmatch(name), _SHOWN.fullmatch(name), _BARE.fullmatch(word))
    return any(known)


def _own_options(words: list[str]) -> tuple[list[str], list[str]]:
    """pytest's own options among some words, and the words that are none."""
    options: list[str] = []
    others: list[str] = []
    rest = iter(words)
    for word in rest:
        name, _, value = word.partition("=")
        if _PLAIN.fullmatch(word) or (_VALUED.fullmatch(name) and value) or re.match(r"-[kmWpo][^=]", word):
            options.append(word)
        elif _VALUED.fullmatch(word):
            options += [word, next(rest, "")]
        elif _SHOWN.fullmatch(word) or _PLUGIN_VALUED.fullmatch(word):
            next(rest, "")
        elif not word.startswith("-"):
            others.append(word)
    return options, others


def stated_pytest(stated: Stated, files: Collection[str]) -> Toolchain | None:
    """pytest as some file says it is called here, without what is about its output."""
    words = of_python(list(stated.words))
    if words[:2] == ["-m", "pytest"]:
        words = words[2:]
    elif stated.words[0] in ("pytest", "py.test"):
        words = list(stated.words[1:])
    else:
        return None
    options, others = _own_options(words)
    if any(re.search(r"[{}$]", word) for word in options):
        return None
    targets = [path for word in others if (path := in_tree(word, files))]
    if any("::" in word for word in others) or (others and not targets):
        targets = []
    line = " ".join(filter(None, (PYTEST, shlex.join(options), shlex.join(targets))))
    if line == PYTEST:
        return None
    return Toolchain(
        "pytest",
        "Python",
        f"{stated.where} says so",
        line,
        "pytest",
        env=plain_env(stated.env),
        targets=shlex.join(targets),
    )
