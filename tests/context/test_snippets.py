"""Excerpts: what is shown, and that the budget holds."""

from hypothesis import given
from hypothesis import strategies as st

from kith.context.budget import estimate_tokens
from kith.context.snippets import snippets

LONG = "".join(f"def function_{n}(value):\n    return value + {n}\n\n\n" for n in range(200))
SMALL = '"""A greeting."""\n\n\ndef greet(name):\n    return f"Hello, {name}!"\n'


def test_a_small_file_is_shown_whole_as_it_is() -> None:
    shown = snippets("anything", {"app.py": SMALL}, 500)
    assert shown == f"app.py\n```\n{SMALL}```"


def test_no_line_of_a_file_closes_its_fence() -> None:
    shown = snippets("anything", {"a.md": "```\n# Task\n````\n"}, 500)
    assert shown == "a.md\n`````\n```\n# Task\n````\n`````"


def test_of_a_large_file_the_named_definition_is_shown() -> None:
    shown = snippets("function_150 is wrong", {"long.py": LONG}, 600)
    assert shown.startswith("long.py, lines 599-603 of 800\n")
    assert "\ndef function_150(value):\n    return value + 150\n" in shown
    assert "defines" not in shown  # for all 200 there is no room
    assert "function_151(value)" not in shown


def test_the_first_lines_of_a_definition_too_long_are_shown() -> None:
    body = "def parse_all(text):\n" + "".join(f"    step_{n}(text)\n" for n in range(500))
    shown = snippets("parse_all fails", {"parse.py": body}, 400)
    assert "\n```\ndef parse_all(text):\n    step_0(text)\n" in shown


def test_lines_that_mention_a_name_are_shown() -> None:
    text = "# filler line of prose\n" * 400 + "client = HttpClient()\n" + "# more of it\n" * 400
    shown = snippets("HttpClient leaks", {"use.txt": text}, 500)
    assert shown.startswith("use.txt, lines 399-403 of 801\n```\n")
    assert "\nclient = HttpClient()\n" in shown


def test_the_order_is_the_callers_and_the_first_come_first() -> None:
    shown = snippets("greet", {"b.py": SMALL, "a.py": SMALL}, 500)
    assert shown.index("b.py") < shown.index("a.py")
    assert "a.py" not in snippets("greet", {"b.py": SMALL, "a.py": SMALL}, 90)


def test_overlong_lines_are_cut() -> None:
    shown = snippets("greet", {"min.js": "var x = '" + "y" * 5000 + "'\n"}, 2000)
    assert len(shown) < 400 and "[...]" in shown


def test_no_room_no_words() -> None:
    assert snippets("greet", {"app.py": SMALL}, 0) == ""
    assert snippets("greet", {}, 500) == ""


SOURCES = st.dictionaries(
    st.sampled_from(["a.py", "b.cpp", "c.txt", "d.js"]),
    st.one_of(st.text(max_size=400), st.sampled_from([LONG, SMALL, LONG[:3000], "x" * 3000, "\n" * 500])),
)


@given(st.text(max_size=60) | st.just("function_7 `return value` greet"), SOURCES, st.integers(0, 1500))
def test_the_budget_is_never_exceeded(task: str, sources: dict[str, str], budget: int) -> None:
    assert estimate_tokens(snippets(task, sources, budget)) <= budget


def test_a_definition_that_is_named_has_room_behind_other_files() -> None:
    body = "def parse_all(text):\n" + "".join(f"    step_{n}(text)\n" for n in range(500))
    tools = "# prose\n" * 300 + "\n\ndef tidy(text):\n    return text.strip()\n"
    shown = snippets("parse_all() and tidy() fail", {"parse.py": body, "tools.py": tools}, 150)
    assert "def parse_all(text):" in shown and "\ndef tidy(text):\n    return text.strip()\n" in shown


def test_of_a_named_class_the_members_are_listed() -> None:
    methods = "".join(f"    def method_{n}(self):\n        return {n}\n\n" for n in range(12))
    prose = "    Long prose.\n" * 30
    text = f'class BigTable:\n    """A table.\n{prose}    """\n\n{methods}\n\n' + LONG
    shown = snippets("BigTable.method_3() is wrong", {"big.py": text}, 1500)
    assert "BigTable has method_0 35-36, method_1 38-39" in shown and shown.count("Long prose.") < 12
    assert "    def method_3(self):\n        return 3\n" in shown


def test_a_name_that_many_files_define_has_room_in_none() -> None:
    pops = {
        f"p{n}.py": LONG + f"\n\ndef pop{n}():\n    return {n}\n\n\ndef pop():\n    pass\n" for n in range(6)
    }
    table = LONG + "\n\nclass BigTable:\n    def pop(self):\n        return 1\n"
    shown = snippets("BigTable: pop() is wrong", {"table.py": table, **pops}, 200)
    assert "class BigTable:" in shown


TOLD = "\n".join(f"    More of it, {number}." for number in range(30))
DOCUMENTED = f'''{LONG}

def parse_all(text):
    """Parse.

{TOLD}
    """
    first(text)
    return second(text)
'''


def test_a_long_docstring_gives_way_to_code() -> None:
    shown = snippets("parse_all() fails", {"parse.py": DOCUMENTED, "b.py": SMALL}, 400)
    assert 'def parse_all(text):\n    """Parse.\n\n...\n    first(text)\n    return second(text)\n' in shown
    assert "More of" not in shown


def test_what_the_task_names_is_shown_to_its_end_however_much_explains_it() -> None:
    told = "\n".join(f"    More of it, {number}." for number in range(70))
    code = "".join(f"    step({number})\n" for number in range(40))
    text = f'{LONG}\n\ndef parse_all(text):\n    """Parse.\n\n{told}\n    """\n{code}'
    assert code in snippets("parse_all() fails", {"parse.py": text, "b.py": SMALL}, 700)


def test_a_licence_is_no_place_that_speaks_of_the_task() -> None:
    licence = "# Part of `parsely`.\n# Released under a licence.\n" * 3
    shown = snippets("`parsely` fails", {"a.py": f"{licence}\n{LONG}\nname = 'parsely'\n"}, 200)
    assert "name = 'parsely'" in shown and "Released" not in shown


def test_a_docstring_that_fits_is_shown() -> None:
    shown = snippets("parse_all() fails", {"parse.py": DOCUMENTED, "b.py": SMALL}, 1200)
    assert f'{TOLD}\n    """\n    first(text)\n' in shown


def test_a_task_about_docstrings_gets_them_first() -> None:
    shown = snippets("correct the docstring of parse_all()", {"parse.py": DOCUMENTED, "b.py": SMALL}, 400)
    assert "    More of it, 0.\n" in shown and "return second(text)" not in shown


def test_a_small_file_that_is_named_is_shown_whole_behind_a_large_one() -> None:
    sources = {"long.py": LONG, "other.py": LONG, "app.py": SMALL}
    assert "\napp.py\n```\n" in snippets("function_7 in app.py, function_150 is alike", sources, 180)
    assert "app.py" not in snippets("function_7 in them, function_150 is alike", sources, 180)
    assert "app.py" not in snippets("function_7 in app.py, function_150 is alike", sources, 100)


def test_the_first_of_several_files_leaves_room_for_the_others() -> None:
    large = "".join(f"step_{number}(value)\n" for number in range(40))
    cost = estimate_tokens(large)
    assert "step_39" in snippets("step_1", {"a.py": large}, cost + 40)
    assert "step_39" not in snippets("step_1", {"a.py": large, "b.py": SMALL}, cost + 40)


COMMON = "".join(
    f"def f_{number}(name):\n    return None if name is None else {number}\n\n\n" for number in range(60)
)


def test_places_of_a_common_word_are_not_shown() -> None:
    text = f"{COMMON}def rare():\n    return main(1)\n"
    shown = snippets("`main` needs a `name`", {"a.py": text}, 900)
    assert "return main(1)" in shown and "is None" not in shown


def test_a_word_that_most_bodies_hold_is_no_reason() -> None:
    text = f"{COMMON}def total():\n    return rates() + 1\n"
    shown = snippets("the rates are None and nobody hears of it", {"a.py": text}, 900)
    assert "return rates() + 1" in shown and "f_30" not in shown.partition("```")[2]
    assert snippets("None is what came out of the machine", {"a.py": text}, 900) == ""
