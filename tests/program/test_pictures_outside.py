"""Pictures that a person shows reach the model byte for byte, where it can see; else one sentence says so."""

import base64
import json
import struct
import zlib
from pathlib import Path
from typing import Any

import pytest

from outside import Kith, StandIn


def png(width: int = 40, height: int = 30) -> bytes:
    def chunk(name: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    rows = (b"\0" + b"\x10\x20\x30" * width) * height
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    body = chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + body


SEES = ("completion", "tools", "vision")


def pictures(value: Any) -> list[bytes]:
    """Every picture of a request's body, in whichever protocol."""
    if isinstance(value, list):
        return [found for each in value for found in pictures(each)]
    if not isinstance(value, dict):
        return []
    own = [base64.b64decode(each) for each in value.get("images", ())]
    if value.get("type") == "image_url":
        own.append(base64.b64decode(value["image_url"]["url"].partition(",")[2]))
    if value.get("type") == "base64" or "inlineData" in value:
        own.append(base64.b64decode(value.get("inlineData", value)["data"]))
    return own + [found for key, each in value.items() if key != "images" for found in pictures(each)]


@pytest.fixture
def shot(kith: Kith) -> bytes:
    data = png()
    (kith.folder / "shot.png").write_bytes(data)
    return data


def model(dialect: str, monkeypatch: pytest.MonkeyPatch, url: str) -> str:
    if dialect == "anthropic":
        monkeypatch.setenv("ANTHROPIC_BASE_URL", url)
        monkeypatch.setenv("ANTHROPIC_API_KEY", "key")
        return "anthropic/standin"
    if dialect == "gemini":
        monkeypatch.setenv("GOOGLE_GEMINI_BASE_URL", url)
        monkeypatch.setenv("GEMINI_API_KEY", "key")
        return "gemini/standin"
    return "ollama/standin" if dialect == "ollama" else "openai/standin"


@pytest.mark.parametrize("dialect", ["ollama", "llama-server", "lmstudio", "vllm", "anthropic", "gemini"])
def test_a_picture_that_the_task_names_arrives_byte_for_byte(
    kith: Kith, stand_in: StandIn, shot: bytes, dialect: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = stand_in(["It is blue.", "Still blue."], dialect, capabilities=SEES)
    name = model(dialect, monkeypatch, server.url)
    report = kith.run("--read-only", "-m", name, "what is on @shot.png ?")
    assert report["text"] == "It is blue."
    assert pictures(server.requests[0].body) == [shot]


def test_a_model_that_sees_nothing_is_not_asked(kith: Kith, stand_in: StandIn, shot: bytes) -> None:
    server = stand_in(["Blue."])
    told = kith("run", "--read-only", "what is on @shot.png ?", code=2).stderr
    assert "takes no pictures: leave shot.png out" in told and not server.requests


def test_a_picture_from_elsewhere_is_shown_by_an_option(
    kith: Kith, stand_in: StandIn, tmp_path: Path
) -> None:
    elsewhere = tmp_path / "a picture.png"
    elsewhere.write_bytes(png(7, 5))
    server = stand_in(["Blue."], capabilities=SEES)
    kith("run", "--read-only", "--image", str(elsewhere), "what is this?")
    assert pictures(server.requests[0].body) == [png(7, 5)]


def test_what_is_no_picture_is_refused_in_one_sentence(kith: Kith, stand_in: StandIn) -> None:
    server = stand_in(["Blue."], capabilities=SEES)
    (kith.folder / "not.png").write_text("hello")
    told = kith("run", "--read-only", "--image", "utils.py", "what is this?", code=2).stderr
    assert told.startswith("kith: utils.py cannot be read, or is no PNG") and not server.requests
    kith("run", "--read-only", "what is on @not.png ?")
    assert not pictures(server.requests[0].body) and "hello" in json.dumps(server.requests[0].body)


def test_a_resumed_conversation_shows_the_picture_again(
    kith: Kith, stand_in: StandIn, shot: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = stand_in(
        [
            {"calls": [{"name": "read", "args": {"paths": ["utils.py"]}}]},
            {"error": {"status": 503, "text": "no"}},
        ],
        capabilities=SEES,
    )
    monkeypatch.setenv("KITH_RETRIES", "0")
    report = kith.run("--read-only", "what is on @shot.png ?", code=75)
    again = stand_in(["Blue."], capabilities=SEES)
    assert kith.run("--read-only", "--resume", report["session"])["text"] == "Blue."
    assert pictures(server.requests[1].body) == pictures(again.requests[0].body) == [shot]
