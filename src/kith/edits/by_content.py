"""Ordinary files in which a few lines run by themselves: found by what a change does to those."""

import json
import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from kith.core.values import Change

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
    """Who runs what a change adds to a file that is not called suspicious, a clause; "" where nobody does.

    `path` is the change's in lower case.
    """
    name = path.rpartition("/")[2]
    for pattern, look in _LOOKS:
        if pattern.search(name):
            return look(change.before or b"", change.after or b"")
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
    old, new = _toml(before), _toml(after)
    if new is None:
        return "pip runs what builds the package, and it cannot be read"
    if _build_of(new) != _build_of(old or {}) and _build_of(new):
        return "pip runs what builds the package, which this changes"
    return ""


def _build_of(project: Mapping[str, Any]) -> dict[str, Any]:
    """What runs when the package is built, beyond the builders that everybody knows."""
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


def _toml(text: bytes) -> dict[str, Any] | None:
    import tomllib

    try:
        return tomllib.loads(text.decode())
    except (ValueError, RecursionError):
        return None


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


_LOOKS: Final[tuple[tuple[re.Pattern[str], Callable[[bytes, bytes], str]], ...]] = (
    (re.compile(r"^package\.json5?$"), _package),
    (re.compile(r"^pyproject\.toml$"), _pyproject),
    (re.compile(r"^composer\.json$"), _composer),
)
