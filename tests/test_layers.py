"""Imports go down only, and never sideways inside a layer; heavy things do not load at start-up."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).parent.parent / "src" / "kith"
ARCHITECTURE = SOURCE.parent.parent / "ARCHITECTURE.md"
# What each package may import of kith, beside itself: from the bottom up, in the order of ARCHITECTURE.md.
ALLOWED = {
    "core": set[str](),
    "trees": {"core"},
    "context": {"core"},
    "routing": {"core"},
    "memory": {"core", "context", "routing"},
    "models": {"core", "context", "routing"},
    "analysis": {"core", "context"},
    "remote": {"core", "context"},
    "shell": {"core", "context"},
    "edits": {"core"},
    "tools": {"core", "context", "shell", "edits"},
    "gates": {"core", "context", "analysis", "edits"},
    "workflows": {"core", "context", "routing", "analysis", "edits", "tools", "gates"},
    "roles": set[str](),
    "templates": set[str](),
    "demo": set[str](),
    "settings": {"core", "memory"},
    "app": {
        *("core", "trees", "context", "routing", "memory", "models", "analysis", "shell", "edits"),
        *("remote", "tools", "gates", "workflows", "roles", "templates", "settings"),
    },
    "doctor": {"core", "trees", "context", "routing", "memory", "models", "workflows", "settings", "app"},
    "faces": {"core", "routing", "memory", "edits", "demo", "settings", "app", "doctor"},
    "__main__": {"faces"},
    "__init__": set[str](),
}
HEAVY = {"httpx2", "rich", "prompt_toolkit", "tree_sitter", "rapidfuzz", "json_repair", "pathspec", "numpy"}
HEAVY |= {"fastapi", "uvicorn", "pydantic", "mcp", "acp", "nh3", "markdown_it", "prometheus_client"}
HEAVY |= {"yaml", "tomlkit"}  # only where a file is in YAML, or is changed
HEAVY |= {"pyflakes"}  # only where a Python file is changed
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


def test_the_table_goes_from_the_bottom_up_as_it_is_told() -> None:
    places = list(ALLOWED)
    assert all(ALLOWED[place] <= set(places[:at]) for at, place in enumerate(places))
    told = re.findall(r"^(\w+)/ ", ARCHITECTURE.read_text(encoding="utf-8"), re.MULTILINE)
    assert told and told == [place for place in reversed(places) if place in told]


@pytest.mark.parametrize("place", ALLOWED)
def test_imports_go_down_only(place: str) -> None:
    files = [file for file in SOURCE.rglob("*.py") if place_of(file) == place]
    imported = {name.split(".")[1] for file in files for name in imports_of(file)} - {place}
    assert imported <= ALLOWED[place], f"{place} may not import {imported - ALLOWED[place]}"


@pytest.mark.parametrize("place", ALLOWED)
def test_every_module_opens_with_one_sentence_and_is_read_at_once(place: str) -> None:
    for file in SOURCE.rglob("*.py"):
        if place_of(file) == place:
            text = file.read_text(encoding="utf-8")
            docstring = ast.get_docstring(ast.parse(text))
            assert docstring and docstring.strip().split("\n\n")[0].rstrip().endswith("."), file
            assert len(text.split("\n")) <= 601, file


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


def test_a_conversation_loads_the_parser_of_markdown_with_the_first_words() -> None:
    begin = "from kith.faces.conversation import voice; stream = voice.MarkdownStream(80)"
    assert "markdown_it" not in loaded_by(begin)
    assert "markdown_it" in loaded_by(f"{begin}; stream.take('words\\n')")
