"""Organising imports and includes; what nothing uses."""

import subprocess
import sys
from pathlib import Path

import pytest
import toolz

from kith.features.refactor.syntax.codebase import Codebase
from kith.features.refactor.syntax.cpp import organise_includes, rename_local
from kith.features.refactor.syntax.organise import organise_imports, remove, unused_definitions
from refactoring import Files, after, code, refusal


def organised(files: Files, path: str = "a.py") -> str:
    return after(files, organise_imports(code(files), [path]))[path]


def test_imports_stand_in_groups_and_in_order() -> None:
    files = {
        "a.py": (
            '"""A module."""\n\nfrom .near import x\nimport sys, os\n'
            "# Numbers.\nimport numpy as np\nfrom b import two, One, THREE\nfrom ..far import y\n"
            "from __future__ import annotations\n\n\nprint(sys, os, np, One, two, THREE, x, y)\n"
        ),
        "b.py": "",
    }
    assert organised(files) == (
        '"""A module."""\n\nfrom __future__ import annotations\n\nimport os\nimport sys\n\n'
        "# Numbers.\nimport numpy as np\n\nfrom b import THREE, One, two\n\n"
        "from ..far import y\nfrom .near import x\n\n\nprint(sys, os, np, One, two, THREE, x, y)\n"
    )


@pytest.mark.parametrize(
    ("before", "then"),
    [
        ("import re\nx = 1\n", "x = 1\n"),
        ("from a import (\n    b,\n    c,\n)\nc\n", "from a import (\n    c,\n)\nc\n"),
        ("from a import b, c, d\nc\n", "from a import c\nc\n"),
        ("if TYPE_CHECKING:\n    from a import b\n", "if TYPE_CHECKING:\n    pass\n"),
        ("import re  # noqa: F401\n", None),
        ("from a import b as b\n", None),
        ("try:\n    import re\nexcept ImportError:\n    re = None\n", None),
        ("import re\ndef f(x: 're.Pattern'): ...\n", None),
        ("import re\nx = cast('re.Pattern', 1)\n", None),
        ("import re\nx = 1  # type: re.Pattern\n", None),
        ("import re\nprint(eval('re'))\n", None),
        ("import plugins\n", None),
        ("from a import fixture\ndef test(fixture): ...\n", None),
        ("from a import b\n__all__ = ['b']\n", None),
        ("# isort: skip_file\nimport sys\nimport os\nsys, os\n", None),
        ("from b import *\nfrom a import *\n", None),
        ("import sys\nsys.path.insert(0, '.')\nimport os\nos\n", None),
        ("import sys; import os\nsys, os\n", None),
    ],
)
def test_only_what_is_certainly_unused_goes(before: str, then: str | None) -> None:
    assert organised({"a.py": before}) == (before if then is None else then)


def test_what_is_handed_on_stays() -> None:
    text = "import re\n"
    assert organised({"p/__init__.py": text}, "p/__init__.py") == text
    assert organised({"a.py": "from m import b\n", "c.py": "from a import b\nb\n"}) == "from m import b\n"
    assert organised({"a.py": "from m import b\n", "c.py": "import a\na.b\n"}) == "from m import b\n"
    assert organised({"a.py": "from m import b\n", "c.py": "b = 1\n"}) == ""


def test_doubts_are_told() -> None:
    done = organise_imports(code({"a.py": "import plugins\n"}), ["a.py"])
    assert done.notes == (
        "a.py:1: plugins seems unused but stays, since importing it may be what it is for.",
    )


@pytest.mark.slow
def test_a_real_project_agrees_with_ruff(tmp_path: Path) -> None:
    """What ruff would still sort is only laid out in another way, and the second time nothing is to do."""
    root = Path(toolz.__file__).parent
    files = {f"toolz/{path.relative_to(root)}": path.read_bytes() for path in root.rglob("*.py")}
    made = files | {
        path: content
        for path, content in organise_imports(Codebase.of(files), sorted(files)).files.items()
        if content
    }
    assert len([path for path in files if files[path] != made[path]]) > 10
    assert not organise_imports(Codebase.of(made), sorted(made)).files
    for path, content in made.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_bytes(content)
    rules = ["--isolated", "--select", "I001", "--fix", "-q"]
    subprocess.run([sys.executable, "-m", "ruff", "check", *rules, "toolz"], cwd=tmp_path, check=False)
    for path, content in made.items():
        if b"import *" not in content:
            assert modules_in((tmp_path / path).read_text()) == modules_in(content.decode()), path


def modules_in(text: str) -> list[str]:
    """The modules that are imported, in their order; ruff makes one import of two from the same."""
    rows = [row.split() for row in text.split("\n") if row.startswith(("import", "from"))]
    return list(dict.fromkeys(row[1] for row in rows if "as" not in row))


def test_private_definitions_that_nothing_uses_are_found_and_removed() -> None:
    files = {"a.py": "def _dead():\n    return 1\n\n\ndef _used(): ...\n\n\nprint(_used())\n", "b.py": ""}
    assert [name for name, _ in unused_definitions(code(files), "a.py")] == ["_dead"]
    assert (
        after(files, remove(code(files), "a.py", "_dead"))["a.py"] == "def _used(): ...\n\n\nprint(_used())\n"
    )
    assert refusal(lambda: remove(code(files), "a.py", "_used")) == "a.py:8: _used is used here."


# --- C++ -------------------------------------------------------------------------------------


def test_includes_are_sorted_in_their_groups() -> None:
    text = (
        b'#include "zoo.h"\n#include <vector>\n#include "a.h"\n#include <map>\n\n'
        b"#include <zlib.h>\n#include <map>\n#ifdef X\n#include <map>\n#endif\nint a;\n"
    )
    assert organise_includes("src/zoo.cpp", text) == (
        b'#include "zoo.h"\n#include <map>\n#include <vector>\n#include "a.h"\n\n'
        b"#include <zlib.h>\n#ifdef X\n#include <map>\n#endif\nint a;\n"
    )


CPP = b"""\
int total = 0;
struct P { int total; int add(int total); };
int P::add(int value) {
  for (int i = 0; i < value; ++i) this->total += value + P::total;
  return ::total + value;
}
"""


def test_a_variable_of_a_function_is_renamed_in_its_scope() -> None:
    made = rename_local("a.cpp", CPP, "P::add.value", "amount")
    assert made == CPP.replace(b"value", b"amount")
    assert rename_local("a.cpp", CPP, "P::add.i", "k").count(b"k") == 3


@pytest.mark.parametrize(
    ("name", "new", "why"),
    [
        ("P::add.value", "i", "a.cpp:4: i is already a name there."),
        ("P::add.other", "x", "a.cpp: P::add has no variable other."),
        ("sub.value", "x", "a.cpp defines no function sub."),
    ],
)
def test_cpp_is_refused_where_it_is_not_safe(name: str, new: str, why: str) -> None:
    assert refusal(lambda: rename_local("a.cpp", CPP, name, new)) == why
