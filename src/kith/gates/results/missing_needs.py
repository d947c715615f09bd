"""Find dependencies of tests that this machine lacks, by their output with and without the change."""

import re
from collections.abc import Callable, Mapping
from posixpath import basename, splitext
from typing import Final
from urllib.parse import unquote

from msgspec.structs import replace

from kith.core.evidence import Blocked
from kith.core.evidence import Missing as Kind
from kith.core.patterns import lazy_pattern
from kith.core.values import Ran
from kith.gates.packages import (
    FIXTURES,
    OPTIONS,
    SERVICES,
    TOOLS,
    distribution_of,
    is_renowned,
)
from kith.gates.reports import CaseResult
from kith.gates.results.missing_elsewhere import find_missing_elsewhere
from kith.gates.toolchain import PYTHON, Toolchain
from kith.gates.toolchains.python import normal_name

PYPI: Final = ("pypi.org", "files.pythonhosted.org")
_NPM: Final = ("registry.npmjs.org",)
_CRATES: Final = ("index.crates.io", "static.crates.io")
_GO: Final = ("proxy.golang.org", "sum.golang.org")


def why_blocked(toolchain: Toolchain, ran: Ran, cases: tuple[CaseResult, ...]) -> Blocked | None:
    """Explain why a run of an untouched tree has no result; None where one has.

    A test that passed is a result, and so is one that failed for a reason of its own.
    """
    if ran.code == 0 or any(case.outcome == "passed" for case in cases):
        return None
    failing = [case for case in cases if case.outcome in ("failed", "error")]
    told = blocked_cases(cases, toolchain)
    if failing:
        return told.get(failing[0].id) if len(told) == len(failing) else None
    return _read(ran.output, toolchain) or _unknown_command(ran)


def blocked_cases(cases: tuple[CaseResult, ...], toolchain: Toolchain) -> Mapping[str, Blocked]:
    """The tests that could not be what they are without something that is missing, by their ids."""
    failing = (case for case in cases if case.outcome in ("failed", "error"))
    said = {case.id: f"{case.error}: {case.message}" for case in failing}
    known = {text: _read(text, toolchain) for text in {*said.values()}}  # many fail for one reason
    return {id: blocked for id, text in said.items() if (blocked := known[text])}


def _read(text: str, toolchain: Toolchain) -> Blocked | None:
    """The first sign that any of the readers knows; who is most exact comes first."""
    found = next((found for reader in _READERS if (found := reader(text, toolchain))), None)
    if found and found.install.startswith(_BY_MANIFEST):
        return replace(found, install=toolchain.from_top(found.install))
    return found


# What installs by the manifest of the folder it is started in.
_BY_MANIFEST: Final = (f"{PYTHON} -m pip install -e", "npm ", "yarn ", "pnpm ", "bun ", "cargo ", "go mod ")


# --- Python ----------------------------------------------------------------------------------

NO_MODULE: Final = lazy_pattern(r"No module named '?([\w.]+)")
_NO_NAME: Final = lazy_pattern(
    r"cannot import name \'(\w+)\' from (?:partially initialized module )?\'([\w.]+)\'"
)
_NO_METADATA: Final = lazy_pattern(
    r"No package metadata was found for ([\w.-]+)|The '([\w.-]+)[^']*' distribution was not found"
)
_UNKNOWN_OPTIONS: Final = lazy_pattern(r"error: unrecognized arguments: ([^\n]+)")
_PLUGINS: Final = lazy_pattern(r"Missing required plugins: ([^\n]+)|Error importing plugin \"([\w.]+)\"")
_FIXTURE: Final = lazy_pattern(
    r"fixture \'(\w+)\' not found|recursive dependency involving fixture \'(\w+)\' detected"
)
_ASYNC: Final = lazy_pattern(r"async def functions are not natively supported")


def _pip(kind: Kind, what: str, distribution: str) -> Blocked:
    return Blocked(kind, what, f"{PYTHON} -m pip install {distribution}", PYPI)


def _pytest(text: str, toolchain: Toolchain) -> Blocked | None:
    """pytest itself, or a plugin of it."""
    if re.search(r"No module named \'?(?:pytest|_pytest)\b", text) or re.search(
        r"\bpytest: (?:command )?not found", text
    ):
        return _pip("runner", "pytest", "pytest")
    plugin = _PLUGINS.search(text)
    if plugin:
        named = plugin[2] or re.split(r"[,;<>=!~ \[]", plugin[1].strip())[0]
        return _pip("runner", named, distribution_of(named))
    unknown = _UNKNOWN_OPTIONS.search(text)
    words = unknown[1].split() if unknown else []
    known = next((OPTIONS[name] for word in words if (name := word.partition("=")[0]) in OPTIONS), "")
    fixture = _FIXTURE.search(text)
    known = known or (FIXTURES.get(fixture[1] or fixture[2], "") if fixture else "")
    known = known or ("pytest-asyncio" if _ASYNC.search(text) else "")
    return _pip("runner", known, known) if known else None


def _python_import(text: str, toolchain: Toolchain) -> Blocked | None:
    """A module that is not installed, or that the project's own build has to make."""
    generated = toolchain.generated
    name = _NO_NAME.search(text)
    missing = NO_MODULE.search(text)
    module = missing[1] if missing else f"{name[2]}.{name[1]}" if name else ""
    metadata = _NO_METADATA.search(text)
    if metadata:
        what = metadata[1] or metadata[2]
        own = what in toolchain.own
        return _pip("build", what, "-e .") if own else _pip("import", what, what)
    if module and module in generated:
        return _pip("build", module, "-e .")
    if not missing:
        return _pip("import", module, distribution_of(module)) if missing else None
    if module in toolchain.own:
        return _pip("build", module, "-e .")
    if module.partition(".")[0] in toolchain.own:
        return None  # a part of the project that it does not have
    # A name that nothing requires may be what the task is about: no stranger's package of that name.
    named = normal_name(distribution_of(module)) in toolchain.requires or is_renowned(module)
    return _pip("import", module, distribution_of(module)) if named else None


# --- programs --------------------------------------------------------------------------------

_NO_TOOL: Final = lazy_pattern(
    r"^(?:/(?:usr/)?bin/)?(?:ba|da|z)?sh: (?:line )?(?:\d+: )?([\w.+-]+): (?:command )?not found"
    r"|^make(?:\[\d+\])?: ([\w.+-]+): (?:No such file or directory|Permission denied)"
    r"|^env: [\'\u2018]?([\w.+-]+)[\'\u2019]?: No such file or directory"
    r"|FileNotFoundError: \[Errno 2\] No such file or directory: [\'\"]([\w+-]+)[\'\"]"
    r"|^sh: \d+: ([\w.+-]+): not found|spawn ([\w.+-]+) ENOENT"
    r"|^exec: \"([\w.+-]+)\": executable file not found",
    re.M,
)
_NO_CMAKE_PACKAGE: Final = lazy_pattern(
    r"Could NOT find (\w+)|package configuration file provided by \"([\w.+-]+)\""
    r"|^(?:--)?[ \t]*(?:No package|Package) '([\w.+-]+)'(?:, required by '[^'\n]*',)?(?: not)? found",
    re.M,
)
_NO_HEADER: Final = lazy_pattern(r"fatal error: \'?([\w./+-]+)\'?(?:: No such file| file not found)")
_NO_GENERATOR: Final = lazy_pattern(r"CMake was unable to find a build program corresponding to \"(\w+)")
_NO_COMPILER: Final = lazy_pattern(r"No (CMAKE_C(?:XX)?_COMPILER) could be found")


def _tool(text: str, toolchain: Toolchain) -> Blocked | None:
    found = _NO_TOOL.search(text)
    name = next((group for group in found.groups() if group), "") if found else ""
    missing = _NO_GENERATOR.search(text) or _NO_COMPILER.search(text)
    name = name or (missing[1].removeprefix("CMAKE_").lower() if missing else "")
    if not name:
        return None
    if name in ("jest", "vitest", "mocha", "ava", "tap", "tsc", "tsx", "ts-node", "c8", "nyc", "cross-env"):
        return npm_install(name, toolchain)
    distribution = TOOLS.get(name, "")
    kind: Kind = (
        "runner" if name in ("ctest", "cargo", "go", "node", "npm", "tox", "nox", "yarn", "pnpm") else "tool"
    )
    return _pip(kind, name, distribution) if distribution else Blocked(kind, name)


def _native(text: str, toolchain: Toolchain) -> Blocked | None:
    """A library of C or C++ that CMake or the compiler looked for."""
    found = _NO_CMAKE_PACKAGE.search(text)
    if found and "CMake Error" in text:
        return Blocked("import", found[1] or found[2] or found[3])
    header = _NO_HEADER.search(text)
    return Blocked("import", header[1]) if header and "<" not in header[1] else None


# --- JavaScript, Rust, Go ---------------------------------------------------------------------

NO_PACKAGE: Final = lazy_pattern(
    r"Cannot find (?:module|package) \'([^\'./][^\']*)\'"
    r"|could not determine executable to run|npx canceled due to missing"
    r"|npm (?:ERR!|error) missing: ([\w@/.-]+)"
    r"|npm (?:ERR!|error) request to https?://[^/\s]+/((?:@[\w.-]+(?:/|%2[fF]))?[\w.-]+) failed"
)
_NO_CRATE: Final = lazy_pattern(
    r"no matching package named `([\w-]+)` found|failed to (?:download|get) `([\w-]+)"
    r"|can't find crate for `(\w+)`"
)
_NO_GO_MODULE: Final = lazy_pattern(
    r"no required module provides package ([^\s;:]+)|cannot find module providing package ([^\s;:]+)"
    r"|(?<![\w./-])([\w./-]+)@v[\w.+-]+: (?:Get \"https://proxy|module lookup disabled|dial tcp)"
    r"|missing go\.sum entry for module providing package ([^\s;:]+)"
)


def npm_install(what: str, toolchain: Toolchain | None = None) -> Blocked:
    """By the manager whose lock file is there, since that is how the project is installed."""
    manager = toolchain.name.split()[0] if toolchain else "npm"
    line = {"yarn": "yarn install", "pnpm": "pnpm install", "bun": "bun install"}.get(manager, "npm install")
    return Blocked("runner" if what in ("jest", "vitest", "mocha") else "import", what, line, _NPM)


def _packages(text: str, toolchain: Toolchain) -> Blocked | None:
    package = NO_PACKAGE.search(text)
    if package:
        named = next(filter(None, package.groups()), "") or toolchain.runner.name
        parts = unquote(named).split("/")
        name = "/".join(parts[: 2 if named.startswith("@") else 1])
        return npm_install(name, toolchain) if name in toolchain.requires else None
    crate = _NO_CRATE.search(text)
    if crate and toolchain.runner.name == "cargo":
        return Blocked("import", crate[1] or crate[2] or crate[3], "cargo fetch", _CRATES)
    module = _NO_GO_MODULE.search(text)
    if module:
        return Blocked("import", next(group for group in module.groups() if group), "go mod download", _GO)
    return None


# --- what is elsewhere -----------------------------------------------------------------------

_REFUSED: Final = lazy_pattern(
    r"connection refused|ECONNREFUSED|Cannot connect to the Docker daemon|actively refused", re.I
)
_LOCAL: Final = lazy_pattern(r"(?:localhost|127\.0\.0\.1|::1\]?|0\.0\.0\.0)\D{1,12}?(\d{2,5})(?!\.?\d)")
_OFFLINE: Final = lazy_pattern(
    r"Network is unreachable|ENETUNREACH|Temporary failure in name resolution|Name or service not known"
    r"|nodename nor servname|getaddrinfo (?:ENOTFOUND|EAI_AGAIN|failed)"
    r"|Could not resolve host|Failed to resolve '"
    r"|No address associated with hostname|no such host|NameResolutionError|gaierror|failed to lookup address"
    r"|lookup \S+ on \S+: ",
    re.I,
)
_HOST: Final = lazy_pattern(
    r"https?://([\w.-]+\.[a-z]{2,})|host=\'([\w.-]+\.[a-z]{2,})\'"
    r"|(?:ENOTFOUND|EAI_AGAIN|resolve host:?|resolve) \'?([\w.-]+\.[a-z]{2,})"
    r"|lookup ([\w.-]+\.[a-z]{2,})",
    re.I,
)


def _elsewhere(text: str, toolchain: Toolchain) -> Blocked | None:
    """Services of this machine, and the network."""
    if "Docker daemon" in text:
        return Blocked("service", "Docker")
    port = _LOCAL.search(text)
    if _REFUSED.search(text) and port:
        return Blocked("service", f"{SERVICES.get(int(port[1]), 'a service')} (localhost:{port[1]})")
    if not _OFFLINE.search(text):
        return None
    host = _HOST.search(text)
    name = next((group for group in host.groups() if group), "") if host else ""
    return Blocked("network", name or "the network", hosts=(name,) if name else ())


def _data(text: str, toolchain: Toolchain) -> Blocked | None:
    """Files of a submodule that was not fetched, and files that Git LFS keeps elsewhere."""
    header = _NO_HEADER.search(text)
    parts = {splitext(part)[0] for part in header[1].split("/")} if header else set[str]()
    for folder, address in toolchain.absent:
        inside = basename(folder) in parts  # `doctest.h` of a submodule `extern/doctest`
        if inside or re.search(rf"{re.escape(folder)}(?:/|[\'\"]|\b)", text):
            host = re.match(r"(?:https?|ssh|git)://(?:[^@/]+@)?([\w.-]+)|[^@/]+@([\w.-]+):", address)
            hosts = (host[1] or host[2],) if host else ()
            return Blocked("data", folder, f"git submodule update --init {folder}", hosts)
    if "version https://git-lfs.github.com/spec" in text:
        return Blocked("data", "files of Git LFS", "git lfs pull")
    return None


def _unknown_command(ran: Ran) -> Blocked | None:
    """127 is what a shell says of a program that it does not find."""
    if ran.code != 127:
        return None
    words = [word for word in ran.command.split() if "=" not in word]
    return Blocked("runner", words[0] if words else ran.command)


def _other(text: str, toolchain: Toolchain) -> Blocked | None:
    return find_missing_elsewhere(text, toolchain.requires)


_READERS: Final[tuple[Callable[[str, Toolchain], Blocked | None], ...]] = (
    _data,
    _pytest,
    _python_import,
    _tool,
    _packages,
    _elsewhere,
    _native,
    _other,
)
