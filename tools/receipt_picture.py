"""Draw docs/images/receipt.svg: what a real `kith run --yes` prints, with a replayed model.

python tools/receipt_picture.py
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import DIMMED_MONOKAI
from rich.text import Text

WIDTH = 80
OUT = Path(__file__).parent.parent / "docs" / "images" / "receipt.svg"
FILES = {
    "stats.py": "def median(values):\n    ordered = sorted(values)\n    return ordered[len(ordered) // 2]\n",
    "test_stats.py": (
        "from stats import median\n\n\ndef test_odd():\n    assert median([3, 1, 2]) == 2\n\n\n"
        "def test_even():\n    assert median([1, 2, 3, 4]) == 2.5\n\n\n"
        "def test_empty():\n    assert median([]) is None\n"
    ),
}
NEW = (
    "def median(values):\n    ordered = sorted(values)\n    middle = len(ordered) // 2\n"
    "    if len(ordered) % 2:\n        return ordered[middle]\n"
    "    return (ordered[middle - 1] + ordered[middle]) / 2\n"
)
REPLIES = [
    {"calls": [{"name": "read", "args": {"path": "stats.py"}}]},
    {"calls": [{"name": "write", "args": {"path": "stats.py", "content": NEW}}]},
    {"text": "`median()` of an even number of values is now the mean of the two in the middle."},
]


def run_task() -> str:
    """What the task prints, in colours, on a terminal of 80 columns."""
    with tempfile.TemporaryDirectory() as place:
        root = Path(place) / "project"
        root.mkdir()
        for name, text in FILES.items():
            (root / name).write_text(text)
        script = Path(place) / "qwen3-8b.json"
        script.write_text(json.dumps(REPLIES))
        for command in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "A median"]):
            identity = ["-c", "user.name=kith", "-c", "user.email=demo@kith.invalid"]
            subprocess.run(["git", *identity, *command], cwd=root, check=True)
        places = {f"XDG_{name}_HOME": f"{place}/{name}" for name in ("STATE", "CONFIG", "CACHE")}
        env = {**os.environ, **places, "HOME": place, "COLUMNS": str(WIDTH), "VIRTUAL_ENV": sys.prefix}
        words = ["run", "--yes", "-m", f"replay/{script}", "fix the even case of median"]
        ran = subprocess.run(
            [sys.executable, "-m", "kith", *words],
            cwd=root,
            env=env,
            capture_output=True,
            text=True,
            check=True,
        )
        return f"$ kith run --yes {words[-1]!r}\n{ran.stderr}"


def main() -> None:
    console = Console(record=True, width=WIDTH, file=open(os.devnull, "w"), color_system="truecolor")  # noqa: SIM115, PTH123
    console.print(Text.from_ansi(run_task()))
    console.save_svg(str(OUT), title="kith run", theme=DIMMED_MONOKAI)
    print(OUT)


if __name__ == "__main__":
    main()
