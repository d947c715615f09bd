"""Conventions: what nearly all of a codebase does is found, and what only some of it does is not."""

from hypothesis import given
from hypothesis import strategies as st

from kith.features.scan.conventions import find_commit_style, find_conventions

PYTHON = '''\
# SPDX-License-Identifier: MIT
"""A module."""

from package.other import thing


def {name}(number: int) -> int:
    """What it does."""
    if number > 1:
        return thing("a text", number)
    return number
'''
SCRIPT = "import a from './a'\n\nfunction {name}() {{\n  const x = 'text'\n  return x\n}}\n"
CURLY = "#pragma once\n\nint {name}(int x)\n{{\n\tif (x > 1)\n\t{{\n\t\treturn 2;\n\t}}\n\treturn x;\n}}\n"


def many(path: str, text: str, count: int = 20) -> dict[str, str]:
    return {path.format(n): text.format(name=f"name{n}") for n in range(count)}


def test_what_all_of_it_does_is_told() -> None:
    told = " ".join(find_conventions(many("package/module{}.py", PYTHON)))
    for each in (
        "indented with 4 spaces",
        "annotated with types",
        "public functions have docstrings",
        "strings in double quotes",
        "imports inside the package are absolute",
        "Each file begins with `# SPDX-License-Identifier: MIT`",
    ):
        assert each in told


def test_other_languages_have_their_own() -> None:
    told = " ".join(find_conventions({**many("src/{}.js", SCRIPT, 60), **many("src/{}.h", CURLY, 60)}))
    assert "JavaScript: indented with 2 spaces" in told and "no semicolons" in told
    assert "strings in single quotes" in told
    assert "indented with tabs" in told and "#pragma once" in told and "line of their own" in told


def test_what_only_half_of_it_does_is_no_convention() -> None:
    other = PYTHON.replace("    ", "\t").replace('"a text"', "'a text'").replace(": int) -> int", ")")
    mixed = {
        **many("package/a{}.py", PYTHON),
        **many("package/b{}.py", other.replace("# SPDX", "# Other SPDX")),
    }
    told = " ".join(find_conventions(mixed))
    assert "indented" not in told and "quotes" not in told and "annotated" not in told
    assert find_conventions({}) == () and find_conventions({"a.py": "x = 1\n"}) == ()


def test_commits_have_a_style() -> None:
    kinds = [f"{kind}: something {n}" for n in range(12) for kind in ("feat", "fix(core)")]
    assert "begin with a kind (feat:, fix:)" in find_commit_style(kinds)[0]
    plain = [f"Mend thing {n}\n\nBody.\n\nSigned-off-by: A <a@b>" for n in range(12)]
    assert find_commit_style(plain) == (
        "Subjects of commits begin with a capital and end without a full stop.",
        "Commits are signed off (`git commit -s`).",
    )
    assert find_commit_style(["ABC-12 x"] * 12)[0].endswith("the number of an issue.")
    assert find_commit_style(["wip", "Fix.", "feat: x"] * 12) == ()


@given(st.dictionaries(st.sampled_from(["a.py", "b.js", "c.h", "d.cpp", "e.go"]), st.text(max_size=2_000)))
def test_nothing_that_a_file_holds_makes_it_fail(texts: dict[str, str]) -> None:
    assert all(isinstance(each, str) for each in find_conventions(texts))
