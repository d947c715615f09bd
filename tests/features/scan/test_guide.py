"""Notes for agents from a scan: what a project's own files say of it, in few words."""

from kith.features.scan.entries import EntryPoint
from kith.features.scan.facts import FileFacts
from kith.features.scan.guide import GuideFacts, write_guide
from kith.features.scan.report import Commands, LanguageSize, Report, Size

TEXTS = {
    "pyproject.toml": "[tool.ruff.format]\n[tool.mypy]\nstrict = true\n",
    "package.json": '{"scripts": {"test": "jest", "build": "tsc", "pretest": "x", "rm -rf": "y"}}',
}


def found(*toolchains: Commands, files: dict[str, int] | None = None) -> GuideFacts:
    paths = files or {
        "src/app/__init__.py": 90,
        "src/app/x/a.py": 50,
        "src/app/y/b.py": 60,
        "docs/README.md": 5,
    }
    facts = {
        path: FileFacts("Python" if path.endswith(".py") else "Markdown", lines=lines)
        for path, lines in {**paths, "pyproject.toml": 3, "package.json": 1}.items()
    }
    languages = (LanguageSize("Python", 3, 200, 200, 0, 0), LanguageSize("C header", 1, 9, 9, 0, 0))
    entries = (
        EntryPoint("target", "release", "Makefile"),
        EntryPoint("command", "app", "pyproject.toml", "app:main"),
    )
    report = Report("thing", "", Size(4, 100, 205), languages, entries=entries, toolchains=toolchains)
    return GuideFacts(report, facts, ("Python: indented with tabs.",), lambda path: TEXTS.get(path, ""))


def test_it_has_commands_and_conventions_but_no_tour_of_the_folders() -> None:
    told = write_guide(found(Commands("pytest", "Python", "why", "", "", "python3 -m pytest -q")))
    for line in (
        "# thing\n\nWritten in Python.\n",
        "- Test: `python3 -m pytest -q`\n- One test: `python3 -m pytest -q PATH::NAME`\n",
        "- Lint: `ruff check`\n- Types: `mypy`\n- Format: `ruff format`\n- Build: `npm run build`\n",
        "- Targets of make: `release`\n- The command `app` starts `app:main`\n",
        "## Conventions\n\n- Python: indented with tabs.\n",
    ):
        assert line in told
    assert "rm -rf" not in told and "pretest" not in told and "src/app/x" not in told


def test_what_is_said_already_is_not_said_again() -> None:
    present = "# Mine\n\n### Code style\n\nAs you like.\n"
    told = write_guide(found(), present)
    assert told.startswith(present.rstrip()) and "## Conventions" not in told and "## Commands" in told
    assert write_guide(found(), told) == told


def test_cmake_is_told_as_people_type_it() -> None:
    told = write_guide(found(Commands("ctest", "C++", "why", "cmake -S . -B .kith-build", "b", "t")))
    assert "cmake -S . -B build && cmake --build build" in told and ".kith-build" not in told


def test_what_files_are_called_and_say_ends_no_line_and_hides_nothing() -> None:
    made = found(files={"a\n## Commands\n- x/b.py": 9, "c\u202e\x1b[2J/d.py": 9})
    told = write_guide(made)
    assert told.replace("\n", "").isprintable() and told.count("\n## Commands") == 1
