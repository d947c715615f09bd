"""What is kept of one file: languages, lines, ways in, hot spots, and that nothing in a file can break it."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kith.context.source import language_of
from kith.features.scan.entries import EntryPoint, find_entries, order_entries
from kith.features.scan.facts import find_facts, read_facts, read_prints, write_facts, write_prints
from kith.features.scan.scan import FileChanges, count_changes, find_hotspots
from kith.features.scan.source_text import LineCount, count_lines


@pytest.mark.parametrize(
    ("path", "first", "language"),
    [
        ("a/b.py", "", "Python"),
        ("x.HPP", "", "C++ header"),
        ("CMakeLists.txt", "", "CMake"),
        ("notes.txt", "", "Text"),
        ("bin/run", "#!/usr/bin/env python3\n", "Python"),
        ("bin/run", "#!/bin/bash -e\n", "Shell"),
        ("bin/run", "hello\n", ""),
        (".gitignore", "", ""),
        ("a.unknown", "#!/bin/sh\n", ""),
    ],
)
def test_languages(path: str, first: str, language: str) -> None:
    assert language_of(path, first) == language


def test_lines_are_code_comment_or_blank() -> None:
    assert count_lines("Python", "# a\n\nx = 1  # b\n") == LineCount(3, 1, 1)
    assert count_lines("C++", "/* a\n\n b */\nint x; // y\n\n// z\n") == LineCount(6, 2, 3)
    assert count_lines("HTML", "<p>\n<!-- a\nb -->\n") == LineCount(3, 0, 2)
    assert count_lines("JSON", "{\n}") == LineCount(2, 0, 0)
    assert count_lines("Python", "") == LineCount()


@given(
    st.sampled_from(["Python", "C++", "SQL", "HTML", "Lisp", "OCaml", ""]),
    st.text("ab#/*-<!>;(\n \t", max_size=60),
)
def test_counts_never_exceed_the_lines(language: str, text: str) -> None:
    count = count_lines(language, text)
    assert count.lines == len(text.split("\n")) - (not text or text.endswith("\n"))
    assert min(count.blank, count.comment) >= 0 and count.blank + count.comment <= count.lines


def test_ways_in() -> None:
    project = '[project.scripts]\ntool = "pkg.main:run"\n[project.gui-scripts]\nshow = "pkg:show"\n'
    assert find_entries("pyproject.toml", project) == (
        EntryPoint("command", "tool", "pyproject.toml", "pkg.main:run"),
        EntryPoint("command", "show", "pyproject.toml", "pkg:show"),
    )
    setup = "[options.entry_points]\nconsole_scripts =\n    one = a:b\n    two = c:d\n"
    assert [each.name for each in find_entries("setup.cfg", setup)] == ["one", "two"]
    package = '{"name": "@me/app", "bin": "cli.js", "main": "index.js"}'
    assert [(each.kind, each.name) for each in find_entries("x/package.json", package)] == [
        ("command", "app"),
        ("main", "@me/app"),
    ]
    cmake = "add_library(core a.cpp)\n# add_executable(no x.cpp)\nadd_executable(app main.cpp)\n"
    assert [each.name for each in find_entries("CMakeLists.txt", cmake)] == ["app"]
    make = ".PHONY: all\nCC := gcc\nall: build\n\nbuild test: x\n\tcc x\n"
    assert [each.name for each in find_entries("Makefile", make)] == ["all", "build", "test"]
    assert [each.kind for each in find_entries("m.cpp", "int main(int argc, char** argv) {\n}\n")] == ["main"]
    assert find_entries("m.cpp", "int domain(int);\n") == ()
    mixed = [
        EntryPoint("main", "main", "b.go"),
        EntryPoint("command", "z", "a/pyproject.toml"),
        EntryPoint("target", "all", "Makefile"),
    ]
    assert [each.kind for each in order_entries(mixed)] == ["command", "target", "main"]


@pytest.mark.parametrize(
    "name", ["pyproject.toml", "setup.cfg", "package.json", "Cargo.toml", "CMakeLists.txt", "Makefile"]
)
@pytest.mark.parametrize(
    "text", ["", "[", "[" * 50_000, '{"bin": [1], "name": 3}', "bin = 1\n[project]\nscripts = 1", "\0"]
)
def test_broken_manifests_say_nothing(name: str, text: str) -> None:
    assert find_entries(name, text) == ()


def test_a_python_file_that_is_started() -> None:
    facts, _ = find_facts("tool.py", b"import os\nif __name__ == '__main__':\n    os.exit()\n")
    assert facts.entries == (EntryPoint("main", "__main__", "tool.py"),)
    assert find_facts("tool.py", b"if __name__ != '__main__':\n    pass\n")[0].entries == ()


def test_generated_minified_secret_and_binary_files_are_counted_only() -> None:
    code = b"def f(a):\n    return a if a else 1\n"
    assert find_facts("a.py", code)[0].functions == 1
    assert find_facts("a.py", b"# @generated\n" + code)[0].functions == 0
    assert find_facts("a.js", b"function f(){" + b"x();" * 500 + b"}")[0].functions == 0
    binary, _ = find_facts("a.py", b"\0" + code)
    assert binary.binary and binary.lines == 0


SAMPLES = [
    b"def f(a):\n    return a\n",
    b"\xff\xfe\x00\x01",
    b"\xef\xbb\xbfx = 1\r\ny = 2\r",
    b"caf\xe9 = 1\n",
    b"class A { int f() { return 1; } }\n",
    b"x" * 200_000,
    b"def f():\n" + b" " * 90_000 + b"pass\n",
    b"(" * 20_000,
    b'"""' + b"\\" * 10_001,
]


@settings(max_examples=100, deadline=None)
@given(
    st.sampled_from(
        ["a.py", "b.cpp", "c.ts", "d.go", "e.rs", "go.mod", "package.json", "Makefile", "f.html", "g"]
    ),
    st.one_of(st.sampled_from(SAMPLES), st.binary(max_size=300)),
)
def test_any_bytes_give_facts_that_are_read_back_equal(path: str, data: bytes) -> None:
    facts, prints = find_facts(path, data)
    assert 0 <= facts.blank + facts.comment <= facts.lines
    assert read_facts(write_facts(facts)) == facts
    assert read_prints(write_prints(prints)) == prints


# --- hot spots ---------------------------------------------------------------------------------


def test_changes_are_counted_by_file_and_odd_records_left_out() -> None:
    records = [
        "3\t1\ta.py",
        "-\t-\tpicture.png",
        "\n5\t0\ta.py",
        "",
        "nonsense",
        "1\t\t",
        "2\t2\twith\ttab.py",
    ]
    assert count_changes(records) == {
        "a.py": FileChanges(2, 9),
        "picture.png": FileChanges(1, 0),
        "with\ttab.py": FileChanges(1, 4),
    }


def test_hot_is_what_is_changed_often_and_complex() -> None:
    changes = {
        "a": FileChanges(10, 50),
        "b": FileChanges(2, 5),
        "c": FileChanges(40, 90),
        "d": FileChanges(1, 1),
    }
    found = find_hotspots(changes, {"a": 30, "b": 60, "c": 0})
    assert [(each.path, each.score) for each in found] == [("a", 1.0), ("b", 0.4)]
    assert find_hotspots({}, {}) == ()
