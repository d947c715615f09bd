"""Settings: every value has one origin, and every mistake one sentence: where it is, and what is nearest."""

import os
import re
from pathlib import Path
from typing import Any

import pytest

from kith.core.errors import UsageError
from kith.core.values import Sampling
from kith.settings import Settings, describe_settings, load_settings, unknown_variables
from kith.settings.check import KEYS, keys_in_tables
from places import ROOT
from trusting import trust


@pytest.fixture
def user_file(home: Path) -> Path:
    file = home / ".config" / "kith" / "config.toml"
    file.parent.mkdir(parents=True)
    return file


@pytest.fixture
def project_file(tmp_path: Path) -> Path:
    file = tmp_path / "project" / ".kith" / "config.toml"
    file.parent.mkdir(parents=True)
    return file


@pytest.fixture
def project(project_file: Path) -> Path:
    return project_file.parent.parent


def complaint(project: Path) -> str:
    with pytest.raises(UsageError) as caught:
        load_settings(project, {}, trusting=True)
    words = str(caught.value)
    assert "\n" not in words
    return words


def test_later_places_win_and_each_value_knows_its_origin(
    user_file: Path, project_file: Path, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    user_file.write_text("tries = 5\nmax_steps = 40\nwindow = 8192\n[sampling]\ntemperature = 1\n")
    project_file.write_text('tries = 2\ncheck = "make test"\n')
    monkeypatch.setenv("KITH_WINDOW", "4096")
    monkeypatch.setenv("KITH_SAMPLING_TOP_K", "20")
    trust(project)
    settings = load_settings(project, {"max_steps": 7, "model": None})
    assert (settings.tries, settings.max_steps, settings.window) == (2, 7, 4096)
    assert settings.check == ("make test",)
    assert settings.sampling == Sampling(temperature=1.0, top_k=20)
    origins = {key: origin for key, _, origin in describe_settings(settings)}
    assert origins["tries"] == str(project_file) and origins["sampling.temperature"] == str(user_file)
    assert (origins["window"], origins["max_steps"], origins["stall"]) == ("environment", "flag", "default")


def test_sampling_needs_no_table_in_the_environment(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KITH_TEMPERATURE", "0.5")
    monkeypatch.setenv("KITH_MAX_TOKENS", "99")
    assert load_settings(project, {}).sampling == Sampling(temperature=0.5, max_tokens=99)
    monkeypatch.setenv("KITH_MIROSTAT", "7")
    assert "variable KITH_MIROSTAT: sampling.mirostat must be at most 2, not 7." in complaint(project)


def test_the_example_of_the_documentation_is_valid(user_file: Path, project: Path) -> None:
    page = ROOT / "docs" / "configuration.md"
    user_file.write_text(page.read_text().partition("```toml\n")[2].partition("```")[0])
    assert len(load_settings(project, {}).endpoints) == 2


def test_a_project_may_ask_for_less_and_never_for_more(
    user_file: Path, project_file: Path, project: Path
) -> None:
    user_file.write_text("tries = 2\nread_only = true\n")
    project_file.write_text("tries = 9\nmax_steps = 10\nread_only = false\n")
    trust(project)
    settings = load_settings(project, {})
    assert (settings.tries, settings.max_steps, settings.read_only) == (2, 10, True)
    assert settings.origin["tries"] == str(user_file)


@pytest.mark.parametrize(
    "text",
    [
        'model = "x/y"',
        "[endpoints.box]\nurl = 'http://evil.example'",
        "[sampling]\ntemperature = 2",
        "offline = false",
        "sandbox = 'off'",
        "hosts = ['evil.example']",
        "ollama_host = 'evil.example'",
        "pass_env = ['GITHUB_TOKEN']",
    ],
)
def test_a_project_chooses_no_models_and_loosens_nothing(
    project_file: Path, project: Path, text: str
) -> None:
    project_file.write_text(text)
    words = complaint(project)
    assert "may not" in words and f"{project_file}, line " in words


@pytest.mark.parametrize(
    ("text", "line", "expected"),
    [
        ("\n\nmodle = 'x'", 3, "unknown key 'modle'; did you mean 'model'?"),
        ("tries = 1\n\nmax_steps = 'many'", 3, "max_steps must be a whole number, not 'many'"),
        ("max_steps = true", 1, "max_steps must be a whole number"),
        ("read_only = 'perhaps'", 1, "read_only must be true or false"),
        ("check = [1]", 1, "check must be a text or a list of texts"),
        ("check = ''", 1, "check is empty; to run none, name `none`"),
        ("check = ['none', 'make test']", 1, "either 'none' or commands"),
        ("sandbox = 'on'", 1, "sandbox must be one of auto, require, off"),
        ("tries = 0", 1, "tries must be at least 1"),
        ("hosts = ['*']", 1, "'*' is no host; write a name (example.org)"),
        ("hosts = ['a.org', 'http://b.org']", 1, "'http://b.org' is no host"),
        ("window = -1", 1, "window must be at least 256"),
        ("stall = nan", 1, "stall must be a number"),
        ("check_timeout = inf", 1, "check_timeout must be a number"),
        ("[sampling]\ntemprature = 1", 2, "did you mean 'sampling.temperature'?"),
        ("model = 'x'\n[coach]\nmodel = 3", 3, "coach.model must be a text"),
        ("[sampling]\ntop_k = 1.5", 2, "sampling.top_k must be a whole number"),
        ("[sampling]\nmirostat = 7", 2, "sampling.mirostat must be at most 2, not 7."),
        ("[sampling]\nseed = 99999999999", 2, "sampling.seed must be at most 4294967295, not 99999999999."),
        ("[route]\naudit = 2", 2, "route.audit must be at most 1, not 2."),
        ("connect = 0", 1, "connect must be at least 0.1, not 0."),
        ("retries = -1", 1, "retries must be at least 0, not -1."),
        ("sampling = 3", 1, "'sampling' is a table"),
        ("endpoints = 3", 1, "'endpoints' is a table"),
        ("tries = 1\n[endpoints.box]\nkind = 'ollama'", 2, "endpoint 'box' needs a url"),
        ("[endpoints.box]\nurl = 'localhost:80'", 2, "not a server address such as http://host:port"),
        ("[endpoints.box]\nurl = 'http://h:1'\nkind = 'olama'", 3, "kind must be one of ollama"),
        ("[endpoints.box]\nurl = 'http://h:1'\nkey_evn = 'K'", 3, "did you mean 'key_env'?"),
        ("[endpoints.'a/b']\nurl = 'http://h:1'", 1, "cannot be called 'a/b'"),
        ("tries = 1\nmodel = ", 2, "not valid TOML: Invalid value"),
        ("tries = 1\ntries = 2\n", 2, "not valid TOML: Cannot overwrite a value"),
    ],
)
def test_a_mistake_is_named_with_its_file_and_line(
    user_file: Path, tmp_path: Path, text: str, line: int, expected: str
) -> None:
    user_file.write_text(text)
    words = complaint(tmp_path)
    assert f"{user_file}, line {line}: " in words and expected in words


def test_a_file_that_is_none_is_said_and_never_waited_for(
    user_file: Path, project_file: Path, project: Path
) -> None:
    user_file.write_bytes(b"\xff\xfe")
    assert "UTF-8" in complaint(project)
    for make in (Path.mkdir, os.mkfifo, lambda path: path.symlink_to("/dev/zero")):
        user_file.rmdir() if user_file.is_dir() else user_file.unlink()
        make(user_file)
        assert "file" in complaint(project)
    user_file.unlink()
    user_file.symlink_to(user_file.name)
    assert "read" in complaint(project)


@pytest.mark.parametrize(
    ("make", "fault"),
    [
        (Path.mkdir, "is not a file"),
        (os.mkfifo, "is not a file"),
        (lambda path: path.symlink_to("/dev/zero"), "is a link"),
        (lambda path: path.symlink_to("/etc/passwd"), "is a link"),
        (lambda path: path.symlink_to(path.name), "is a link"),
        (lambda path: path.write_bytes(b"\xff\xfe"), "is not written in UTF-8 (byte 0)"),
        (lambda path: path.write_text("# \n" * 70_000), "is larger than 64 KiB"),
    ],
)
def test_a_project_file_that_is_none_is_neither_read_nor_in_the_way(
    project_file: Path, project: Path, make: Any, fault: str
) -> None:
    make(project_file)
    brought = load_settings(project, {}).brought
    assert (brought.standing, dict(brought.files)) == ("unfit", {}) and fault in brought.fault


def test_a_project_with_a_file_called_kith_has_no_configuration(tmp_path: Path) -> None:
    (tmp_path / ".kith").write_text("not ours")
    assert load_settings(tmp_path, {}).tries == Settings().tries


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("KITH_TRIES", "x", "tries must be a whole number, not 'x'"),
        ("KITH_TRIES", "0", "tries must be at least 1"),
        ("KITH_THINK", "maybe", "think must be true or false"),
        ("KITH_ENDPOINTS", "x", "'endpoints' is a table"),
    ],
)
def test_a_variable_that_is_wrong_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, value: str, expected: str
) -> None:
    monkeypatch.setenv(name, value)
    words = complaint(tmp_path)
    assert f"environment variable {name}: " in words and expected in words


def test_a_variable_that_is_no_setting_is_passed_over(tmp_path: Path) -> None:
    known = {"KITH_TRIES": "7", "KITH_SAMPLING_TOP_K": "20", "KITH_SERVE_TOKEN": "x"}
    unknown = {
        "KITH_MODLE": "x",
        "KITH_SAMPLING_TOPK": "1",
        "KITH_SERVICE_HOST": "10.0.0.7",
        "KITH_PORT": "1",
    }
    settings = load_settings(tmp_path, {}, {"HOME": str(tmp_path), **known, **unknown})
    assert (settings.tries, settings.sampling.top_k) == (7, 20)
    assert unknown_variables({**known, **unknown}) == {
        "KITH_MODLE": "KITH_MODEL",
        "KITH_SAMPLING_TOPK": "KITH_SAMPLING_TOP_K",
        "KITH_SERVICE_HOST": "",
        "KITH_PORT": "",
    }


def test_variables_are_read_in_their_keys_type(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"STALL": "1e3", "WINDOW": " 8192 ", "THINK": "No", "CHECK": "make"}.items():
        monkeypatch.setenv(f"KITH_{name}", value)
    settings = load_settings(tmp_path, {})
    assert (settings.stall, settings.window, settings.think, settings.check) == (
        1000.0,
        8192,
        False,
        ("make",),
    )


def test_a_flag_is_held_to_the_same_rules(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="--check: check is empty"):
        load_settings(tmp_path, {"check": (" ",)})


def test_a_key_is_never_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    monkeypatch.setenv("OPENAI_BASE_URL", "https://me:sk-secret@box/v1")
    monkeypatch.setenv("OLLAMA_HOST", "me:sk-secret@box")
    settings = load_settings(tmp_path, {})
    assert settings.openai_api_key == "sk-secret"
    assert "sk-secret" not in str(describe_settings(settings))


def test_a_home_that_means_nowhere_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "")
    assert "set HOME" in complaint(tmp_path)


def test_what_may_leave_the_machine_is_only_narrowed_by_a_project(
    user_file: Path, project_file: Path, project: Path
) -> None:
    user_file.write_text('cloud = "ask"\nmax_day_usd = 5\n')
    project_file.write_text('cloud = "allow"\nmax_day_usd = 9\nmax_task_usd = 1\n')
    trust(project)
    settings = load_settings(project, {})
    assert (settings.cloud, settings.max_day_usd, settings.max_task_usd) == ("ask", 5.0, 1.0)
    project_file.write_text('cloud = "never"\n')
    assert load_settings(project, {}).cloud == "ask"  # one byte more: nobody has trusted this
    trust(project)
    assert load_settings(project, {}).cloud == "never"


def test_the_user_says_other_things_of_single_projects(
    user_file: Path, project: Path, tmp_path: Path
) -> None:
    user_file.write_text(f'model = "a/b"\n[projects."{project}"]\ncloud = "allow"\nroute.dial = "frugal"\n')
    settings = load_settings(project, {})
    assert (settings.cloud, settings.route.dial, settings.model) == ("allow", "frugal", "a/b")
    assert load_settings(tmp_path / "other", {}).cloud == "ask"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[pools]\nhome = ['one']", "must be a list of two or more endpoints"),
        ("[pools]\nanthropic = ['a', 'b']", "cannot be called 'anthropic'"),
        ("[projects.here]\ncloud = 'never'", "is not an absolute path"),
        ("[projects.'/x']\nclod = 'never'", "did you mean 'cloud'?"),
        ("[endpoints.box]\nurl = 'http://h:1'\ncloud = 'no'", "cloud must be true or false"),
        ("[endpoints.box]\nurl = 'http://h:1'\nheaders = 'a: b'", "headers must be a table of texts"),
        (
            "[endpoints.box]\nurl = 'http://h:1'\nheaders = { 'a b' = 'c' }",
            "'a b' with this value is no HTTP header",
        ),
        (
            "[endpoints.box]\nurl = 'http://h:1'\nheaders = { a = \"b\\nc\" }",
            "'a' with this value is no HTTP header",
        ),
        ("[endpoints.box]\nurl = 'http://h:1'\nrenames = { seed = 1 }", "renames must be a table of texts"),
        ("[endpoints.box]\nurl = 'http://h:1'\nfields = { messages = [] }", "messages is what kith sends"),
        ("[endpoints.box]\nurl = 'http://h:1'\npath = 'api'", "path must look like /v1"),
        (
            "[endpoints.box]\nurl = 'http://h:1'\nkind = 'ollama'\npath = '/x'",
            "path does not apply to ollama",
        ),
        ("[route]\ndial = 'fast'", "route.dial must be one of frugal, balanced, quality"),
        ("[coach]\nlive = 2", "coach.live must be at most 1"),
        ("max_day_usd = -1", "max_day_usd must be at least 0"),
    ],
)
def test_mistakes_about_models_cost_one_sentence(
    user_file: Path, project: Path, text: str, expected: str
) -> None:
    user_file.write_text(text)
    assert expected in complaint(project)


def test_keys_of_services_are_read_and_never_shown(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-secret")
    monkeypatch.setenv("GOOGLE_API_KEY", "other")
    monkeypatch.setenv("GEMINI_API_KEY", "gemini-secret")
    settings = load_settings(tmp_path, {})
    assert (settings.anthropic_api_key, settings.gemini_api_key) == ("sk-ant-secret", "gemini-secret")
    assert "secret" not in str(describe_settings(settings))


def test_settings_in_an_error_report_hold_no_key() -> None:
    keys = {f"{name}_api_key": "sk-mine" for name in ("openai", "anthropic", "gemini")}
    assert "sk-mine" not in repr(Settings(**keys))


def test_hosts_are_kept_in_clean_form_and_offline_there_are_none(user_file: Path, project: Path) -> None:
    user_file.write_text("hosts = ['PyPI.org.', '*.example.org:8443']\n")
    assert load_settings(project, {}).reachable == ("pypi.org", "*.example.org:8443")
    assert load_settings(project, {"hosts": ("a.org",)}).reachable == ("a.org",)
    assert load_settings(project, {"offline": True}).reachable == ()


def test_the_page_on_configuration_names_every_key() -> None:
    page = (ROOT / "docs/configuration.md").read_text(encoding="utf-8")
    named = {*re.findall(r"^(\w+) = ", page, re.MULTILINE)}
    keys = {key for key in KEYS if key.upper() not in page} | {*keys_in_tables()}
    assert {key.rpartition(".")[2] for key in keys} <= named
