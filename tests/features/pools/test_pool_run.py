"""A pool by its name: two servers are one model, one that is down is left out, and clouds are kept out."""

from pathlib import Path

import pytest

from outside import Kith, Serve


def configure(home: Path, *members: str, more: str = "") -> None:
    config = home / ".config/kith/config.toml"
    config.parent.mkdir(parents=True, exist_ok=True)
    config.write_text(f"[pools]\nhome = {list(members)}\n{more}")


@pytest.mark.slow
def test_a_task_is_done_by_a_pool(
    kith: Kith, serve: Serve, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    replies = ["Four, I think."]
    one, two = (serve(replies, "llama-server", "--model", "m") for _ in range(2))
    box = f'[endpoints.box]\nkind = "llama-server"\nurl = "{two.url}"\n'
    configure(home, one.url, "box", more=box)
    report = kith.run("-m", "home/m", "what is two and two?")
    assert report["text"] == "Four, I think." and report["model"] == "home/m"
    assert len(one.requests) + len(two.requests) == 1


def test_a_server_that_is_down_is_left_out_and_said(kith: Kith, serve: Serve, home: Path) -> None:
    up = serve(["Four."], "llama-server", "--model", "m")
    configure(home, "http://127.0.0.1:9", up.url)
    report = kith.run("-m", "home/m", "what is two and two?")
    assert report["text"] == "Four."
    assert any("goes on without" in warning for warning in report["receipt"]["warnings"])


@pytest.mark.parametrize(
    ("members", "expected"),
    [
        (("http://127.0.0.1:9", "boks"), "names 'boks', which is neither an endpoint nor an address"),
        (("http://127.0.0.1:9", "https://api.example.com"), "which is outside of your own network"),
        (("http://127.0.0.1:9", "http://127.0.0.1:10"), "No server of the pool"),
    ],
)
def test_bad_members_cost_one_sentence(
    kith: Kith, home: Path, members: tuple[str, ...], expected: str
) -> None:
    configure(home, *members)
    told = kith("run", "-m", "home/m", "hello", code=None)
    assert told.returncode in (2, 5) and expected in told.stderr
