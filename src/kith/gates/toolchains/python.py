"""Python's toolchains: pytest, unittest or a script, and which modules a project has or requires."""

import re
import shlex
import tomllib
from collections import Counter
from collections.abc import Collection, Iterable
from fnmatch import fnmatch
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from kith.core.patterns import lazy_pattern
from kith.core.toml_text import inner_table
from kith.gates.runners.python import DJANGO, PYTEST, UNITTEST
from kith.gates.toolchain import (
    COMMAND,
    PYTHON,
    Read,
    Toolchain,
    ending_with,
    matching,
    read_text,
)
from kith.gates.toolchains.stated_commands import Stated

# How a project has pytest called: by its configuration, and by the commands that it states.


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


PYTEST_LINE: Final = f"{PYTHON} -m pytest -q"

# pytest's own options, which work without any plugin: those that take a value, then those that do not.
_VALUED: Final = lazy_pattern(
    r"-[kmWpoc]|--(?:rootdir|confcutdir|ignore|ignore-glob|deselect|import-mode|pythonwarnings|override-ini"
    r"|doctest-glob|doctest-report|assert|log-level)"
)
_PLAIN: Final = lazy_pattern(
    r"-s|--(?:doctest-modules|doctest-ignore-import-errors|doctest-continue-on-failure|pyargs|noconftest"
    r"|keep-duplicates|collect-in-virtualenv|capture=no|capture=sys)"
)
# Options about what is shown, when to stop and where to write: kith's own affair, so they are left out.
_SHOWN: Final = lazy_pattern(r"-r|--(?:basetemp|junit-?xml|junit-prefix|tb|durations|maxfail|color)")
_BARE: Final = lazy_pattern(
    r"-(?:[vqslx]+|[rkmWpo].+)"
    r"|--(?:strict(?:-markers)?|no-header|no-summary|quiet|verbose|exitfirst|lf|ff|showlocals)"
)
# Options of plugins whose value is a word of its own.
_PLUGIN_VALUED: Final = lazy_pattern(
    r"-n|--(?:cov|cov-report|cov-config|numprocesses|dist|timeout|reruns|html)"
)
# Options that choose a few tests, and those that leave files out.
_CHOOSES: Final = lazy_pattern(r"-[km] ?(?!not\b)\w")
_LEAVES_OUT: Final = lazy_pattern(r"--ignore-glob=(.+)")
_RELAXED: Final = "-W ignore::pytest.PytestConfigWarning -W ignore::pytest.PytestUnknownMarkWarning"


class PytestSettings(Struct, frozen=True):
    """The configuration of pytest: its file, its options, and the plugins that it requires.

    `test_paths` are the folders and files that it collects where a command names none; () for the whole tree.
    """

    where: str = ""
    options: str = ""
    plugins: bool = False
    finds_sources: bool = False
    test_paths: tuple[str, ...] = ()
    names_files: bool = False

    def leaves_out(self, folder: str) -> bool:
        """True if it collects no test in a folder; a pattern among its paths may mean any."""
        paths = [path.removeprefix("./").rstrip("/") for path in self.test_paths]
        if any(path in ("", ".") or re.search(r"[*?[]", path) for path in paths):
            return False
        return bool(paths) and not any(
            f"{a}/".startswith(f"{b}/") for path in paths for a, b in ((path, folder), (folder, path))
        )


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
        _words_of(table.get("testpaths")),
        bool(table.get("python_files")),
    )


def _words_of(value: Any) -> tuple[str, ...]:
    return tuple(map(str, value)) if isinstance(value, list) else tuple(str(value or "").split())


def _pyproject(text: str) -> tuple[dict[str, Any], bool]:
    """pytest's own table, and whether pytest is there or among the requirements of any group."""
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return {}, False
    named = "pytest" in inner_table(data, "tool")
    groups = (inner_table(data, "dependency-groups"), inner_table(data, "project", "optional-dependencies"))
    lists = [items for group in groups for items in group.values() if isinstance(items, list)]
    required = [item for items in lists for item in items if isinstance(item, str)]
    named = named or any(re.match(r"pytest\b(?!-)", item) for item in required)
    return inner_table(data, "tool", "pytest", "ini_options") or inner_table(data, "tool", "pytest"), named


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
    return f"{PYTEST_LINE} {without}{' -o required_plugins=' * settings.plugins} {_RELAXED}"


def _is_own(word: str) -> bool:
    name = word.partition("=")[0]
    known = (_PLAIN.fullmatch(word), _VALUED.fullmatch(name), _SHOWN.fullmatch(name), _BARE.fullmatch(word))
    return any(known)


def _own_options(words: list[str]) -> tuple[list[str], list[str]]:
    """pytest's own options among some words, and the words that are none."""
    options: list[str] = []
    others: list[str] = []
    rest = list(reversed(words))
    while rest:
        word = rest.pop()
        name, _, value = word.partition("=")
        if _PLAIN.fullmatch(word) or (_VALUED.fullmatch(name) and value) or re.match(r"-[kmWpo][^=]", word):
            options.append(word)
        elif _VALUED.fullmatch(word):
            options += [word, rest.pop() if rest else ""]
        elif _SHOWN.fullmatch(word) or _PLUGIN_VALUED.fullmatch(word):
            if rest and not rest[-1].startswith("-"):  # `--cov` may stand alone
                rest.pop()
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
    line = " ".join(filter(None, (PYTEST_LINE, shlex.join(options), shlex.join(targets))))
    if line == PYTEST_LINE:
        return None
    return Toolchain(
        "pytest",
        "Python",
        f"{stated.where} says so",
        line,
        PYTEST,
        env=plain_env(stated.env),
        targets=shlex.join(targets),
    )


# What a Python project says of its own modules: which it has, which its build makes, what it requires.

_MANIFESTS: Final = ("pyproject.toml", "setup.cfg", "setup.py", "tox.ini")
_LISTS: Final = lazy_pattern(r"(?:requirements/)?[\w.-]*(?:requirements|test|dev)[\w.-]*\.(?:txt|in)")
_LISTS_READ: Final = 6
_REQUIREMENT: Final = lazy_pattern(
    r"^\s*+(?:[\w-]+\s*+=\s*+(?:\[\s*+)?)?[\"']?([A-Za-z][\w.-]*+)(?:\[[\w, -]*\])?\s*+"
    r"(?:[<>=!~;@][^\n]*|[\"']?\s*+[,\]]*+\s*+)$"
)
_QUOTED: Final = lazy_pattern(r"[\"']([A-Za-z][\w.-]*)(?:\[[\w, -]*\])?\s*(?:[<>=!~;][^\"'\n]*)?[\"']")
_WRITTEN: Final = lazy_pattern(r"(?:version[-_]file|write_to|module-name)\s*=\s*[\"\']?([\w./]+)")
_COMPILED: Final = (".pyx", ".c", ".cc", ".cpp", ".rs")


class Needs(Struct, frozen=True):
    """The project's top modules, the modules that only its build makes, the distributions it names."""

    own: tuple[str, ...]
    generated: tuple[str, ...]
    requires: tuple[str, ...]


def needs_clues(files: Collection[str]) -> tuple[str, ...]:
    """The lists of requirements beside the manifests."""
    return tuple(sorted(matching(files, (".txt", ".in"), _LISTS))[:_LISTS_READ])


def find_needs(files: Collection[str], read: Read, folders: tuple[str, ...]) -> Needs:
    """`folders` are those below the top from which packages are imported."""
    texts = [read_text(read, path) for path in requirement_files(files)]
    compiled = {path for path in ending_with(files, _COMPILED) if _is_module(path, files)}
    written = {path for text in texts for path in _WRITTEN.findall(text) if path not in files}
    tops = {_below(path, folders).partition("/")[0] for path in ending_with(files, (".py",))}
    return Needs(
        tuple(sorted({top.removesuffix(".py") for top in tops})),
        tuple(sorted(_module(path, folders) for path in compiled | written)),
        tuple(sorted(required_by(files, read))),
    )


def own_modules(files: Iterable[str]) -> frozenset[str]:
    """The top modules and folders of a project, wherever its sources lie."""
    folders = rf"^(?:{'|'.join(_SOURCE_FOLDERS)})/"
    inside = (re.sub(folders, "", path) for path in files if path.endswith(".py"))
    return frozenset(path.partition("/")[0].removesuffix(".py") for path in inside)


def required_by(files: Collection[str], read: Read) -> frozenset[str]:
    """The distributions that the manifests require, in any group, as the package index names them."""
    texts = {path: read_text(read, path) for path in requirement_files(files)}
    lines = [part for text in texts.values() for line in text.splitlines() for part in line.split(",")]
    required = {found[1] for line in lines if (found := _REQUIREMENT.match(line))}
    return frozenset(map(normal_name, required.union(_QUOTED.findall(texts.get("setup.py", "")))))


def requirement_files(files: Collection[str]) -> list[str]:
    """The manifests and lists that may require distributions."""
    return [*(path for path in _MANIFESTS if path in files), *needs_clues(files)]


def normal_name(name: str) -> str:
    """As the package index compares names."""
    return re.sub(r"[-_.]+", "-", name).lower()


def _is_module(path: str, files: Collection[str]) -> bool:
    return "/" not in path or f"{path.rpartition('/')[0]}/__init__.py" in files


def _module(path: str, folders: tuple[str, ...]) -> str:
    """The dotted name under which a file is imported."""
    inside = re.sub(r"(?:/__init__)?\.(?:pyx|c|cc|cpp|rs|py)$", "", _below(path, folders))
    return inside.replace("/", ".")


def _below(path: str, folders: tuple[str, ...]) -> str:
    """The path in the first of these folders that it is in, else the path itself."""
    inside = (path.removeprefix(f"{folder}/") for folder in folders if path.startswith(f"{folder}/"))
    return next(inside, path)


# The usual names of scripts that start Django's tests of a package, which has no manage.py.
DJANGO_SCRIPTS: Final = ("runtests.py", "run_tests.py", "tests/runtests.py")
_HANDS_ON: Final = ("execute_from_command_line", "sys.argv[1:]")
PYTHON_CLUES: Final = (
    *DJANGO_SCRIPTS,
    ".coveragerc",
    "pyproject.toml",
    "pytest.ini",
    ".pytest.ini",
    "setup.cfg",
    "setup.py",
    "tox.ini",
)
PYTHON_MANIFESTS: Final = frozenset(
    {".pytest.ini", "conftest.py", "pyproject.toml", "pytest.ini", "setup.cfg", "setup.py", "tox.ini"}
)
TEST_MODULES_READ: Final = 8  # to see which framework they use
_MOST: Final = 5  # ways that are worth a try
_TEST_MODULE: Final = lazy_pattern(r"(?:^|/)(?:test_[^/]*|[^/]*_test|tests?)\.py$")
# One file beside the code or in its package, which pytest collects only where it is told so.
_LONE_MODULE: Final = lazy_pattern(r"(?:^|/)tests?\.py$")
# A script that tests, as `runtests` does; `convert_attestations` and `find_latest` do not.
_OF_TESTS: Final = lazy_pattern(r"(?<!at)(?<!la)test")
_LONE: Final = "-o python_files='test.py tests.py test_*.py *_test.py'"
# What nobody means to test: how the project is installed and described, and what is not its own.
_BESIDE: Final = "setup.py,docs/*,doc/*,.venv/*,venv/*,.kith-build/*"
_COVERAGE_TABLES: Final = {
    "pyproject.toml": "[tool.coverage.",
    "setup.cfg": "[coverage:",
    "tox.ini": "[coverage:",
}
_DJANGO_NAMES: Final = frozenset({"manage.py test", "django test"})
_DJANGO: Final = (Stated(("python", "manage.py", "test"), "manage.py"),)  # where there is such a script
# Where packages lie that are not at the top; the second and third only if a manifest names them.
_SOURCE_FOLDERS: Final = ("src", "lib", "python")


def find_python(files: Collection[str], read: Read, stated: tuple[Stated, ...]) -> tuple[Toolchain, ...]:
    """Ways to run a project's tests: as it is configured, as it says, without plugins, with unittest.

    pytest where a file asks for it, unittest where all test modules seen are its own, else pytest.
    """
    tests, settings = test_modules(files), read_settings(files, read)
    sources = {path: text for path in tests[:TEST_MODULES_READ] if (text := read_text(read, path))}
    lone = bool(tests) and all(map(_LONE_MODULE.search, tests))
    held = [path for path, text in sources.items() if _holds_tests(text)]
    if lone:  # a script to evaluate a model is called test.py, too
        tests = held
    asked = [each for each in (stated_pytest(one, files) for one in stated) if each]
    asked.sort(key=lambda each: -_reached(each, tests))  # one of them may be about a few tests only
    scripts = [each for each in (_by_script(one, files, read) for one in (*stated, *_DJANGO)) if each]
    if not (settings.where or tests or scripts):
        return ()
    conftest = min((path for path in files if f"/{path}".endswith("/conftest.py")), default="")
    of_unittest = any(re.search(r"^class \w+\([\w., ]*TestCase\b", text, re.M) for text in sources.values())
    kinds = [_is_unittest(text) for path, text in sources.items() if path in tests]
    plain_unittest = not settings.where and not conftest and bool(kinds) and all(kinds)
    why = settings.where or conftest or (f"{tests[0]} is a test module" if tests else "")
    line = f"{PYTEST_LINE} {_LONE}" if lone and tests and not settings.names_files else PYTEST_LINE
    by_pytest = [*asked[:1], Toolchain("pytest", "Python", why, line, PYTEST)]
    if settings.test_paths or not why or (asked and 2 * _reached(asked[0], tests) < len(tests)):
        by_pytest.reverse()
    if asked and _is_all_of(asked[0], tests):
        by_pytest.pop()
    lenient = lenient_line(settings)
    if lenient:
        by_pytest.insert(1, Toolchain("pytest", "Python", f"{why}, without plugins", lenient, PYTEST))
    found = by_pytest if why else by_pytest[1:]
    if of_unittest:
        why = f"{tests[0]} uses unittest"
        own = Toolchain("unittest", "Python", why, _unittest_line(tests, files), UNITTEST)
        found = [own, *found] if plain_unittest else [*found[:2], own, *found[2:]]
    # Beside other tests pytest leaves a module out that is called test.py and started as a script.
    names = {each.name for each in scripts[:1]}
    left_out = {path for path in held if not lone and _LONE_MODULE.search(path)}
    first = not settings.where and not names.isdisjoint(_DJANGO_NAMES | left_out)
    found = [*scripts[:1], *found] if first else [*found, *scripts[:1]]
    return _complete(found, files, read, settings)


def _reached(stated: Toolchain, tests: list[str]) -> int:
    """Count the test modules that a stated command runs; none if it chooses tests by name or by mark."""
    targets, options = shlex.split(stated.targets), shlex.split(stated.run.removeprefix(PYTEST_LINE))
    if any(_CHOOSES.match(" ".join(pair)) for pair in zip(options, [*options[1:], ""], strict=True)):
        return 0
    folders = tuple(f"{target}/" for target in targets)
    left_out = [found[1] for each in options if (found := _LEAVES_OUT.match(each))]
    return sum(
        (not targets or path in targets or path.startswith(folders))
        and not any(fnmatch(f"/{path}", f"/{pattern}") for pattern in left_out)
        for path in tests
    )


def _is_all_of(stated: Toolchain, tests: list[str]) -> bool:
    """True if a stated command only names the place of all tests."""
    whole = stated.run == f"{PYTEST_LINE} {stated.targets}" and not stated.env
    return whole and bool(tests) and _reached(stated, tests) == len(tests)


def _complete(
    found: list[Toolchain], files: Collection[str], read: Read, settings: PytestSettings
) -> tuple[Toolchain, ...]:
    """With what holds for all of them; the best also without it, for a package that is installed built."""
    measure = _coverage_options(files, read)
    folders = _source_folders(files, read)
    needs = find_needs(files, read, folders)
    complete = [
        replace(
            each,
            coverage=measure if each.runner in (PYTEST, UNITTEST, DJANGO) else "",
            # pytest's own `pythonpath` helps no other runner.
            env=_with_roots(() if settings.finds_sources and each.runner is PYTEST else folders, each.env),
            own=needs.own,
            generated=needs.generated,
            requires=needs.requires,
        )
        for each in dict.fromkeys(found)
    ][:_MOST]
    if folders and complete and not settings.finds_sources:
        best = next((each for each in complete if "-o addopts" in each.run), complete[0])
        modules = _packages_in(folders, files)
        complete[_MOST - 1 :] = [replace(best, env=best.env[1:], installed=modules)]
    distinct = {(each.run, each.env): each for each in reversed(complete)}
    return tuple(reversed(distinct.values()))


def _with_roots(roots: tuple[str, ...], env: tuple[tuple[str, str], ...]) -> tuple[tuple[str, str], ...]:
    """Variables with the folders of sources before what PYTHONPATH has already."""
    paths = (*roots, *(value for name, value in env if name == "PYTHONPATH"))
    others = tuple(pair for pair in env if pair[0] != "PYTHONPATH")
    return ((("PYTHONPATH", ":".join(paths)),) if paths else ()) + others


def _packages_in(folders: tuple[str, ...], files: Collection[str]) -> tuple[str, ...]:
    """The first packages of these folders, as they are imported; below a namespace its parts."""
    found = {
        _module(path, folders)
        for path in files
        if path.endswith("/__init__.py") and path.startswith(tuple(f"{folder}/" for folder in folders))
    }
    tops = [each for each in found if not any(each.startswith(f"{other}.") for other in found)]
    return tuple(sorted(tops)[:_MOST])


def test_modules(files: Collection[str]) -> list[str]:
    """The Python files that are named like tests, sorted; lone ones, which may be none, follow the others."""
    # Few of many files get as far as the pattern, which is slow.
    python = ending_with(files, (".py",))
    named = (path for path in python if "test" in path and _TEST_MODULE.search(path))
    return sorted(named, key=lambda path: (bool(_LONE_MODULE.search(path)), path))


# --- unittest, and scripts of the project's own ----------------------------------------------


def _holds_tests(text: str) -> bool:
    return bool(re.search(r"^(?:async )?def test_|^class \w+\([\w., ]*TestCase\b", text, re.M))


def _is_unittest(text: str) -> bool:
    for_pytest = re.search(r"\bpytest\b|^(?:async )?def test_", text, re.M)
    own = re.search(r"\bunittest\b|^class \w+\([\w., ]*\bTestCase\b", text, re.M)
    return bool(own) and not for_pytest


def _unittest_line(tests: list[str], files: Collection[str]) -> str:
    """Discovery begins at the top, or in the folder that most tests are reached from."""
    starts = Counter(_start_of(path, files) for path in tests)
    usual = sum(path.rpartition("/")[2].startswith("test") for path in tests)
    pattern = "" if 2 * usual >= len(tests) else " -p '*_test.py'"
    start = "" if "" in starts else min(starts, key=lambda each: (-starts[each], each.count("/"), each))
    where = f" -s {shlex.quote(start)}" if start else ""
    return f"{PYTHON} -m unittest discover{where}{pattern}"


def _start_of(path: str, files: Collection[str]) -> str:
    """The folder above the packages that a module is in, "" for the top: discovery enters only packages."""
    folder = path.rpartition("/")[0]
    while folder and f"{folder}/__init__.py" in files:
        folder = folder.rpartition("/")[0]
    return folder


def _by_script(stated: Stated, files: Collection[str], read: Read) -> Toolchain | None:
    """unittest as some file says it is called here, or a script or package of the project that tests."""
    first = stated.words[0].removeprefix("./")
    words = [first, *stated.words[1:]] if first.endswith(".py") else of_python(list(stated.words))
    if first == "django-admin":
        words = ["-m", "django", *stated.words[1:]]
    words[:1] = [word.removeprefix("./") for word in words[:1]]
    unittest = words[:2] == ["-m", "unittest"]  # it reads patterns, so a star is none of the shell's
    if any(re.search(r"[{}$]" if unittest else r"[{}$*]", word) for word in words):
        return None
    where, env = f"{stated.where} says so", _script_env(stated.env, words[:1], files)
    if unittest:
        line = shlex.join([PYTHON, *words])
        return Toolchain("unittest", "Python", where, line, UNITTEST, env=plain_env(stated.env))
    if words[:3] == ["-m", "django", "test"]:
        return _django("django test", words, where, env)
    if words[1:2] == ["test"] and words[0] in files and f"/{words[0]}".endswith("/manage.py"):
        return _django("manage.py test", words, where, env)
    module = words[1].replace(".", "/") if words[:1] == ["-m"] and len(words) > 1 else ""
    path = in_tree(module, files) or (in_tree(f"{module}.py", files) if module else "")
    path = path or (words[0] if words and words[0] in files and words[0].endswith(".py") else "")
    if not path or not _OF_TESTS.search(path.rpartition("/")[2].removesuffix(".py")):
        return None
    of_django = path in DJANGO_SCRIPTS and all(each in read_text(read, path) for each in _HANDS_ON)
    line = shlex.join([PYTHON, *words])
    runner = DJANGO if of_django else COMMAND
    name = path if words[0] == path else line
    return Toolchain(name, "Python", where, line, runner, env=env)


def _django(name: str, words: list[str], where: str, env: tuple[tuple[str, str], ...]) -> Toolchain:
    """Django's own runner, which asks nothing."""
    words = [*words, *(["--noinput"] if "--noinput" not in words else [])]
    return Toolchain(name, "Python", where, shlex.join([PYTHON, *words]), DJANGO, env=env)


def _script_env(
    env: tuple[tuple[str, str], ...], script: list[str], files: Collection[str]
) -> tuple[tuple[str, str], ...]:
    """The variables of a script, and of its PYTHONPATH the folders of the tree.

    A script below the top does not see the top, where it expects an installed package.
    """
    paths = [word for name, value in env if name == "PYTHONPATH" for word in value.split(":")]
    if any("/" in path for path in script):
        paths.insert(0, ".")
    kept = [path for word in paths if (path := in_tree(word, files) or "." * (word in (".", "./")))]
    kept = list(dict.fromkeys(kept))
    return ((("PYTHONPATH", ":".join(kept)),) if kept else ()) + plain_env(env)


# --- for all of them -------------------------------------------------------------------------


def _source_folders(files: Collection[str], read: Read) -> tuple[str, ...]:
    """The folders below the top from which packages are imported once they are installed."""
    manifests = [
        read_text(read, path) for path in ("pyproject.toml", "setup.cfg", "setup.py") if path in files
    ]
    found = []
    for folder in _SOURCE_FOLDERS:
        inner = re.compile(rf"{folder}/(?:[\w/]+/__init__|\w+)\.py$")
        named = folder == "src" or any(re.search(rf"[\"'=\s]{folder}[\"'\s]", text) for text in manifests)
        if named and f"{folder}/__init__.py" not in files and any(inner.match(path) for path in files):
            found.append(folder)
    return tuple(found)


def _coverage_options(files: Collection[str], read: Read) -> str:
    """The project's own choice of code to measure; else everything that is relevant."""
    own = ".coveragerc" in files or any(
        path in files and table in read_text(read, path) for path, table in _COVERAGE_TABLES.items()
    )
    return "--branch" if own else f"--branch --source=. --omit={shlex.quote(_BESIDE)}"
