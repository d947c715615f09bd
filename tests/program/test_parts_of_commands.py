"""Commands that have parts say which, and endpoints that a person named are never left out in silence."""

from pathlib import Path

import pytest

from outside import Kith


def test_a_command_that_needs_a_part_names_them(repository: Path) -> None:
    kith = Kith(repository)
    told = kith("client", code=2).stderr
    assert "run, sessions, watch, answer, stop, get" in " ".join(told.split())
    assert "did you mean `kith client run`?" in " ".join(kith("client", "rum", code=2).stderr.split())
    assert "are required: CHOICE." in " ".join(kith("client", "answer", "x", code=2).stderr.split())
    shown = kith("client", "--help").stdout
    assert "client watch" in shown and "client watch" not in kith("models", "--help").stdout


@pytest.mark.slow
def test_an_endpoint_that_does_not_answer_is_named(repository: Path, home: Path, tiny_gguf: Path) -> None:
    config = home / ".config/kith/config.toml"
    config.parent.mkdir(parents=True)
    config.write_text(
        f'model_folders = ["{tiny_gguf.parent}"]\n'
        '[endpoints.box]\nurl = "http://127.0.0.1:9"\nkey_env = "BOX_KEY"\n'
    )
    told = " ".join(Kith(repository)("models").stdout.split())
    assert "box at http://127.0.0.1:9 lists no models: is it running, and is its key in BOX_KEY?" in told


def test_models_are_listed_although_the_protocol_of_a_cloud_is_off(
    repository: Path, home: Path, tiny_gguf: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = home / ".config/kith/config.toml"
    config.parent.mkdir(parents=True)
    config.write_text(
        f'model_folders = ["{tiny_gguf.parent}"]\n'
        '[endpoints.claude]\nkind = "anthropic"\nurl = "https://cloud.test"\n'
    )
    monkeypatch.setenv("KITH_FEATURES_OFF", "clouds")
    assert tiny_gguf.stem in Kith(repository)("models").stdout
