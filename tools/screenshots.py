"""Pictures of the page for the docs: sessions played from scripts, a real server, a real browser.

    python tools/screenshots.py [--out docs/images] [--only NAME ...]

Needs the dev group and /usr/bin/chromium. Nothing is read from, or written to, the home of who runs it.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
from playwright.sync_api import Browser, sync_playwright

ROOT = Path(__file__).parent.parent
CHROMIUM = "/usr/bin/chromium"
FLAGS = "--no-sandbox --disable-gpu --no-first-run --disable-component-update --disable-sync"
TOKEN = "pictures-are-taken-with-this-token"

FILES = {
    "README.md": "# till\n\nAdds up what is in a basket. Tests: `python -m unittest`.\n",
    "till/__init__.py": "",
    "till/basket.py": '''\
"""What somebody wants to buy."""

from dataclasses import dataclass, field


@dataclass
class Item:
    name: str
    cents: int
    count: int = 1


@dataclass
class Basket:
    items: list[Item] = field(default_factory=list)

    def add(self, name, cents, count=1):
        self.items.append(Item(name, cents, count))

    def total(self):
        """Cents, without any discount."""
        return sum(item.cents for item in self.items)

    def is_empty(self):
        return len(self.items) == 0
''',
    "till/receipt.py": '''\
"""A basket in lines for paper."""


def lines(basket):
    for item in basket.items:
        yield f"{item.count} x {item.name}  {item.cents / 100:.2f}"
    yield f"total  {basket.total() / 100:.2f}"
''',
    "tests/__init__.py": "",
    "tests/test_basket.py": """\
import unittest

from till.basket import Basket


class TestBasket(unittest.TestCase):
    def test_total_counts_each_piece(self):
        basket = Basket()
        basket.add("pear", 40, 3)
        self.assertEqual(basket.total(), 120)
""",
}
PLAN = [
    {"text": "total() adds the price of one piece", "state": "done"},
    {"text": "Count every piece in total()", "state": "active"},
    {"text": "Print the price of all pieces in the receipt", "state": "pending"},
]
WORDS = """\
`Basket.total` adds `item.cents` once for each line, **whatever its count**. The receipt has the same fault:

```python
yield f"{item.count} x {item.name}  {item.cents / 100:.2f}"
```

Both want the price of all pieces, so an item should know it:

1. `Item.price` is `cents * count`
2. the total and the receipt use it"""


def call(name: str, **args: Any) -> dict[str, Any]:
    return {"name": name, "args": args}


def edits() -> list[dict[str, Any]]:
    """A task that reads, plans, changes two files and tells of it."""
    return [
        {
            "thinking": "The total ignores how many pieces there are. First see the code, and who uses it.",
            "text": "I look at the basket, and at what prints it.",
            "calls": [call("read", paths=["till/basket.py", "till/receipt.py"]), call("todo", items=PLAN)],
            "delay": 0.4,
        },
        {
            "text": WORDS,
            "calls": [
                call(
                    "edit",
                    path="till/basket.py",
                    old="    count: int = 1\n",
                    new="    count: int = 1\n\n    @property\n    def price(self):\n"
                    '        """Cents of all its pieces."""\n        return self.cents * self.count\n',
                ),
                call(
                    "edit",
                    path="till/basket.py",
                    old="return sum(item.cents for item in self.items)",
                    new="return sum(item.price for item in self.items)",
                ),
                call(
                    "edit", path="till/receipt.py", old="{item.cents / 100:.2f}", new="{item.price / 100:.2f}"
                ),
            ],
            "delay": 0.3,
        },
        {
            "calls": [
                call("bash", command="python3 -m unittest 2>&1 | tail -3"),
                call("todo", items=[{**item, "state": "done"} for item in PLAN]),
            ],
            "delay": 0.2,
        },
        "An item knows the price of all its pieces now; the total and the receipt use it. The test passes.",
    ]


@dataclass(frozen=True)
class Stage:
    """A server with a few sessions, by name."""

    url: str
    sessions: dict[str, str]


@contextmanager
def staged(folder: Path) -> Iterator[Stage]:
    """A project, a server, and sessions in every state."""
    project = folder / "till"
    for name, content in FILES.items():
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        (project / name).write_text(content)
    who = ["-c", "user.name=A Person", "-c", "user.email=person@example.org"]
    for words in (["init", "-q", "-b", "main"], ["add", "."], [*who, "commit", "-q", "-m", "A till"]):
        subprocess.run(["git", *words], cwd=project, check=True)
    places = {"HOME": "", "XDG_STATE_HOME": "state", "XDG_CONFIG_HOME": "config", "XDG_CACHE_HOME": "cache"}
    environ = os.environ | {name: str(folder / "home" / place) for name, place in places.items()}
    environ |= {"KITH_DISCOVERY": "off", "KITH_SERVE_TOKEN": TOKEN, "KITH_MODEL": "ollama/qwen3:8b"}
    command = [sys.executable, "-m", "kith", "serve", "--port", "0"]
    server = subprocess.Popen(command, cwd=project, env=environ, stdout=subprocess.PIPE, text=True)
    assert server.stdout
    url = next(found[1] for line in server.stdout if (found := re.search(r"(http://\S+)/\?token=", line)))
    try:
        with httpx2.Client(base_url=url, headers={"Authorization": f"Bearer {TOKEN}"}, timeout=30) as client:
            yield Stage(url, play(client, folder))
    finally:
        server.terminate()
        server.wait(10)


def play(client: httpx2.Client, folder: Path) -> dict[str, str]:
    """The sessions: some are over, one asks, one is at work."""
    stories: dict[str, tuple[str, list[Any]]] = {
        "refused": (
            "Rename Basket to Cart everywhere",
            ["The name is part of the public interface; I would keep it."],
        ),
        "done": ("The total ignores how many pieces there are", edits()),
        "working": (
            "Round prices to five cents in shops that want it",
            [*edits()[:1], {"text": "", "delay": 600}],
        ),
        "asks": ("The receipt shows the price of one piece only", edits()),
    }
    sessions: dict[str, str] = {}

    def now(name: str) -> Any:
        return client.get(f"/api/sessions/{sessions[name]}").json()

    for name, (words, replies) in stories.items():
        script = folder / f"{name}.json"
        script.write_text(json.dumps(replies))
        body = {"words": words, "model": f"replay/{script}"}
        sessions[name] = client.post("/api/sessions", json=body).raise_for_status().json()["session"]
        if name == "done":
            question = until(lambda: now("done")["question"])["id"]
            client.post(f"/api/sessions/{sessions[name]}/answers/{question}", json={"choice": "all"})
            until(lambda: now("done")["status"] == "done")
            subprocess.run(["git", "checkout", "-q", "."], cwd=folder / "till", check=True)
    until(lambda: now("asks")["question"])
    return sessions


def until(what: Any, seconds: float = 40) -> Any:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if found := what():
            return found
        time.sleep(0.1)
    raise AssertionError("it did not happen")


@dataclass(frozen=True)
class Picture:
    """What is shown, how wide the window is, and in which colours."""

    path: str
    width: int = 1440
    dark: bool = False
    height: int = 900
    keys: tuple[str, ...] = ()


PICTURES = {
    "sessions": Picture("/"),
    "session": Picture("/sessions/{done}", height=820),
    "session-dark": Picture("/sessions/{done}", dark=True),
    "question": Picture("/sessions/{asks}", keys=("q",)),
    "question-dark": Picture("/sessions/{asks}", dark=True, height=840, keys=("q",)),
    "working": Picture("/sessions/{working}"),
    "middle": Picture("/sessions/{asks}", 1024),
    "phone": Picture("/sessions/{asks}", 390, height=844),
    "phone-dark": Picture("/", 390, dark=True, height=844),
    "keys": Picture("/", keys=("?",)),
    "files": Picture("/files?path=till/basket.py"),
    "models": Picture("/models"),
    "profile": Picture("/profile"),
}


def take(browser: Browser, stage: Stage, name: str, picture: Picture, out: Path) -> None:
    """One picture; whatever the browser complains of ends it."""
    theme = "dark" if picture.dark else "light"
    size = {"width": picture.width, "height": picture.height}
    with browser.new_context(viewport=size, color_scheme=theme) as context:  # type: ignore[arg-type]
        page = context.new_page()
        page.on("console", lambda message: print(f"{name}: {message.text}", file=sys.stderr))
        page.goto(f"{stage.url}/?token={TOKEN}")
        page.goto(stage.url + picture.path.format(**stage.sessions))
        page.wait_for_timeout(600)
        for key in picture.keys:
            page.keyboard.press(key)
        page.wait_for_timeout(300)
        page.screenshot(path=out / f"page-{name}.png")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "images")
    parser.add_argument("--only", nargs="*", choices=sorted(PICTURES), default=list(PICTURES))
    chosen = parser.parse_args()
    chosen.out.mkdir(parents=True, exist_ok=True)
    with (
        tempfile.TemporaryDirectory() as folder,
        staged(Path(folder)) as stage,
        sync_playwright() as playwright,
    ):
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS.split())
        for name in chosen.only:
            take(browser, stage, name, PICTURES[name], chosen.out)
        browser.close()


if __name__ == "__main__":
    main()
