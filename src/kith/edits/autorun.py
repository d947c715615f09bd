"""Say of a change who would run it without being told to, or follow it."""

import json
import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib import resources
from typing import Any, Final

from kith.core.values import EXECUTABLE, SYMLINK, Change
from kith.edits.python_settings import loaded_by_ini, loaded_by_toml, read_toml

# What npm, yarn and pnpm run on their own when packages are installed, packed or published.
# Source: npm's documentation of scripts, "Life Cycle Scripts".
_LIFE_CYCLE: Final = {
    *("preinstall", "install", "postinstall", "prepublish", "preprepare", "prepare", "postprepare"),
    *(
        "prepack",
        "postpack",
        "prepublishOnly",
        "publish",
        "postpublish",
        "dependencies",
        "pnpm:devPreinstall",
    ),
}
_OTHER_HOOKS: Final = (
    "husky",
    "lint-staged",
    "simple-git-hooks",
    "gitHooks",
    "pre-commit",
    "gypfile",
    "binary",
)
# Builders of Python packages that run nothing of the project's own.
_BUILDERS: Final = {
    *("setuptools.build_meta", "hatchling.build", "flit_core.buildapi", "poetry.core.masonry.api"),
    *("pdm.backend", "maturin", "scikit_build_core.build", "mesonpy", "uv_build"),
}
_BUILD_TOOLS: Final = (
    ("hatch", "build", "hooks"),
    ("setuptools", "cmdclass"),
    ("pdm", "build"),
    ("poetry", "build"),
    # Where packages are fetched from.
    *(("uv", key) for key in ("index", "index-url", "extra-index-url", "find-links")),
    ("poetry", "source"),
    ("pdm", "source"),
)


def runs_by_content(path: str, change: Change) -> str:
    """Name the program that runs what a change adds, by the file's content: a clause; "" for none.

    `path` is the change's in lower case.
    """
    name = path.rpartition("/")[2]
    for pattern, look in _LOOKS:
        if pattern.search(name) and (who := look(change.before or b"", change.after or b"")):
            return who
    return ""


def _package(before: bytes, after: bytes) -> str:
    old, new = _json(before), _json(after)
    if new is None:
        return "npm runs its scripts, and it cannot be read"
    if _hooks_of(new) != _hooks_of(old or {}) and _hooks_of(new):
        return "npm runs the scripts in it that this changes when packages are installed"
    return ""


def _hooks_of(package: Mapping[str, Any]) -> dict[str, Any]:
    scripts = package.get("scripts")
    found = _started(scripts) if isinstance(scripts, dict) else {}
    # corepack fetches and starts a package manager from an address.
    hooks = (*_OTHER_HOOKS, *(["packageManager"] if "://" in str(package.get("packageManager")) else []))
    return found | {key: package[key] for key in hooks if key in package}


def _started(scripts: Mapping[str, Any]) -> dict[str, Any]:
    """The scripts of the life cycle, and those that they name."""
    found, waiting = dict[str, Any](), [key for key in scripts if key in _LIFE_CYCLE]
    while waiting:
        key = waiting.pop()
        found[key] = scripts[key]
        words = set(re.split(r"[\s;&|\"']+", str(scripts[key])))
        waiting += [each for each in scripts if each in words and each not in found]
    return found


def _json(text: bytes) -> dict[str, Any] | None:
    try:
        found = json.loads(text or b"{}")
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _pyproject(before: bytes, after: bytes) -> str:
    old, new = read_toml(before), read_toml(after)
    if new is None:
        return "pip runs what builds the package, and it cannot be read"
    if _build_of(new) != _build_of(old or {}) and _build_of(new):
        return "pip runs what builds the package, which this changes"
    return ""


def _build_of(project: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings that run code when the package is built, without well-known builders."""
    system = project.get("build-system")
    found = dict(system) if isinstance(system, dict) else {}
    if found.get("build-backend", "setuptools.build_meta") in _BUILDERS and "backend-path" not in found:
        addressed = [each for each in found.get("requires") or [] if "@" in str(each)]
        found = {"requires": addressed} if addressed else {}
    for keys in _BUILD_TOOLS:
        table: Any = project.get("tool")
        for key in keys:
            table = table.get(key) if isinstance(table, dict) else None
        if table is not None:
            found[".".join(keys)] = table
    return found


_TOOLS: Final = "Python's tools load what this adds whenever they look at the project"


def _tools_toml(before: bytes, after: bytes) -> str:
    old, new = read_toml(before), read_toml(after)
    if new is None:
        return "pytest and pylint load the plugins that it names, and it cannot be read"
    return _TOOLS if loaded_by_toml(new) - loaded_by_toml(old) else ""


def _tools_pyproject(before: bytes, after: bytes) -> str:
    old, new = ((read_toml(text) or {}).get("tool") for text in (before, after))
    return _TOOLS if loaded_by_toml(new) - loaded_by_toml(old) else ""


def _tools_ini(before: bytes, after: bytes) -> str:
    return _TOOLS if loaded_by_ini(after) - loaded_by_ini(before) else ""


def _composer(before: bytes, after: bytes) -> str:
    old, new = (_events_of(_json(text) or {}) for text in (before, after))
    return "composer runs the scripts in it that this changes when packages are installed" * (not new <= old)


def _events_of(package: Mapping[str, Any]) -> set[str]:
    scripts = package.get("scripts")
    pairs = scripts.items() if isinstance(scripts, dict) else ()
    config = package.get("config")
    plugins = config.get("allow-plugins") if isinstance(config, dict) else None
    found = {f"{key}: {each}" for key, each in pairs if key.startswith(("pre-", "post-"))}
    return found | ({f"plugins: {plugins}"} if plugins else set())


def _cargo(before: bytes, after: bytes) -> str:
    old, new = read_toml(before), read_toml(after)
    if new is None:
        return "cargo and editors run the programs that it names, and it cannot be read"
    if _run_by_cargo(new) and _run_by_cargo(new) != _run_by_cargo(old or {}):
        return "cargo and editors run what this names when they look at the package"
    return ""


def _run_by_cargo(manifest: Mapping[str, Any]) -> list[str]:
    """The program that cargo runs before a build, and the library that it loads into the compiler."""
    # Older versions of cargo read [project] as [package].
    package, project, library = (
        each if isinstance(each := manifest.get(key), dict) else {} for key in ("package", "project", "lib")
    )
    scripts = [
        str(each) for table in (package, project) if isinstance(each := table.get("build"), str | list)
    ]
    kinds = [library.get(key) for key in ("crate-type", "crate_type")]
    loaded = (
        library.get("proc-macro")
        or library.get("proc_macro")
        or any("proc-macro" in kind for kind in kinds if isinstance(kind, str | list))
    )
    return [*scripts, *(["library"] if loaded else [])]


_LOOKS: Final[tuple[tuple[re.Pattern[str], Callable[[bytes, bytes], str]], ...]] = (
    (re.compile(r"^package\.json5?$"), _package),
    (re.compile(r"^pyproject\.toml$"), _pyproject),
    (re.compile(r"^pyproject\.toml$"), _tools_pyproject),
    (re.compile(r"^\.?(pytest|pylintrc)\.toml$"), _tools_toml),
    (
        re.compile(r"^(setup\.cfg|tox\.ini|\.?(pytest|mypy)\.ini|\.?pylintrc|\.coveragerc|\.flake8)$"),
        _tools_ini,
    ),
    (re.compile(r"^composer\.json$"), _composer),
    (re.compile(r"^cargo\.toml$"), _cargo),
)


# Says of a change who would run it without being told to, or follow it.

_LINK: Final = "it becomes a symbolic link, so readers get the file that it leads to"
_PROGRAM: Final = "it becomes a program that can be started by its name"
_TESTS: Final = re.compile(r"(^|/)(tests?|testing|specs?|e2e|integration|functional|unit)/")
_CONFTEST: Final = "pytest runs it before any test, whichever is asked for"


def runs_by_itself(change: Change) -> str:
    """Name the program that runs the changed file automatically: a clause; "" for ordinary files.

    A file that a person starts by name (a script, a target of `make`, a test) does not count. A deleted file
    counts by its name: a hook that looks for secrets, or `ignore-scripts=true`, may protect somebody.
    """
    if change.after is None:
        who = "" if change.before is None else _by_name(_fold(change.path))
        return f"it is deleted, and {who}" if who else ""
    if change.mode == SYMLINK:
        return _LINK if change.before != change.after or change.mode_before != SYMLINK else ""
    path = _fold(change.path)
    if change.before != change.after and (
        who := _by_name(path) or runs_by_content(path, change) or _by_lines(path, change)
    ):
        return who
    gained = change.mode == EXECUTABLE and (change.before is None or change.mode_before != EXECUTABLE)
    return _by_name(path) or _PROGRAM if gained else ""


def _by_name(path: str) -> str:
    if path.rpartition("/")[2] == "conftest.py":
        return "" if _TESTS.search(path) else _CONFTEST
    return next((who for pattern, who in _patterns() if pattern.search(path)), "")


def _by_lines(path: str, change: Change) -> str:
    """Name the program that runs or loads the lines that a change adds."""
    for names, adds, who in _lines():
        if names.search(path):
            old, new = (
                set((text or b"").decode("latin-1").splitlines()) for text in (change.before, change.after)
            )
            if any(adds.search(line) for line in new - old):
                return who
    return ""


def _fold(path: str) -> str:
    """A path in the one form in which no file system tells it from another."""
    shown = (char for char in unicodedata.normalize("NFKC", path) if unicodedata.category(char) != "Cf")
    parts = "".join(shown).casefold().replace("\\", "/").split("/")
    return "/".join(part.partition(":")[0].rstrip(". ") or part for part in parts)


@cache
def _table() -> dict[str, list[dict[str, str]]]:
    import tomllib

    return tomllib.loads((resources.files("kith.edits") / "autorun.toml").read_text(encoding="utf-8"))


@cache
def _patterns() -> tuple[tuple[re.Pattern[str], str], ...]:
    return tuple((_any_of(row["names"].split()), row["does"]) for row in _table()["who"])


@cache
def _lines() -> tuple[tuple[re.Pattern[str], re.Pattern[str], str], ...]:
    return tuple(
        (_any_of(row["names"].split()), re.compile(row["adds"]), row["does"]) for row in _table()["lines"]
    )


def _any_of(names: Sequence[str]) -> re.Pattern[str]:
    return re.compile(f"(?:^|/)(?:{'|'.join(map(_one, names))})")


def _one(name: str) -> str:
    words = re.escape(name).replace(r"\*", "[^/]*")
    return words if name.endswith("/") else words + "$"
