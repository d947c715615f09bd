"""`kith config` from outside: one setting read, set and unset, and what stands in its way said."""

import json
from pathlib import Path

import pytest

from outside import Kith


@pytest.fixture
def file(home: Path) -> Path:
    return home / ".config" / "kith" / "config.toml"


def test_a_setting_is_set_read_and_unset(kith: Kith, file: Path) -> None:
    assert kith("config", "set", "tries", "5").stdout == "tries = 5  ~/.config/kith/config.toml\n"
    assert kith("config", "get", "tries").stdout == "5\n"
    rows = json.loads(kith("config", "--json").stdout)
    assert {"key": "tries", "value": "5", "origin": str(file)} in rows
    kith("config", "set", 'projects."/x.y".cloud', "never")
    kith("config", "set", "projects./x.y.route.dial", "frugal")
    assert (
        file.read_text()
        == 'tries = 5\n\n[projects."/x.y"]\ncloud = "never"\n\n[projects."/x.y".route]\ndial = "frugal"\n'
    )
    kith("config", "unset", "tries")
    assert "tries" not in file.read_text()
    assert "max_tasks  12" in kith("config", "get", "build").stdout


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["set", "trise", "5"], "kith: unknown key 'trise'; did you mean 'tries'?"),
        (["set", "tries", "x"], "kith: tries must be a whole number, not 'x'."),
        (["set", "endpoints.box.kind", "ollama"], "kith: endpoint 'box' needs a url."),
        (["set", "a b", "c"], "'a b' is no key; write it as in the file, such as tries or build.coverage."),
        (["set", "hooks", "c"], "'hooks' is a list of tables, each written by hand below [[hooks]]."),
        (["set", "--project", "model", "c"], "A project may not set 'model'; leave --project out."),
        (["set", "--project", "triess", "3"], "did you mean 'tries'?"),
        (["unset", "tries"], "tries is not set in"),
        (["unset", "trise"], "did you mean 'tries'?"),
        (["get", "biuld"], "did you mean 'build'?"),
        (["got", "x"], "There is no command 'config got'; did you mean `kith config get`?"),
    ],
)
def test_a_mistake_costs_one_sentence_and_nothing_is_written(
    kith: Kith, file: Path, words: list[str], sentence: str
) -> None:
    said = " ".join(kith("config", *words, code=2).stderr.split())
    assert sentence in said and not file.exists()


def test_what_was_not_chosen_is_told_by_the_exit_code(kith: Kith) -> None:
    done = kith("config", "get", "window", code=1)
    assert (done.stdout, done.stderr) == ("", "window is not set.\n")


def test_what_stands_in_the_way_of_a_setting_is_said(kith: Kith, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KITH_MODE", "auto")
    done = kith("config", "set", "mode", "plan")
    assert "Here it is auto all the same: environment says so." in done.stderr


def test_a_project_is_set_for_those_who_trust_it(kith: Kith, tmp_path: Path) -> None:
    assert "once you trust it" in kith("config", "set", "--project", "tries", "2").stderr
    file = kith.folder / ".kith" / "config.toml"
    assert file.read_text() == "tries = 2\n"
    kith("trust", "--yes")
    assert kith("config", "get", "tries").stdout == "2\n"
    file.unlink()
    file.symlink_to(other := tmp_path / "other.toml")
    assert "is a link" in kith("config", "set", "--project", "tries", "1", code=2).stderr
    assert not other.exists()


def test_yaml_is_changed_where_it_is(kith: Kith, file: Path) -> None:
    yaml = file.with_suffix(".yaml")
    yaml.parent.mkdir(parents=True)
    yaml.write_text("# mine\ntries: 3  # enough\n")
    kith("config", "set", "tries", "4")
    assert yaml.read_text() == "# mine\ntries: 4  # enough\n" and not file.exists()
    file.write_text("")
    assert "both exist" in kith("config", code=2).stderr


@pytest.mark.slow
def test_a_project_may_write_yaml(kith: Kith) -> None:
    (kith.folder / ".kith").mkdir()
    (kith.folder / ".kith" / "config.yaml").write_text("tries: 2\n")
    assert "tries = 2" in kith("trust", "--yes").stdout
    assert kith("config", "get", "tries").stdout == "2\n"
