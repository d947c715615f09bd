"""Configuration files: read with the place of every key, and changed one key at a time with all else kept."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kith.core.errors import UsageError
from kith.settings import load_settings
from kith.settings.files import parse
from kith.settings.read import read_values
from kith.settings.write import set_setting, split_key, unset_setting

TOML = """\
# mine
model = "a/b"  # the best
tries = 3 # not more

# about sampling
[sampling]
temperature = 0.2

[projects."~/x.y"]
route.dial = "frugal"
"""
YAML = """\
# mine
model: a/b   # the best
tries: 3 # not more
check:
  - make test
  - make lint

# about sampling
sampling:
  temperature: 0.2

# last
engine: {ngl: 3}
"""
NAMES = {"toml": "config.toml", "yaml": "config.yaml"}


def complaint(path: str, text: str) -> str:
    with pytest.raises(UsageError) as caught:
        read_values(Path(path), text, None)
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.fixture
def folder(home: Path) -> Path:
    place = home / ".config" / "kith"
    place.mkdir(parents=True)
    return place


# --- reading -------------------------------------------------------------------------------------


def test_yaml_says_the_same_as_toml(folder: Path, tmp_path: Path) -> None:
    (folder / "config.yaml").write_text(
        "tries: 5\nsandbox: off\nreview: on\ncheck: [make test]\nmodel: 2020-01-01\nstall: 010\n"
        "build:\n  max_tasks: 3\n  step_tokens: 200_000\nroute.dial: frugal\nthink: no\n"
        "endpoints:\n  box: {url: 'http://h:1'}\nhooks:\n  - {on: stop, command: true}\n".replace(
            "true", "'true'"
        )
    )
    settings = load_settings(tmp_path, {})
    assert (settings.tries, settings.sandbox, settings.review, settings.stall) == (5, "off", True, 10.0)
    assert (settings.check, settings.model, settings.think) == (("make test",), "2020-01-01", False)
    assert (settings.build.max_tasks, settings.build.step_tokens) == (3, 200_000)
    assert (settings.route.dial, settings.endpoints["box"].url) == ("frugal", "http://h:1")
    assert [(each.on, each.command) for each in settings.hooks] == [("stop", "true")]
    assert settings.origin["tries"] == str(folder / "config.yaml")


def test_two_files_are_one_too_many(folder: Path, tmp_path: Path) -> None:
    for name in NAMES.values():
        (folder / name).write_text("")
    with pytest.raises(UsageError, match=r"config\.toml and config\.yaml both exist"):
        load_settings(tmp_path, {})


@pytest.mark.parametrize(
    ("text", "line", "expected"),
    [
        ("a: *x\n", 1, "aliases (*name) are not read here"),
        ("a: &x [1]\nb: *x", 2, "aliases"),
        ("tries: 1\n\ntries: 2", 3, "'tries' stands twice"),
        ("1: x", 1, "'1' is no name of a key"),
        ("tries: [\n", 2, "not valid YAML"),
        ("tries: !!python/object:os.system {}", 1, "tags (!name) are not read here"),
        ("a: 1\ntries: !!int x", 2, "tags (!name) are not read here"),
        ("a: 1\n---\nb: 2", 2, "expected a single document"),
        ("- 1", 1, "not a mapping"),
        ("a:\n\t- b", 2, "'\\t'"),
        ("model: ~", 1, "model must be a text"),
        ("\nendpoints:\n  box:\n    url: http://h:1\n    kind: olama", 5, "kind must be one of"),
        ("hooks:\n- on: start\n  command: ls\n- on: strat\n  command: x", 4, "on must be one of start"),
        ("\nbuild:\n  max_task: 3", 3, "did you mean 'build.max_tasks'?"),
        ("buidl: {}", 1, "did you mean 'build'?"),
        ("dial: frugal", 1, "did you mean 'route.dial'?"),
        ("openai_api_key: x", 1, "set the variable OPENAI_API_KEY"),
    ],
)
def test_a_mistake_in_yaml_is_named_with_its_line(text: str, line: int, expected: str) -> None:
    words = complaint("config.yaml", text)
    assert words.startswith(f"config.yaml, line {line}: ") and expected in words


def test_what_no_text_may_hold_and_what_is_too_deep_is_said() -> None:
    assert "unacceptable character" in complaint("config.yaml", "a: \0")
    assert "deeply" in complaint("config.yaml", "a: " + "[" * 400)


@pytest.mark.parametrize(
    ("text", "line", "expected"),
    [
        ('check = ["""\n[x]\n# """,\n"y"]\nmodle = 1', 5, "did you mean 'model'?"),
        ("[[hooks]]\non = 'start'\ncommand = 'x'\n[[hooks]]\non = 'strat'", 5, "on must be one of"),
        ("[[hooks]]\non = 'start'\ncommand = 'x'\ntool = 'x'", 4, "a hook on 'start' takes no tool"),
        ("[[hooks]]\non = 'start'\n", 1, "a hook needs `on`"),
        ("[[hooks]]\non = 'stop'\ncommand = 'x'\nseconds = 0", 4, "seconds must be more than 0"),
        ("[[hooks]]\non = 'stop'\ncomand = 'x'", 3, "did you mean 'command'?"),
        ("hooks = 'x'", 1, "hooks are a list of tables"),
        ("hooks = ['x']", 1, "a hook is a table"),
        ("keys = 'vim'", 1, "keys must be one of emacs, vi"),
        ("mode = 'yolo'", 1, "mode must be one of ask, plan, auto"),
        ("[endpoints.a]\nurl='http://a:1'\n[endpoints.b]\nurl='http://b:1'\ncloud=1", 5, "cloud must be"),
    ],
)
def test_a_mistake_in_toml_is_named_where_it_stands(text: str, line: int, expected: str) -> None:
    words = complaint("config.toml", text)
    assert words.startswith(f"config.toml, line {line}: ") and expected in words


@pytest.mark.parametrize(("there", "editor"), [({}, ""), ({"EDITOR": "ed"}, "ed"), ({"VISUAL": "vi"}, "vi")])
def test_an_editor_is_the_one_of_all_programs_unless_kith_has_its_own(
    folder: Path, tmp_path: Path, there: dict[str, str], editor: str
) -> None:
    environ = {"HOME": os.environ["HOME"]} | there
    assert load_settings(tmp_path, {}, environ).editor == editor
    (folder / "config.toml").write_text("editor = 'nano'")
    assert load_settings(tmp_path, {}, environ).editor == "nano"


def test_yaml_is_loaded_for_a_file_in_yaml_only(folder: Path, tmp_path: Path) -> None:
    code = "import sys; from pathlib import Path; from kith.settings import load_settings;"
    code += (
        f"load_settings(Path({str(tmp_path)!r}), {{}}); print(*({{'yaml', 'tomlkit'}} & {{*sys.modules}}))"
    )
    (folder / "config.toml").write_text("tries = 2")
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "\n"
    (folder / "config.toml").rename(folder / "config.yml").write_text("tries: 2")
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "yaml\n"


# --- changing ------------------------------------------------------------------------------------


def changed(tmp_path: Path, form: str, key: str, *words: str) -> str:
    file = tmp_path / NAMES[form]
    file.write_text({"toml": TOML, "yaml": YAML}[form])
    if words:
        set_setting(file, key, words, project=False)
    else:
        unset_setting(file, key, project=False)
    return file.read_text()


@pytest.mark.parametrize(
    ("key", "words", "old", "new"),
    [
        ("tries", ["5"], "tries = 3 #", "tries = 5 #"),
        ("window", ["8192"], "# not more\n", "# not more\nwindow = 8192\n"),
        ("sampling.top_k", ["20"], "temperature = 0.2\n", "temperature = 0.2\ntop_k = 20\n"),
        ("build.coverage", ["80"], '"frugal"\n', '"frugal"\n\n[build]\ncoverage = 80.0\n'),
        ("check", ["a b", "c"], "# not more\n", '# not more\ncheck = ["a b", "c"]\n'),
        ('projects."~/x.y".cloud', ["never"], '"frugal"\n', '"frugal"\ncloud = "never"\n'),
        ("tries", [], "tries = 3 # not more\n", ""),
        ("projects", [], '\n[projects."~/x.y"]\nroute.dial = "frugal"\n', ""),
    ],
)
def test_a_key_of_toml_is_changed_and_nothing_else(
    tmp_path: Path, key: str, words: list[str], old: str, new: str
) -> None:
    assert changed(tmp_path, "toml", key, *words).rstrip() == TOML.replace(old, new).rstrip()


@pytest.mark.parametrize(
    ("key", "words", "old", "new"),
    [
        ("tries", ["5"], "tries: 3 #", "tries: 5 #"),
        ("sandbox", ["off"], "{ngl: 3}\n", '{ngl: 3}\nsandbox: "off"\n'),
        ("sampling.top_k", ["20"], "temperature: 0.2\n", "temperature: 0.2\n  top_k: 20\n"),
        ("build.refine", ["no"], "{ngl: 3}\n", "{ngl: 3}\nbuild:\n  refine: false\n"),
        ("engine.threads", ["2"], "{ngl: 3}", '{"ngl": 3, "threads": 2}'),
        ("check", ["x"], "check:\n  - make test\n  - make lint\n", 'check: ["x"]\n'),
        ("tries", [], "tries: 3 # not more\n", ""),
        ("check", [], "check:\n  - make test\n  - make lint\n", ""),
        ("sampling.temperature", [], "sampling:\n  temperature: 0.2\n", ""),
    ],
)
def test_a_key_of_yaml_is_changed_and_nothing_else(
    tmp_path: Path, key: str, words: list[str], old: str, new: str
) -> None:
    assert changed(tmp_path, "yaml", key, *words) == YAML.replace(old, new)


def test_a_comment_that_would_be_lost_is_left_to_the_person(tmp_path: Path) -> None:
    file = tmp_path / "config.yaml"
    file.write_text(text := "check:\n  - a  # why\n  - b\n")
    with pytest.raises(UsageError, match="by hand here: a comment would be lost"):
        set_setting(file, "check", ["c"], project=False)
    assert file.read_text() == text


def test_a_link_to_the_file_the_mode_and_the_line_ends_stay(tmp_path: Path) -> None:
    kept = tmp_path / "dotfiles.toml"
    kept.write_bytes(b"tries = 3\r\n# mine\r\n")
    kept.chmod(0o600)
    link = tmp_path / "config.toml"
    link.symlink_to(kept)
    set_setting(link, "max_steps", ["7"], project=False)
    assert link.is_symlink() and kept.stat().st_mode & 0o777 == 0o600
    assert kept.read_bytes() == b"tries = 3\r\nmax_steps = 7\r\n# mine\r\n"
    assert sorted(each.name for each in tmp_path.iterdir()) == ["config.toml", "dotfiles.toml"]


@pytest.mark.parametrize("text", ["", "x", 'a = 1\n"', "[sampling]\n", "tries = [", "sampling = 3"])
def test_nothing_is_written_where_it_would_not_be_valid(tmp_path: Path, text: str) -> None:
    file = tmp_path / "config.toml"
    file.write_text(text)
    with pytest.raises(UsageError):
        set_setting(file, "sampling.top_k", ["x"], project=False)
    assert file.read_text() == text


def test_a_mistake_can_be_mended_or_taken_out_by_its_key(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text("tries = 'x'\nmodle = 'y'\n")
    unset_setting(file, "modle", project=False)
    set_setting(file, "tries", ["4"], project=False)
    assert file.read_text() == "tries = 4\n"


PLAIN = {"model": st.text(st.characters(codec="utf-8", exclude_categories=["Cs", "Cc"]), min_size=1)}
VALUES: dict[str, st.SearchStrategy[Any]] = {
    **PLAIN,
    "tries": st.integers(1, 99),
    "stall": st.floats(1, 1e9),
    "offline": st.booleans(),
    "check": st.lists(
        st.sampled_from(["make", "a: b", "# no", "off", "1", "- x", "'q\""]), min_size=1, max_size=3
    ),
    "sampling.temperature": st.floats(0, 2),
    "build.max_tasks": st.integers(1, 9),
    'projects."~/a.b".model': PLAIN["model"],
    "gates.'my gate'": st.sampled_from(["true", "a # b", "x: y", '"']),
}
STEPS = st.lists(
    st.sampled_from(sorted(VALUES)).flatmap(lambda key: st.tuples(st.just(key), st.none() | VALUES[key])),
    max_size=5,
)


@pytest.mark.parametrize("form", ["toml", "yaml"])
@given(steps=STEPS)
@example(steps=[("build.max_tasks", 1), *[('projects."~/a.b".model', "0")] * 2])  # a table in two places
def test_whatever_is_set_and_unset_is_what_is_read(
    tmp_path_factory: pytest.TempPathFactory, form: str, steps: list[tuple[str, Any]]
) -> None:
    file = tmp_path_factory.mktemp("set") / NAMES[form]
    start = {"toml": TOML, "yaml": YAML}[form]
    file.write_text(start)
    for key, value in steps:
        if value is None:
            try:
                unset_setting(file, key, project=False)
            except UsageError as error:
                assert "not set" in str(error)
            continue
        words = value if isinstance(value, list) else [str(value)]
        set_setting(file, key, words, project=False)
        data, _ = parse(file, file.read_text())
        for part in split_key(key):
            data = data[part]
        assert data == value
    kept = [line for line in start.splitlines() if line.startswith("#")]
    assert [line for line in file.read_text().splitlines() if line in kept] == kept


def test_hooks_add_up_and_the_persons_own_come_first(folder: Path, tmp_path: Path) -> None:
    written = "[[{}hooks]]\non = 'stop'\ncommand = '{}'\n"
    (folder / "config.toml").write_text(
        written.format("", "everywhere") + written.format(f"projects.'{tmp_path}'.", "here")
    )
    (tmp_path / ".kith").mkdir()
    (tmp_path / ".kith" / "config.toml").write_text(written.format("", "theirs"))
    hooks = load_settings(tmp_path, {}, trusting=True).hooks
    assert [(each.command, each.where, each.brought) for each in hooks] == [
        ("everywhere", "machine", False),
        ("here", "machine", False),
        ("theirs", "trial", True),
    ]
    assert [each.place.rpartition(" ")[2] for each in hooks] == ["1", "4", "1"]
    assert [each.command for each in load_settings(tmp_path.parent, {}).hooks] == ["everywhere"]
