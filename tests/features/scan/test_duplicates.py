"""Duplicates: a copied block is found, nothing else is, and the work grows as the text does."""

import random

from hypothesis import given, settings
from hypothesis import strategies as st

from kith.features.scan.duplicates import Duplicate, choose_prints, find_duplicates, match_prints
from kith.features.scan.source_text import Tokens, blank_out, tokenise
from steps import count_steps

BLOCK = """\
    total = 0
    for row in table.rows(limit, offset):
        if row.kind == "price" and row.value > lowest:
            total += row.value * factor
        elif row.kind == "discount":
            total -= min(row.value, total)
    report(total, table.name, currency)
    return total
"""


def program(seed: int, lines: int) -> str:
    """Lines of code that are unlike each other, and unlike those of another seed."""
    rng = random.Random(seed)
    words = [f"{chr(97 + n % 26)}{seed}_{n}" for n in range(400)]
    return "".join(
        f"{rng.choice(words)} = {rng.choice(words)}({rng.choice(words)}, {rng.choice(words)})\n"
        for _ in range(lines)
    )


def test_a_copied_block_is_found_with_its_lines() -> None:
    one = f"def first():\n{BLOCK}\n\n{program(1, 30)}"
    two = f"{program(2, 12)}\ndef second():\n    # a comment changes nothing\n{BLOCK}\n"
    [found] = find_duplicates({"one.py": one, "two.py": two})
    assert (found.place.path, found.other.path) == ("one.py", "two.py")
    assert (found.place.first, found.place.last) == (1, 9)  # the `():` before it is the same too
    assert (found.other.first, found.other.last) == (14, 23)
    assert found.lines == 9 and found.tokens >= 50


def test_a_block_twice_in_one_file_is_found_and_never_overlaps_itself() -> None:
    text = f"def a():\n{BLOCK}{program(3, 5)}def b():\n{BLOCK}"
    [found] = find_duplicates({"one.py": text})
    assert found.place.path == found.other.path == "one.py"
    assert found.place.last < found.other.first


def test_the_same_in_three_places_is_two_pairs() -> None:
    texts = {f"{n}.py": f"{program(n, 6)}def f{n}():\n{BLOCK}{program(n + 50, 6)}" for n in range(3)}
    found = find_duplicates(texts)
    assert [(each.place.path, each.other.path) for each in found] == [("0.py", "1.py"), ("1.py", "2.py")]


def test_imports_comments_and_tables_of_numbers_are_no_duplicates() -> None:
    imports = "from package.module import (\n" + "".join(f"    name_{n},\n" for n in range(60)) + ")\n"
    comments = "".join(f"# line {n} of a licence that stands in every file\n" for n in range(60))
    table = "TABLE = [\n" + "".join(f"    0x{n:04x}, {n * n},\n" for n in range(200)) + "]\n"
    texts = {f"{n}.py": f"{comments}{imports}{program(n, 20)}{table}" for n in range(2)}
    assert find_duplicates(texts) == ()


def test_short_copies_are_left_out() -> None:
    assert find_duplicates({"a.py": "x = f(a, b, c)\n", "b.py": "x = f(a, b, c)\n"}) == ()
    texts = {"a.py": BLOCK, "b.py": BLOCK}
    assert find_duplicates(texts, 500) == ()
    assert find_duplicates(texts, 40)


def test_order_and_languages() -> None:
    code = "int f(int a) {\n  if (a > b && c) { return g(a, b, c) + h(d, e); }\n"
    code += "  k(l, m, n, o, p, q, r);\n  return s;\n}\n"
    found = find_duplicates({"b.cpp": f"/* one */\n{code}", "a.cpp": f"{code}// two\n"}, 30)
    assert [each.place.path for each in found] == ["a.cpp"]
    assert find_duplicates({"a.md": BLOCK, "b.md": BLOCK}) == ()


words = st.lists(st.integers(0, 200), min_size=0, max_size=120)


@settings(max_examples=60, deadline=None)
@given(words, words, words, words, st.integers(0, 2**32))
def test_every_long_run_is_found_wherever_it_stands(
    before: list[int], after: list[int], other_before: list[int], other_after: list[int], seed: int
) -> None:
    rng = random.Random(seed)
    shared = [f"shared{rng.randrange(10**6)}" for _ in range(rng.randrange(50, 90))]

    def text(name: str, head: list[int], tail: list[int]) -> str:
        return "\n".join([*(f"{name}{n}" for n in head), *shared, *(f"{name}{n}" for n in tail)])

    found = find_duplicates({"a.py": text("x", before, after), "b.py": text("y", other_before, other_after)})
    [one] = [each for each in found if each.place.path != each.other.path]
    assert one.tokens == len(shared)
    assert one.place.first == len(before) + 1 and one.place.last == len(before) + len(shared)
    assert one.other.first == len(other_before) + 1


@settings(max_examples=60, deadline=None)
@given(st.lists(st.lists(st.integers(0, 3), max_size=150), max_size=4))
def test_what_is_reported_is_really_the_same(texts: list[list[int]]) -> None:
    named = {f"{n}.py": "\n".join(f"w{each}" for each in text) for n, text in enumerate(texts)}
    tokens = {path: tokenise(path, text) for path, text in named.items()}
    for each in find_duplicates(named, 12):
        assert lines(tokens, each, "place") == lines(tokens, each, "other")


def lines(tokens: dict[str, Tokens], found: Duplicate, side: str) -> list[int]:
    place = getattr(found, side)
    return tokens[place.path].ids[place.first - 1 : place.last]


def test_the_work_grows_with_the_text_and_not_with_its_square() -> None:
    def steps(number: int) -> int:
        texts = {f"{n}.py": f"def f{n}():\n{BLOCK * 3}" for n in range(number)}
        assert len(find_duplicates(texts)) >= number - 1
        return count_steps(lambda: find_duplicates(texts))

    assert steps(200) < 5 * steps(50)


def test_a_file_that_repeats_one_line_is_cheap() -> None:
    tokens = tokenise("a.py", "call(one, two, three, four, five, six)\n" * 30_000)
    prints = choose_prints(tokens, 50)
    assert len(prints.hashes) < len(tokens.ids) / 8
    assert len(match_prints({"a.py": prints}, 50)) < len(prints.hashes)


def test_blanking_out_keeps_the_lines() -> None:
    text = 'import a\nx = "}" # {\ny = """\n{\n"""\nz'
    assert blank_out("a.py", text).count("\n") == text.count("\n")
    assert "{" not in blank_out("a.py", text) and "}" not in blank_out("a.py", text)
