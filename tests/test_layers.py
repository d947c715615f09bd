"""Imports go down only, and never sideways inside a layer; heavy things do not load at start-up."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).parent.parent / "src" / "kith"
# What each package may import of kith, beside itself.
ALLOWED = {
    "core": set[str](),
    "edits": {"core"},
    "context": {"core"},
    "analysis": {"core", "context"},
    "shell": {"core", "context"},
    "routing": {"core"},
    "models": {"core", "context", "routing"},
    "trees": {"core"},
    "memory": {"core", "context", "routing"},
    "tools": {"core", "edits", "context", "shell"},
    "gates": {"core", "edits", "context"},
    "workflows": {"core", "edits", "context", "analysis", "routing", "tools", "gates"},
    "roles": set[str](),
    "templates": set[str](),
    "demo": set[str](),
    "settings": {"core", "memory"},
    "app": {
        "core",
        "edits",
        "context",
        "analysis",
        "shell",
        "routing",
        "models",
        "trees",
        "memory",
        "tools",
        "gates",
        "workflows",
        "settings",
        "roles",
        "templates",
    },
    "doctor": {"core", "context", "routing", "models", "trees", "memory", "workflows", "settings", "app"},
    "faces": {"core", "edits", "routing", "memory", "settings", "app", "doctor", "demo"},
    "__main__": {"faces"},
    "__init__": set[str](),
}
HEAVY = {"httpx2", "rich", "prompt_toolkit", "tree_sitter", "rapidfuzz", "json_repair", "pathspec", "numpy"}
HEAVY |= {"fastapi", "uvicorn", "pydantic", "mcp", "acp", "nh3", "markdown_it", "prometheus_client"}
HEAVY |= {"statistics"}  # it brings fractions and decimals
# What only some tasks need: the cloud, councils, errands, routes, and all that learns from the log.
SELDOM = {
    *("kith.models.prices", "kith.models.pool", "kith.models.providers.anthropic"),
    *("kith.models.providers.gemini", "kith.memory.measured", "kith.workflows.confer.confer"),
    *("kith.app.asking.hidden", "kith.app.asking.delegate", "kith.app.asking.relay", "kith.app.asking.cast"),
    *("kith.app.coaching.coach", "kith.app.coaching.strategies", "kith.app.measuring.profile"),
}


def imports_of(file: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module)
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
    return {name for name in found if name.startswith("kith.")}


def place_of(file: Path) -> str:
    parts = file.relative_to(SOURCE).parts
    return parts[0] if len(parts) > 1 else parts[0].removesuffix(".py")


@pytest.mark.parametrize("file", sorted(SOURCE.rglob("*.py")), ids=lambda f: str(f.relative_to(SOURCE)))
def test_imports_go_down_only(file: Path) -> None:
    place = place_of(file)
    imported = {name.split(".")[1] for name in imports_of(file)} - {place}
    assert imported <= ALLOWED[place], f"{place} may not import {imported - ALLOWED[place]}"


@pytest.mark.parametrize("file", sorted(SOURCE.rglob("*.py")), ids=lambda f: str(f.relative_to(SOURCE)))
def test_every_module_opens_with_one_sentence(file: Path) -> None:
    docstring = ast.get_docstring(ast.parse(file.read_text(encoding="utf-8")))
    assert docstring and docstring.strip().split("\n\n")[0].rstrip().endswith(".")


@pytest.mark.parametrize("file", sorted(SOURCE.rglob("*.py")), ids=lambda f: str(f.relative_to(SOURCE)))
def test_no_file_is_longer_than_a_person_reads_at_once(file: Path) -> None:
    assert len(file.read_text(encoding="utf-8").split("\n")) <= 401


def loaded_by(code: str) -> set[str]:
    report = f"{code}\nimport sys; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", report], capture_output=True, text=True, check=True)
    return set(done.stdout.split("\n")[-2].split())


def test_version_loads_nothing_but_the_package() -> None:
    bare = loaded_by("pass")
    code = "import sys; sys.argv = ['kith', '--version']; from kith.__main__ import main; main()"
    assert loaded_by(code) - bare <= {"kith", "kith.__main__"}


def test_the_app_loads_nothing_heavy() -> None:
    loaded = loaded_by("import kith.app.tasks, kith.faces.run")
    assert not loaded & HEAVY
    assert not loaded & SELDOM
