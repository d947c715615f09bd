"""What is read out of a task."""

import pytest

from kith.context.task_words import find_words, named_paths, split_name, stem, stems_of


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("parse_args", ("parse", "args")),
        ("parseHTTPHeader", ("parse", "http", "header")),
        ("HttpClient2", ("http", "client", "2")),
        ("__init__", ("init",)),
        ("größeÄndern", ("größeändern",)),
        ("", ()),
    ],
)
def test_identifiers_are_split(name: str, words: tuple[str, ...]) -> None:
    assert split_name(name) == words


def test_forms_of_one_word_meet() -> None:
    assert len({stem(word) for word in ("parse", "parser", "parsers", "parsing", "parsed", "parses")}) == 1
    assert len({stem(word) for word in ("cache", "caches", "caching", "cached")}) == 1
    assert len({stem(word) for word in ("split", "splitter", "splitting", "splits")}) == 1
    assert len({stem(word) for word in ("call", "called", "calling", "caller")}) == 1
    assert stem("is") == "is"


def test_words_that_say_nothing_are_left_out() -> None:
    assert stems_of("fix_the_function") == ()


def test_a_task_is_read_in_four_ways() -> None:
    words = find_words(
        "Fix `load config` in src/net/client.py: HttpClient must retry when parse_body() says 'no'."
    )
    assert {"client", "retr", "pars", "bod"} <= set(words.stems)
    assert words.names == ("HttpClient", "parse_body", "no")
    assert words.quoted == ("load config", "no")
    assert words.paths == ("src/net/client.py",)


def test_a_plain_word_after_its_kind_is_a_name() -> None:
    assert find_words("Rename function greet to salute in app.py and update callers.").names == ("greet",)
    assert find_words("Add a method that sorts").names == ()


def test_folders_and_relative_paths_are_paths() -> None:
    assert find_words("look in ./src/core/ and tests/a_test.py.").paths == ("src/core/", "tests/a_test.py")


def test_an_apostrophe_is_no_quote() -> None:
    assert find_words("it doesn't work, don't ask").quoted == ()


@pytest.mark.parametrize(
    ("task", "about"),
    [
        ("write tests for the parser", True),
        ("fix the failing test", True),
        ("add a unit test", True),
        ("test_parse fails; the test is failing since Monday", True),
        ("repair the parser; all existing tests must pass", False),
        ("run the tests", False),
    ],
)
def test_only_work_on_tests_is_about_tests(task: str, about: bool) -> None:
    words = find_words(task)
    assert words.about_tests is about
    assert about or "test" not in words.stems


def test_an_expression_in_quotes_names_what_it_uses() -> None:
    assert find_words("`boltons.Table([[]]).to_text()` crashes").names == ("Table", "to_text", "boltons")
    assert find_words('it says "this is a sentence"').names == ()


def test_the_name_of_a_file_is_no_name_of_code() -> None:
    words = find_words("update `__init__.py` and parse_all.py; parse_all() and __init__ stay")
    assert words.names == ("parse_all", "__init__") and words.exact == ("parse_all", "__init__")


TREE = (
    *("src/flask/__init__.py", "src/flask/app.py", "src/flask/sansio/app.py", "src/flask/blueprints.py"),
    *("src/flask/json/__init__.py", "examples/js/__init__.py", "tests/test_apps/__init__.py", "README.md"),
    *("examples/README.md", "tests/test_helpers.py"),
)


@pytest.mark.parametrize(
    ("paths", "named"),
    [
        (
            ["blueprints.py", "__init__.py", "app.py", "test_helpers.py"],
            {"src/flask/blueprints.py", "src/flask/__init__.py", "src/flask/app.py", "tests/test_helpers.py"},
        ),
        (["sansio/app.py", "app.py"], {"src/flask/sansio/app.py", "src/flask/app.py"}),
        (["app.py"], {"src/flask/app.py", "src/flask/sansio/app.py"}),  # nothing says which
        (["__init__.py", "test_helpers.py"], {path for path in TREE if "__init__" in path} | {TREE[-1]}),
        (
            ["README.md", "examples/js/__init__.py"],
            {"README.md", "examples/README.md", "examples/js/__init__.py"},
        ),
    ],
)
def test_a_name_of_several_files_means_those_beside_other_named_ones(
    paths: list[str], named: set[str]
) -> None:
    assert named_paths(paths, TREE).keys() == named


def test_tests_in_a_folder_of_their_own_are_no_home_of_what_they_test() -> None:
    named = named_paths(
        ["models.py", "test_models.py"], ["shop/models.py", "tests/models.py", "tests/test_models.py"]
    )
    assert "shop/models.py" in named
