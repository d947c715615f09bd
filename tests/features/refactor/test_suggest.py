"""Smells by numbers: what exceeds its limit is found, what does not is left in peace."""

from kith.features.refactor.suggest import FILE_LINES, LIMITS, Smell, find_smells


def kinds(texts: dict[str, str]) -> list[tuple[str, str]]:
    return [(smell.kind, smell.path) for smell in find_smells(texts)]


def function(lines: int = 1, branches: int = 0, parameters: int = 0) -> str:
    names = ", ".join(f"p{number}" for number in range(parameters))
    body = [f"    if {number}: pass" for number in range(branches)]
    body += ["    x = 1"] * (lines - 1 - branches)
    return "\n".join([f"def f({names}):", *body]) + "\n"


def test_each_limit_is_still_good_and_one_more_is_not() -> None:
    for good, bad, figure in (
        (function(lines=60), function(lines=61), "lines"),
        (function(20, branches=9), function(20, branches=10), "cyclomatic"),
        (function(3, parameters=6), function(3, parameters=7), "parameters"),
    ):
        assert not find_smells({"a.py": good})
        (smell,) = find_smells({"a.py": bad})
        assert (smell.kind, smell.name, smell.first) == ("function", "f", 1)
        assert smell.figures == {figure: LIMITS[figure] + 1}
        assert 0 < smell.weight < 0.2


def test_the_worst_comes_first() -> None:
    texts = {"a.py": function(lines=61), "b.py": function(lines=200), "c.py": "x = 1\n" * (FILE_LINES + 1)}
    assert kinds(texts) == [("function", "b.py"), ("function", "a.py"), ("file", "c.py")]


def test_copies_and_circles_name_the_other_place() -> None:
    copy = "def {}(rows):\n" + "".join(f"    total_{n} = rows[{n}].price * {n} + tax\n" for n in range(12))
    (smell,) = find_smells({"a.py": copy.format("f"), "b.py": copy.format("f")})
    assert (smell.kind, smell.path, smell.other) == ("copy", "a.py", "b.py:1-13")
    circle = {"a.py": "import b\n", "b.py": "import c\n", "c.py": "from a import x\n", "d.py": "import a\n"}
    (smell,) = find_smells(circle)
    assert (smell.kind, smell.other) == ("circle", "a.py -> b.py -> c.py -> a.py")
    late = circle | {"c.py": "def f():\n    from a import x\n"}
    assert find_smells(late) == ()


def test_a_text_that_does_not_parse_has_no_smells() -> None:
    assert find_smells({"a.py": "def (:\n", "b.cpp": "}}}{{{", "c.txt": "x"}) == ()
    assert isinstance(find_smells({"a.py": function(lines=99)})[0], Smell)
