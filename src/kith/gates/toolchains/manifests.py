"""Find the toolchains of projects with one manifest: package.json and the Makefile."""

import json
import os
import re
import shlex
from collections.abc import Collection, Iterator, Mapping
from typing import Any, Final

from msgspec.structs import replace

from kith.core.patterns import lazy_pattern
from kith.gates.runners.javascript import JEST, MOCHA, NODE, VITEST
from kith.gates.toolchain import COMMAND, Read, Runner, Toolchain, read_text

NODE_CLUES: Final = ("package.json",)
_MANAGERS: Final = {
    "pnpm-lock.yaml": "pnpm",
    "yarn.lock": "yarn",
    "bun.lock": "bun run",
    "bun.lockb": "bun run",
}
_WATCHES: Final = lazy_pattern(
    r"\b(?:react-scripts|craco|ng) test\b"
)  # for ever, unless it is told that nobody looks
_WRAPPED: Final = lazy_pattern(
    r"^(?:(?:cross-env|env|c8|nyc|npx|dotenv|(?:pnpm|yarn|npm|bun)(?: exec| x)?"
    r"|--?[\w-]+(?:=\S+)?|[A-Z_]\w*=\S*)\s+)*"
)
# Programs that test and have no reader here: what they print counts, and these can print it in TAP's form.
_PRINTS: Final[Mapping[str, str]] = {
    **dict.fromkeys(("tape", "uvu", "jasmine", "qunit", "lab", "borp", "zora"), ""),
    "ava": " --tap",
    "tap": " --reporter=tap",
}
_STARTS_SCRIPT: Final = lazy_pattern(
    r"\s*(?:(?:nyc|c8)(?: --\S+)* )?(?:npm|yarn|pnpm|bun)(?: run(?:-script)?)?(?: -s| --silent| --)*"
    r" ([\w:.-]+)\s*"
)
_STARTS_SCRIPTS: Final = lazy_pattern(r"\s*(?:run-[sp]|npm-run-all2?)\s+([^*]*)")
# What a script does when a command fails, or a command that is of use to the next ones only.
_NOT_IN_TURN: Final = lazy_pattern(r"[|;]|(?<!&)&(?!&)|^(?:cd|pushd|export|set|source|\.)\s|^[({]")
_RUNNERS: Final[tuple[tuple[str, Runner], ...]] = (
    (r"node\s+(?:--?[\w-]+(?:=\S+)?\s+)*--test\b", NODE),
    (r"jest\b", JEST),
    (r"vitest\b", VITEST),
    (r"mocha\b", MOCHA),
)
_REQUIRED: Final = ("dependencies", "devDependencies", "peerDependencies", "optionalDependencies")
_MOST: Final = 4


def find_node(files: Collection[str], read: Read) -> tuple[Toolchain, ...]:
    """Find the test scripts of `package.json`, except the placeholder of `npm init`.

    They are followed by the same scripts without their extra commands, and by scripts with names of tests.
    """
    if "package.json" not in files:
        return ()
    data = parse_object(read_text(read, "package.json"))
    scripts = {name: text for name, text in _dict(data.get("scripts")).items() if isinstance(text, str)}
    manager = next((name for lock, name in _MANAGERS.items() if lock in files), "npm")
    language = "TypeScript" if "tsconfig.json" in files else "JavaScript"
    found = dict.fromkeys(
        _toolchains(scripts, manager, language, "workspaces" in data or "pnpm-workspace.yaml" in files)
    )
    requires = tuple(sorted(packages_in(data)))
    return tuple(replace(each, requires=requires) for each in found)[:_MOST]


def packages_in(data: Mapping[str, Any]) -> frozenset[str]:
    """The packages that the value of a package.json requires, for whatever."""
    return frozenset(name for key in _REQUIRED for name in _dict(data.get(key)))


def _toolchains(
    scripts: Mapping[str, str], manager: str, language: str, workspaces: bool
) -> Iterator[Toolchain]:
    script = scripts.get("test", "").strip()
    real = bool(script) and "no test specified" not in script
    alone = "npx" if manager == "npm" else manager
    if real:
        why = "package.json has a test script"
        env = (("CI", "true"),) if _WATCHES.search(script) else ()
        yield Toolchain(f"{manager} test", language, why, f"{manager} test", _runner(script), env=env)
        hooks = (scripts.get(name, "") for name in ("pretest", "posttest"))
        before, after = (list(_parts(hook, scripts)) if hook else [] for hook in hooks)
        parts = [*before, *_parts(script, scripts), *after]
        in_turn = _run_in_turn(parts, scripts)
        for at, part in enumerate(parts):
            first, last = (tuple(parts[:at]), tuple(parts[at + 1 :])) if in_turn else ((), ())
            runner = _runner(part)
            # A manager other than npm may be missing where the packages themselves are there.
            program = _WRAPPED.sub("", part).split(" ")[0]
            if runner is not COMMAND and (part != script or manager != "npm"):
                found = Toolchain(f"{alone} {runner.name}", language, f"{why} with it", _alone(part), runner)
                yield replace(found, first=first, last=last)
            elif runner is COMMAND and program in _PRINTS and (_PRINTS[program] or part != script):
                line = _alone(part) + _PRINTS[program]
                found = Toolchain(f"{alone} {program}", language, f"{why} with it", line)
                yield replace(found, first=first, last=last)
    if workspaces and (not real or "workspace" in script):
        line = "npm test --workspaces --if-present" if manager == "npm" else f"{manager} -r test"
        line = "yarn workspaces run test" if manager == "yarn" else line
        yield Toolchain(line, language, "package.json has workspaces", line)
    for name, text in scripts.items():
        if re.fullmatch(
            r"test[:_-](?:unit|node|run|ci|js|jest|vitest|mocha|only)|unit|jest|vitest|mocha|tests", name
        ):
            why = f"package.json has a script {name}"
            run = f"{'npm run' if manager == 'npm' else manager} {name}"
            yield Toolchain(run, language, why, run, _runner(text))


def _run_in_turn(parts: Collection[str], scripts: Mapping[str, str]) -> bool:
    """True if the scripts that hold these commands run them one after the other, and stop where one fails."""
    texts = (text for text in scripts.values() if not {*_simple(text)}.isdisjoint(parts))
    starts = (_STARTS_SCRIPT, _STARTS_SCRIPTS)  # which of them start each other is not known
    if any(_NOT_IN_TURN.search(text) for text in (*texts, *parts)) or not all(map(_is_whole, parts)):
        return False
    return not any(pattern.fullmatch(part) for pattern in starts for part in parts)


def _is_whole(part: str) -> bool:
    """False for a piece of a command: an open quote would take in the tests behind it."""
    try:
        return bool(shlex.split(part))
    except ValueError:
        return False


def _simple(script: str) -> Iterator[str]:
    return (part.strip() for part in re.split(r"&&|\|\||[;|]", script))


def parse_object(text: str) -> Mapping[str, Any]:
    """A JSON object; an empty one for anything else."""
    try:
        return _dict(json.loads(text))
    except (ValueError, RecursionError):
        return {}


def _dict(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _parts(script: str, scripts: Mapping[str, str]) -> Iterator[str]:
    """The simple commands of a script, and of the scripts that it starts, each once."""
    return _parts_in(script, dict(scripts), 0)


def _parts_in(script: str, left: dict[str, str], depth: int) -> Iterator[str]:
    for part in _simple(script):
        one, several = _STARTS_SCRIPT.fullmatch(part), _STARTS_SCRIPTS.fullmatch(part)
        names = [one[1]] if one else several[1].split() if several else []
        inner = [left.pop(name) for name in names if name in left] if depth < 3 else []
        for text in inner:
            yield from _parts_in(text, left, depth + 1)
        if not inner:
            yield part


def _runner(script: str) -> Runner:
    """Return the runner of a script's last command, to which package managers pass options."""
    last = re.split(r"&&|;", script)[-1].strip()
    if re.search(r"[|&]", last):
        return COMMAND
    bare = _WRAPPED.sub("", last)
    return next((runner for pattern, runner in _RUNNERS if re.match(pattern, bare)), COMMAND)


def _alone(part: str) -> str:
    """One command of a script: its program is looked for where the package's own are."""
    bare = _WRAPPED.sub("", part)
    return bare if bare.startswith("node ") else f"npx --no-install {bare}"


MAKEFILES: Final = ("GNUmakefile", "makefile", "Makefile")
INNER_MAKEFILES: Final = ("tests/Makefile", "test/Makefile")
TARGETS: Final = ("test", "check")
# What only looks at sources, formats or packs them: where one is missing, the tests need not be.
_BESIDE: Final = lazy_pattern(
    r"(?:python\d? -m |uv run |poetry run |npx )?(?:ruff|flake8|black|isort|mypy|pyright|pylint|pre-commit"
    r"|codespell|bandit|eslint|prettier|clang-format|clang-tidy|cppcheck|shellcheck|golangci-lint|gofmt"
    r"|go (?:vet|fmt)|cargo (?:fmt|clippy)|staticcheck|stubtest|twine|check-manifest|echo|printf|true|exit)\b"
)
_OF_PYTHON: Final = lazy_pattern(
    r"\b(?:pytest|py\.test|tox|nox|unittest|nosetests|coverage|(?:uv|hatch|poetry|pdm|pixi|pipenv|rye) run"
    r"|(?:django|django-admin|manage\.py) test)\b"
)
_COMPILES: Final = lazy_pattern(r"\b(?:CC|CXX|CFLAGS|CXXFLAGS)\b|[\w%)]\.o\b")
_CALLS_COMPILER: Final = lazy_pattern(r"^\t[-@+]*(?:gcc|g\+\+|cc|c\+\+|clang(?:\+\+)?)[ \t]", re.M)
_DEEPEST: Final = 3
# Removes what was built of older sources: objects, archives, libraries, programs. Not what others have built.
_APART: Final = (
    ".git .kith-build node_modules *env .tox .nox site-packages"
    " deps vendor third_party third-party 3rdparty external extern"
)
_BUILT: Final = "*.o *.lo *.obj *.gch *.a *.so *.so.*"


def _names(patterns: str) -> str:
    return " -o ".join(f"-name '{pattern}'" for pattern in patterns.split())


REMOVE_OBJECTS: Final = (
    rf"find . \( {_names(_APART)} \) -prune -o -type f \( {_names(_BUILT)} -o -perm -100 \)"
    " -exec grep -LI '' {} + | while IFS= read -r file; do rm -f \"$file\"; done"
)


def find_make(files: Collection[str], read: Read, found: tuple[Toolchain, ...]) -> tuple[Toolchain, ...]:
    """`make test` or `make check` and what of it would run without linters, unless it only starts what was
    `found` already."""
    path = next((name for name in MAKEFILES if name in files), "")
    script = read_text(read, path) if path else ""
    for target in TARGETS:
        recipe = recipe_lines(script, target)
        if recipe and not _is_beside(script, target) and not _known("\n".join(recipe), found):
            return _make_toolchains(target, path, script)
    return () if found else _make_folder(files, read)


_FIRST_TARGET: Final = re.compile(r"^([A-Za-z_][\w-]*)[ \t]*:(?!=)", re.M)
_RUNS_ALL: Final = re.compile(r"^(?:all|default|run)|test|check")  # and not `clean` or `deploy`


def _make_folder(files: Collection[str], read: Read) -> tuple[Toolchain, ...]:
    """A folder of tests with a Makefile of its own, whose first target is enough if its name allows it."""
    path = next((path for path in INNER_MAKEFILES if path in files), "")
    script = read_text(read, path) if path else ""
    folder = path.rpartition("/")[0]
    target = next((f" {target}" for target in TARGETS if _rule(script, target)), "")
    first = _FIRST_TARGET.search(script)
    if not (target or (first and _RUNS_ALL.search(first[1]))):
        return ()
    why = f"{path} has a target{target}" if target else f"{folder}/ has a Makefile"
    line = f"make -C {folder}{target}"
    found = Toolchain(line, _compiled_language(script), why, line)
    return _clean_first((found,), script, f"make -C {folder} clean")


def _known(recipe: str, found: tuple[Toolchain, ...]) -> bool:
    """True if a recipe only starts a toolchain that was found already, perhaps through another tool."""
    python = any(toolchain.language == "Python" for toolchain in found)
    return any(toolchain.name in recipe for toolchain in found) or (
        python and bool(_OF_PYTHON.search(recipe))
    )


def _make_toolchains(target: str, path: str, script: str) -> tuple[Toolchain, ...]:
    language = _compiled_language(script)
    why, line = f"{path} has a target {target}", f"make {target}"
    found = [Toolchain(line, language, why, line)]
    if language:
        # Objects are made beside each other; a Makefile that cannot bear it is made as it always was.
        found.insert(0, Toolchain(line, language, why, f"make -j{os.cpu_count() or 2} {target}"))
    if alone := _make_alone(script, target):
        found.append(Toolchain(alone, language, f"{path} has it in its target {target}", alone))
    return _clean_first(tuple(found), script, "make clean")


def _clean_first(found: tuple[Toolchain, ...], script: str, clean: str) -> tuple[Toolchain, ...]:
    """The same without what was built before: rules that are written by hand may miss a change.

    Where no rule cleans up, an object may be there that no rule makes: the last one leaves all of them.
    """
    if not (found[0].language or _CALLS_COMPILER.search(script)):
        return found
    if _cleans(script):
        return tuple(replace(each, clean=clean) for each in found)
    return (*(replace(each, clean=REMOVE_OBJECTS) for each in found), found[0])


def _cleans(script: str) -> bool:
    """True if a rule is for `clean`, alone or with other targets; it may have two colons."""
    heads = (line.partition(":") for line in script.splitlines() if ":" in line and line[0] != "\t")
    return any("clean" in head.split() and not rest.startswith(("=", ":=")) for head, _, rest in heads)


def _compiled_language(script: str) -> str:
    return "" if not _COMPILES.search(script) else "C++" if "CXX" in script else "C"


def _make_alone(script: str, target: str) -> str:
    """A target without the linters among its lines and its prerequisites; "" where there are none."""
    needs, lines = _rule(script, target) or ((), ())
    parts = [f"make {need}" for need in needs if not _is_beside(script, need)]
    parts += [line for line in lines if not _only_looks(line)]
    plain = parts and not any("$" in part or "`" in part for part in parts)
    return " && ".join(parts) if plain and len(parts) < len(needs) + len(lines) else ""


def _is_beside(script: str, target: str, depth: int = 0) -> bool:
    needs, lines = _rule(script, target) or ((), ())
    inner = depth < _DEEPEST and all(_is_beside(script, need, depth + 1) for need in needs)
    return bool(needs or lines) and inner and all(_only_looks(line) for line in lines)


def _only_looks(line: str) -> bool:
    """True if each command of a recipe's line is a linter or says something."""
    if "$$(" in line or "`" in line:  # the shell starts something
        return False
    bare = re.sub(r"\"[^\"]*\"|'[^']*'", "_", line)
    parts = (part.strip(" \t(){}") for part in re.split(r"&&|\|\||[;|]|(?<![<>&])&(?!>)", bare))
    return all(_BESIDE.match(part) for part in parts if part)


def recipe_lines(script: str, target: str, depth: int = 0) -> list[str]:
    """List the commands of a target, after those of its prerequisites."""
    needs, lines = _rule(script, target) or ((), ())
    before = [recipe_lines(script, need, depth + 1) for need in needs if depth < _DEEPEST]
    return [*(line for inner in before for line in inner), *(_expand(line, script) for line in lines)]


_VARIABLE: Final = lazy_pattern(
    r"\$(?:\((?!PY)(\w+)\)|\{(?!PY)(\w+)\})"
)  # whichever Python is meant, ours runs


def _expand(line: str, script: str) -> str:
    """A line of a recipe with the variables that the Makefile gives a plain value."""

    def value(found: re.Match[str]) -> str:
        name = found[1] or found[2]
        given = re.search(rf"^{name}[ \t]*[:?]?=[ \t]*([^\n#]*?)[ \t]*$", script, re.M)
        return given[1] if given else found[0]

    return _VARIABLE.sub(value, line)


def _rule(script: str, target: str) -> tuple[tuple[str, ...], tuple[str, ...]] | None:
    """The prerequisites and the lines of a rule that is written for this target by name."""
    script = re.sub(r"\\\n\s*", " ", script) + "\n"
    body = r"((?:(?:\t[^\n]*|[ ]*(?:#[^\n]*)?)\n)*)"
    rule = re.search(rf"^{re.escape(target)}[ ]*:(?![:=])([^\n]*)\n{body}", script, re.M)
    if rule is None:
        return None
    first, _, inline = rule[1].partition(";")
    needs = tuple(word for word in first.split("#")[0].split() if re.fullmatch(r"[\w./-]+", word))
    lines = (line.strip().lstrip("-@+").strip() for line in (inline, *rule[2].splitlines()))
    return needs, tuple(line for line in lines if line and not line.startswith("#"))
