"""Read from the settings of Python's tools what these load and run whenever they look at a project."""

import re
import shlex
from collections.abc import Iterator, Sequence
from typing import Any, Final

_PLUGINS: Final = ("plugins", "load_plugins")
_RUN: Final = ("init_hook", "python_executable", "cmdclass", "local_plugins")
# Sections of setup.cfg in which a name is one of the project's own: `[options.extras_require]`.
_OWN_NAMES: Final = ("options.",)
_LOCAL: Final = "local-plugins"  # a section of flake8's
_SECTION: Final = re.compile(r"\[(.+)\]")


def read_toml(text: bytes) -> dict[str, Any] | None:
    """The data; None where it cannot be read."""
    import tomllib

    try:
        return tomllib.loads(text.decode())
    except (ValueError, RecursionError):
        return None


def loaded_by_toml(data: object) -> set[str]:
    """Return what tools load, as text that is compared with that of an earlier version."""
    found, waiting = set[str](), [data]
    while waiting:
        match waiting.pop():
            case list() as several:
                waiting += several
            case dict() as table:
                waiting += table.values()
                for key, value in table.items():
                    found |= _loaded(key, value)
    return found


def loaded_by_ini(text: bytes) -> set[str]:
    """The same for the sections and keys of an INI file."""
    found = set[str]()
    for section, key, value in _ini(text.decode("utf-8", "replace")):
        if _LOCAL in section.casefold():
            found.add(f"{section} {key}={value}")
        elif not section.casefold().startswith(_OWN_NAMES):
            found |= _loaded(key, value)
    return found


def _loaded(key: str, value: Any) -> set[str]:
    name = key.casefold().replace("-", "_")
    if name == "addopts":
        return {f"-p {each}" for each in _pytest_plugins(_words(value))}
    if name in _PLUGINS and isinstance(value, str | list):
        words = value if isinstance(value, list) else re.split(r"[\s,]+", value)
        return {f"{name} {each}" for each in words if each}
    return {f"{name}={value}"} if name in _RUN else set()


def _words(value: object) -> list[str]:
    """The options in a value, as pytest parts them."""
    if not isinstance(value, str):
        return [str(each) for each in value] if isinstance(value, list) else []
    try:
        return shlex.split(value)
    except ValueError:  # a quote that nobody closed
        return re.split(r"[\s\"']+", value)


def _pytest_plugins(options: Sequence[str]) -> Iterator[str]:
    """The plugins of `-p NAME` and `-pNAME`; `no:NAME` loads nothing."""
    rest = iter(options)
    for option in rest:
        if option.startswith("-p"):
            name = (option[2:] or next(rest, "")).strip()
            if name and not name.startswith("no:"):
                yield name


def _ini(text: str) -> Iterator[tuple[str, str, str]]:
    """Section, key and value, as configparser and pytest's own reader find them.

    A line that is indented more than its key belongs to the value.
    """
    section, key, value, depth = "", "", "", 0
    for line in text.splitlines():
        words, indent = line.strip(), len(line) - len(line.lstrip())
        # For pytest's reader a comment that is indented is a part of the value.
        if not words or (words[0] in "#;" and not (indent and key.casefold() == "addopts")):
            continue
        if key and indent > depth:
            value += f"\n{words}"
            continue
        if key:
            yield section, key, value
        head = _SECTION.match(words)
        section, depth = (head[1].strip() if head else section), indent
        key, value = ("", "") if head else _pair(words)
    if key:
        yield section, key, value


def _pair(line: str) -> tuple[str, str]:
    key, *rest = re.split(r"\s*[=:]\s*", line, maxsplit=1)
    return key, rest[0] if rest else ""
