"""Imports go down only, and never sideways inside a layer; heavy things do not load at start-up."""

import ast
import re
import subprocess
import sys
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

from kith.settings.features import known_features

SOURCE = Path(__file__).parent.parent / "src" / "kith"
ARCHITECTURE = SOURCE.parent.parent / "ARCHITECTURE.md"
# What each package may import of kith, beside itself: from the bottom up, in the order of ARCHITECTURE.md.
ALLOWED = {
    "core": set[str](),
    "trees": {"core"},
    "context": {"core"},
    "shell": {"core", "context"},
    "edits": {"core"},
    "memory": {"core", "context"},
    "settings": {"core", "memory"},
    "models": {"core", "context"},
    "tools": {"core", "context", "shell", "edits"},
    "gates": {"core", "context", "edits"},
    "roles": set[str](),
    "templates": set[str](),
    "agent": {
        *("core", "trees", "context", "shell", "edits", "memory", "settings", "models", "tools", "gates"),
        *("roles", "templates"),
    },
    "view": {"core", "edits", "memory"},
    "terminal": {"core", "edits", "memory", "settings", "models", "agent", "view"},
    "features": {
        *("core", "trees", "context", "shell", "edits", "memory", "settings", "models", "tools", "gates"),
        *("roles", "agent", "view", "terminal"),
    },
    "cli": {"core", "settings", "view", "terminal"},
    "__main__": {"cli"},
    "__init__": set[str](),
}
HEAVY = {"httpx2", "rich", "prompt_toolkit", "tree_sitter", "rapidfuzz", "json_repair", "pathspec", "numpy"}
HEAVY |= {"fastapi", "uvicorn", "pydantic", "mcp", "acp", "nh3", "markdown_it", "prometheus_client"}
HEAVY |= {"yaml", "tomlkit"}  # only where a file is in YAML, or is changed
HEAVY |= {"pyflakes"}  # only where a Python file is changed
HEAVY |= {"jsonschema", "referencing"}  # only where an answer has to follow a schema
HEAVY |= {"statistics"}  # it brings fractions and decimals
# What only some tasks need: the cloud, pools, errands, several models in one role.
SELDOM = {
    *("kith.features.clouds.anthropic", "kith.features.clouds.gemini", "kith.agent.asking.cast"),
}


FILES = sorted(SOURCE.rglob("*.py"))
# A statement has a line of its own, as the format wants it, or some lines in brackets.
_IMPORT = re.compile(r"^[ \t]*((?:from|import) kith\b(?:[^\n(]|\([^)]*\))*)", re.MULTILINE)


@cache
def imports_in(file: Path) -> tuple[ast.Import | ast.ImportFrom, ...]:
    """Every import of kith in a file, wherever it stands. Only these lines are parsed: it is quicker."""
    lines = _IMPORT.findall(file.read_text(encoding="utf-8"))
    nodes = ast.parse("\n".join(lines)).body
    return tuple(node for node in nodes if isinstance(node, ast.Import | ast.ImportFrom))


def imports_of(file: Path) -> set[str]:
    """What a file imports of kith, at once or when it is needed (`Lazy("kith.view.lines:wrapped")`)."""
    text = file.read_text(encoding="utf-8")
    found = set(re.findall(r"\bLazy\(\s*\"(kith\.[\w.]+):", text))
    for node in imports_in(file):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif node.module:
            found.add(node.module)
    return {name for name in found if name.startswith("kith.")}


def place_of(file: Path) -> str:
    parts = file.relative_to(SOURCE).parts
    return parts[0] if len(parts) > 1 else parts[0].removesuffix(".py")


def test_the_table_goes_from_the_bottom_up_as_it_is_told() -> None:
    places = list(ALLOWED)
    assert all(ALLOWED[place] <= set(places[:at]) for at, place in enumerate(places))
    told = re.findall(r"^(\w+)/ ", ARCHITECTURE.read_text(encoding="utf-8"), re.MULTILINE)
    assert told and told == [place for place in reversed(places) if place in told]


def test_imports_go_down_only() -> None:
    imported = [(place_of(file), name.split(".")[1], file) for file in FILES for name in imports_of(file)]
    assert not [each for each in imported if each[1] not in {each[0], *ALLOWED[each[0]]}]


def test_the_kernel_asks_for_features_and_imports_none() -> None:
    files = [file for file in FILES if place_of(file) != "features"]
    assert not [name for file in files for name in imports_of(file) if name.startswith("kith.features")]


def test_a_feature_imports_only_the_features_that_it_names() -> None:
    for feature in known_features():
        files = (SOURCE / "features" / feature.name).rglob("*.py")
        imported = {name for file in files for name in imports_of(file)}
        others = {name.split(".")[2] for name in imported if name.startswith("kith.features.")}
        assert others <= {feature.name, *feature.needs, *feature.extends}, feature.name


def test_no_modules_import_each_other_in_a_circle() -> None:
    """Wherever an import stands: in a function, or for types only."""
    modules = {str(file.relative_to(SOURCE).with_suffix("")).replace("/", "."): file for file in FILES}
    graph = {name: targets(file, modules) for name, file in modules.items()}
    TopologicalSorter(graph).prepare()  # raises CycleError


def targets(file: Path, modules: dict[str, Path]) -> set[str]:
    """The modules of kith that a file imports, as they are called here."""
    found = set[str]()
    for node in imports_in(file):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("kith."):
            base = str(node.module).removeprefix("kith.")
            for name in (f"{base}.{alias.name}" for alias in node.names):
                found |= {each for each in (name, f"{name}.__init__") if each in modules} or (
                    {base, f"{base}.__init__"} & modules.keys()
                )
    return found


def test_the_kernel_imports_its_own_modules_at_the_top() -> None:
    """What must wait until it is needed is named as `Lazy`."""
    kernel = [file for file in FILES if place_of(file) != "features"]
    assert {place_of(file) for file in kernel if has_late_import(file)} == {"__main__"}


def test_the_kernel_imports_its_own_types_at_run_time() -> None:
    kernel = [file for file in FILES if place_of(file) != "features"]
    assert not {file.relative_to(SOURCE).as_posix() for file in kernel if has_type_import(file)}


def has_type_import(file: Path) -> bool:
    text = file.read_text(encoding="utf-8")
    guarded = [
        each
        for node in (ast.walk(ast.parse(text)) if "TYPE_CHECKING" in text else ())
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        for each in node.body
    ]
    return any(
        isinstance(each, ast.ImportFrom) and (each.module or "").startswith("kith") for each in guarded
    )


def has_late_import(file: Path) -> bool:
    text = file.read_text(encoding="utf-8")
    if not re.search(r"^\s+from kith", text, re.MULTILINE):
        return False
    nodes = ast.walk(ast.parse(text))
    functions = [node for node in nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    inside = [node for function in functions for node in ast.walk(function)]
    return any(isinstance(node, ast.ImportFrom) and (node.module or "").startswith("kith") for node in inside)


def test_only_memory_speaks_sql() -> None:
    speaks = re.compile(
        r"^(import|from) sqlite3|\bSELECT [\w*(]|\bDELETE FROM |\bINSERT INTO |PRAGMA ", re.MULTILINE
    )
    found = {file for file in FILES if speaks.search(file.read_text(encoding="utf-8"))}
    # The fleet's tables are PostgreSQL's, and its own.
    assert {place_of(file) for file in found if file.parent.name != "fleet"} == {"memory"}


def test_the_picture_of_the_packages_is_the_one_that_the_code_gives() -> None:
    script = SOURCE.parents[1] / "tools" / "architecture_picture.py"
    assert subprocess.run([sys.executable, str(script), "--check"]).returncode == 0, f"run {script}"


def test_every_module_opens_with_one_sentence_and_is_read_at_once() -> None:
    for file in FILES:
        text = file.read_text(encoding="utf-8")
        opening = re.match(r'"""(.*?)(?:\n\n|""")', text, re.DOTALL)
        assert opening and opening[1].rstrip().endswith("."), file
        assert len(text.split("\n")) <= 601, file


def test_a_class_name_means_one_thing_in_the_kernel_and_in_each_feature() -> None:
    seen = dict[tuple[str, str], Path]()
    for file in FILES:
        place = "/".join(file.relative_to(SOURCE).parts[:2]) if place_of(file) == "features" else ""
        for name in re.findall(r"^class (\w+)", file.read_text(encoding="utf-8"), re.MULTILINE):
            if not name.startswith("_"):
                assert seen.setdefault((place, name), file) == file, name


def loaded_by(code: str) -> set[str]:
    report = f"{code}\nimport sys; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", report], capture_output=True, text=True, check=True)
    return set(done.stdout.split("\n")[-2].split())


def test_version_loads_nothing_but_the_package() -> None:
    bare = loaded_by("pass")
    code = "import sys; sys.argv = ['kith', '--version']; from kith.__main__ import main; main()"
    assert loaded_by(code) - bare <= {"gc", "kith", "kith.__main__"}


def test_the_app_loads_nothing_heavy() -> None:
    loaded = loaded_by("import kith.agent.tasks, kith.terminal.one_task")
    assert not loaded & HEAVY
    assert not loaded & SELDOM


def test_to_show_settings_loads_nothing_that_changes_them() -> None:
    assert not loaded_by("import kith.terminal.config, kith.terminal.features") & {"yaml", "tomlkit"}


def test_a_conversation_loads_the_parser_of_markdown_with_the_first_words() -> None:
    begin = "from kith.terminal.conversation import item_view; stream = item_view.MarkdownStream(80)"
    assert "markdown_it" not in loaded_by(begin)
    assert "markdown_it" in loaded_by(f"{begin}; stream.take('words\\n')")
