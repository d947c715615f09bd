"""Make's toolchain: a target of the Makefile that tests, or what of it does nothing but test."""

import os
import re
from collections.abc import Collection
from typing import Final

from kith.gates.toolchains.toolchain import Read, Toolchain, read_text

MAKEFILES: Final = ("GNUmakefile", "makefile", "Makefile")
TARGETS: Final = ("test", "check")
# What only looks at sources, formats or packs them: where one is missing, the tests need not be.
_BESIDE: Final = re.compile(
    r"(?:python\d? -m |uv run |poetry run |npx )?(?:ruff|flake8|black|isort|mypy|pyright|pylint|pre-commit"
    r"|codespell|bandit|eslint|prettier|clang-format|clang-tidy|cppcheck|shellcheck|golangci-lint|gofmt"
    r"|go (?:vet|fmt)|cargo (?:fmt|clippy)|staticcheck|stubtest|twine|check-manifest|echo|printf|true)\b"
)
_OF_PYTHON: Final = re.compile(
    r"\b(?:pytest|py\.test|tox|nox|unittest|nosetests|coverage|(?:uv|hatch|poetry|pdm|pixi|pipenv|rye) run)\b"
)
_COMPILES: Final = re.compile(r"\b(?:CC|CXX|CFLAGS|CXXFLAGS)\b")
_DEEPEST: Final = 3


def find_make(files: Collection[str], read: Read, found: tuple[Toolchain, ...]) -> tuple[Toolchain, ...]:
    """`make test` or `make check` and what of it would run without linters, unless it only starts what was
    `found` already."""
    path = next((name for name in MAKEFILES if name in files), "")
    script = read_text(read, path) if path else ""
    for target in TARGETS:
        recipe = recipe_lines(script, target)
        if recipe and not _is_beside(script, target) and not _known("\n".join(recipe), found):
            return _toolchains(target, path, script)
    return ()


def _known(recipe: str, found: tuple[Toolchain, ...]) -> bool:
    """Whether a recipe only starts what was found already, perhaps through another tool."""
    python = any(toolchain.language == "Python" for toolchain in found)
    return any(toolchain.name in recipe for toolchain in found) or (
        python and bool(_OF_PYTHON.search(recipe))
    )


def _toolchains(target: str, path: str, script: str) -> tuple[Toolchain, ...]:
    compiles = _COMPILES.search(script)
    language = "" if not compiles else "C++" if "CXX" in script else "C"
    why, line = f"{path} has a target {target}", f"make {target}"
    found = [Toolchain(line, language, why, line)]
    if compiles:
        # Objects are made beside each other; a Makefile that cannot bear it is made as it always was.
        found.insert(0, Toolchain(line, language, why, f"make -j{os.cpu_count() or 2} {target}"))
    if alone := _alone(script, target):
        found.append(Toolchain(alone, language, f"{path} has it in its target {target}", alone))
    return tuple(found)


def _alone(script: str, target: str) -> str:
    """A target without the linters among its lines and its prerequisites; "" where there are none."""
    needs, lines = _rule(script, target) or ((), ())
    parts = [f"make {need}" for need in needs if not _is_beside(script, need)]
    parts += [line for line in lines if not _BESIDE.match(line)]
    plain = parts and not any("$" in part or "`" in part for part in parts)
    return " && ".join(parts) if plain and len(parts) < len(needs) + len(lines) else ""


def _is_beside(script: str, target: str, depth: int = 0) -> bool:
    needs, lines = _rule(script, target) or ((), ())
    inner = depth < _DEEPEST and all(_is_beside(script, need, depth + 1) for need in needs)
    return bool(needs or lines) and inner and all(_BESIDE.match(line) for line in lines)


def recipe_lines(script: str, target: str, depth: int = 0) -> list[str]:
    """What a target does, line by line, after what its prerequisites do."""
    needs, lines = _rule(script, target) or ((), ())
    before = [recipe_lines(script, need, depth + 1) for need in needs if depth < _DEEPEST]
    return [*(line for inner in before for line in inner), *lines]


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
