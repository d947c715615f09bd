"""A model in the cloud, played by a stand-in."""

from pathlib import Path

import pytest

from outside import Serve, Server

FIXED = {
    "calls": [
        {"name": "edit", "args": {"path": "utils.py", "old": "(len(numbers) + 1)", "new": "len(numbers)"}}
    ]
}


PRICES = '["vllm/standin"]\ninput = 10\noutput = 50\n'


@pytest.fixture
def cloud(serve: Serve, home: Path, monkeypatch: pytest.MonkeyPatch) -> Server:
    """A stand-in that counts as one in the cloud: `kith -m far/standin`."""
    server = serve([FIXED, "Mended."] * 3, "vllm")
    monkeypatch.delenv("OPENAI_BASE_URL")
    config = home / ".config" / "kith"
    config.mkdir(parents=True)
    endpoint = f'[endpoints.far]\nkind = "vllm"\nurl = "{server.url}"\ncloud = true\n'
    (config / "config.toml").write_text(endpoint)
    (config / "prices.toml").write_text(PRICES)
    return server
