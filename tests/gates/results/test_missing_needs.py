"""What tests need and a machine lacks, as their runners say it."""

import pytest

from kith.core.values import Ran
from kith.gates.reports import CaseResult
from kith.gates.results.missing_needs import PYPI, Blocked, blocked_cases, why_blocked
from kith.gates.toolchain import PYTHON, Toolchain
from runners import RUNNERS

PROJECT = Toolchain(
    "pytest",
    "Python",
    "",
    f"{PYTHON} -m pytest -q",
    RUNNERS["pytest"],
    own=("pkg", "tests"),
    generated=("pkg._speed",),
    requires=("attrs", "hypothesis", "vitest", "@scope/name"),
    absent=(("tests/data", "git@git.example.org:data.git"),),
)
PIP = f"{PYTHON} -m pip install"


def of_output(output: str, runner: str = "pytest", code: int = 2, name: str = "pytest") -> Blocked | None:
    toolchain = Toolchain(
        name,
        "",
        "",
        "run",
        RUNNERS[runner],
        own=PROJECT.own,
        requires=PROJECT.requires,
        absent=PROJECT.absent,
    )
    return why_blocked(toolchain, Ran("npm test" if runner == "jest" else "run", code, output, 1.0), ())


@pytest.mark.parametrize(
    ("output", "kind", "what", "install"),
    [
        ("/usr/bin/python3: No module named pytest", "runner", "pytest", f"{PIP} pytest"),
        (
            "error: unrecognized arguments: --cov=pkg --cov-branch",
            "runner",
            "pytest-cov",
            f"{PIP} pytest-cov",
        ),
        ("error: unrecognized arguments: -n auto", "runner", "pytest-xdist", f"{PIP} pytest-xdist"),
        (
            "ERROR: Missing required plugins: pytest-asyncio>=0.2, x",
            "runner",
            "pytest-asyncio",
            f"{PIP} pytest-asyncio",
        ),
        (
            "ImportError while loading conftest\nE   ModuleNotFoundError: No module named 'attr'",
            "import",
            "attr",
            f"{PIP} attrs",
        ),
        ("E   ModuleNotFoundError: No module named 'pkg'", "build", "pkg", f"{PIP} -e ."),
        (
            "-- Checking for module 'check'\n--   Package 'check', required by 'virtual:world', not found\n"
            "CMake Error at FindPkgConfig.cmake:607 (message):\n  A required package was not found",
            "import",
            "check",
            "",
        ),
        (
            "make: ruff: No such file or directory\nmake: *** [Makefile:2: check] Error 127",
            "tool",
            "ruff",
            f"{PIP} ruff",
        ),
        ("/bin/sh: 1: protoc: not found", "tool", "protoc", ""),
        ("bash: line 3: cmake: command not found", "tool", "cmake", f"{PIP} cmake"),
        ("sh: 1: vitest: not found", "runner", "vitest", "npm install"),
        ("Error: Cannot find module 'vitest'", "runner", "vitest", "npm install"),
        (
            "npm error code EAI_AGAIN\nnpm error request to https://a.example/vitest failed, reason",
            "runner",
            "vitest",
            "npm install",
        ),
        (
            "npm error request to https://a.example/@scope%2fname failed, reason",
            "import",
            "@scope/name",
            "npm install",
        ),
        ("error: no matching package named `serde` found", "import", "serde", "cargo fetch"),
        (
            "a.go:3:2: no required module provides package example.org/x; to add it:",
            "import",
            "example.org/x",
            "go mod download",
        ),
        (
            'CMake Error at CMakeLists.txt:3 (find_package):\n  By not providing "FindGTest.cmake"\n'
            '  Could not find a package configuration file provided by "GTest" with any',
            "import",
            "GTest",
            "",
        ),
        (
            'CMake Error: CMake was unable to find a build program corresponding to "Ninja".',
            "tool",
            "ninja",
            f"{PIP} ninja",
        ),
        ("a.cpp:1:10: fatal error: gtest/gtest.h: No such file or directory", "import", "gtest/gtest.h", ""),
        (
            "fatal: unable to access 'https://git.example.org/x/': Could not resolve host: git.example.org",
            "network",
            "git.example.org",
            "",
        ),
    ],
)
def test_a_run_that_could_not_begin(output: str, kind: str, what: str, install: str) -> None:
    runner: str = "cargo" if "serde" in output else "pytest"
    name = "npm test" if "vitest" in output else "pytest"
    found = of_output(output, runner, name=name)
    assert found and (found.kind, found.what, found.install) == (kind, what, install)
    assert not install.startswith(PIP) or found.hosts == PYPI


def test_what_a_manifest_in_a_folder_names_is_installed_there() -> None:
    below = Toolchain("npm test", "", "", "npm test", folder="web", requires=("vitest",))
    lines = {"sh: 1: vitest: not found": "cd web && npm install", "protoc: command not found": ""}
    for output, install in lines.items():
        found = why_blocked(below, Ran("npm test", 127, output, 1.0), ())
        assert found and found.install == install


def test_a_program_that_is_not_there() -> None:
    assert why_blocked(PROJECT, Ran("PYTHONPATH=src nox -s", 127, "", 1.0), ()) == Blocked("runner", "nox")
    assert why_blocked(PROJECT, Ran("run", 2, "syntax error", 1.0), ()) is None
    assert why_blocked(PROJECT, Ran("run", 0, "No module named pytest", 1.0), ()) is None


@pytest.mark.parametrize(
    ("message", "kind", "what"),
    [
        ("ModuleNotFoundError: No module named 'hypothesis.strategies'", "import", "hypothesis.strategies"),
        ("ImportError: cannot import name '_speed' from 'pkg' (/x/pkg/__init__.py)", "build", "pkg._speed"),
        ("importlib.metadata.PackageNotFoundError: No package metadata was found for pkg", "build", "pkg"),
        (
            "ConnectionError: HTTPSConnectionPool(host='example.org', port=443): Network is unreachable",
            "network",
            "example.org",
        ),
        ("socket.gaierror: [Errno -3] Temporary failure in name resolution", "network", "the network"),
        ("Error: getaddrinfo ENOTFOUND example.org", "network", "example.org"),
        (
            'connection to server at "localhost" (127.0.0.1), port 5432 failed: Connection refused',
            "service",
            "PostgreSQL (localhost:5432)",
        ),
        ("Error 111 connecting to localhost:6379. Connection refused.", "service", "Redis (localhost:6379)"),
        ("Error: connect ECONNREFUSED 127.0.0.1:9999", "service", "a service (localhost:9999)"),
        (
            "FileNotFoundError: [Errno 2] No such file or directory: '/p/tests/data/valid.toml'",
            "data",
            "tests/data",
        ),
        ("FileNotFoundError: [Errno 2] No such file or directory: 'protoc'", "tool", "protoc"),
        ("fixture 'mocker' not found", "runner", "pytest-mock"),
        ("recursive dependency involving fixture 'httpbin' detected", "runner", "pytest-httpbin"),
        ("async def functions are not natively supported.", "runner", "pytest-asyncio"),
    ],
)
def test_a_test_that_lacks_something(message: str, kind: str, what: str) -> None:
    found = blocked_cases((CaseResult("t", "failed", message), CaseResult("ok", "passed", message)), PROJECT)
    assert {id: (each.kind, each.what) for id, each in found.items()} == {"t": (kind, what)}


@pytest.mark.parametrize(
    "message",
    [
        "assert 1 == 2",
        "ModuleNotFoundError: No module named 'wordy'",
        "ModuleNotFoundError: No module named 'pkg.new'",
        "ImportError: cannot import name 'new' from 'pkg'",
        "fixture 'own' not found",
        "FileNotFoundError: [Errno 2] No such file or directory: 'out/a.txt'",
        "Error: Cannot find module './half'",
        "ConnectionRefusedError: [Errno 111] Connection refused",
    ],
)
def test_what_the_task_may_be_about_is_not_missing(message: str) -> None:
    assert blocked_cases((CaseResult("t", "failed", message),), PROJECT) == {}


def test_a_submodule_tells_where_it_comes_from() -> None:
    cases = (CaseResult("t", "error", "FileNotFoundError: tests/data/a"),)
    install = "git submodule update --init tests/data"
    assert blocked_cases(cases, PROJECT)["t"] == Blocked("data", "tests/data", install, ("git.example.org",))


@pytest.mark.parametrize("header", ["doctest.h", "doctest/doctest.h"])
def test_a_header_may_be_that_of_a_submodule(header: str) -> None:
    folder = "extern/doctest"
    made = Toolchain(
        "ctest", "C++", "", "run", RUNNERS["ctest"], absent=((folder, "https://example.org/d.git"),)
    )
    said = f"test.cpp:3:10: fatal error: {header}: No such file or directory\n"
    install = f"git submodule update --init {folder}"
    blocked = why_blocked(made, Ran("run", 2, said, 1.0), ())
    assert blocked == Blocked("data", folder, install, ("example.org",))
    said = said.replace("doctest", "other")
    assert why_blocked(made, Ran("run", 2, said, 1.0), ()) == Blocked(
        "import", header.replace("doctest", "other")
    )


def test_a_suite_is_blocked_when_all_that_fails_is() -> None:
    missing = CaseResult("a", "error", "No module named 'attr'")
    ran = Ran("run", 1, "", 1.0)
    blocked = why_blocked(PROJECT, ran, (missing, CaseResult("s", "skipped")))
    assert blocked and blocked.what == "attr"
    assert why_blocked(PROJECT, ran, (missing, CaseResult("b", "passed"))) is None
    assert why_blocked(PROJECT, ran, (missing, CaseResult("b", "failed", "assert 0"))) is None
