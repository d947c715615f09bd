"""The looks behind edits: how many known faults of a scripted model are mended with them and without.

    python benchmarks/behind_edits.py             each fault once with and once without, and the time
    python benchmarks/behind_edits.py --tries 3   as long as the judge sends the change back

The model first looks around, makes an edit with one known fault, and corrects it only if it is told of it:
by the answer to its edit (then the look behind edits is on), or by the judge (`--tries` above 1). Real models
make other faults and do not always listen, so the shares are a bound, and not a forecast.
"""

import argparse
import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).parent.parent / "src"))

from kith.features.demo.standin import serve
from kith.features.demo.standin.http import Request

PROJECT: Mapping[str, str] = {
    "prices.py": "def total(prices):\n    return sum(prices)\n\n\n"
    "def average(prices):\n    return total(prices) / len(prices)\n",
    "report.py": "from prices import average, total\n\n\n"
    'def line(prices):\n    return f"{total(prices)} {average(prices)}"\n',
    "clear.sh": "#!/bin/sh\nrm -f old.txt\n",
    "test_prices.py": "from prices import average, total\nfrom report import line\n\n\n"
    "def test_total():\n    assert total([1, 2]) == 3\n\n\n"
    "def test_average():\n    assert average([1, 3]) == 2\n\n\n"
    'def test_line():\n    assert line([2]) == "2 2.0"\n\n\n'
    "def test_empty():\n    assert average([]) == 0\n",
}
GUARD = ("    return total(prices) / len(prices)", "    return total(prices) / len(prices) if prices else 0")


class Edit(NamedTuple):
    """One exact replacement in a file."""

    path: str
    old: str
    new: str


class Fault(NamedTuple):
    """A fault by name: the edits that make it, and those that a model makes when it hears of it."""

    name: str
    edits: tuple[Edit, ...]
    mended: tuple[Edit, ...]


SOLVED = Edit("prices.py", *GUARD)
FAULTS = (
    Fault("none", (SOLVED,), ()),
    Fault(
        "a wrong name",
        (Edit("prices.py", GUARD[0], GUARD[1].replace("if prices", "if price")),),
        (Edit("prices.py", "if price else", "if prices else"),),
    ),
    Fault(
        "a missing import",
        (SOLVED, Edit("report.py", '    return f"', '    math.floor(0)\n    return f"')),
        (Edit("report.py", "from prices", "import math\n\nfrom prices"),),
    ),
    Fault(
        "a forgotten file",
        (
            SOLVED,
            Edit("prices.py", "def total(prices):", "def total_of(prices):"),
            Edit("prices.py", "return total(prices)", "return total_of(prices)"),
        ),
        (Edit("prices.py", "def average", "total = total_of\n\n\ndef average"),),
    ),
    Fault(
        "broken syntax (a shell script)",
        (SOLVED, Edit("clear.sh", "rm -f old.txt", 'if [ -f old.txt ]; then\n  rm "old.txt"')),
        (Edit("clear.sh", 'rm "old.txt"', 'rm "old.txt"\nfi'),),
    ),
    Fault(
        "a case that worked before",
        (Edit("prices.py", GUARD[0], GUARD[1].replace("if prices", "if len(prices) > 1")),),
        (Edit("prices.py", "if len(prices) > 1 else", "if prices else"),),
    ),
    Fault(
        "a changed result",
        (SOLVED, Edit("prices.py", "return sum(prices)", "return float(sum(prices))")),
        (Edit("prices.py", "return float(sum(prices))", "return sum(prices)"),),
    ),
)


def scripted(fault: Fault) -> Any:
    """The model: a function that answers each request by what was said so far."""
    done = {"calls": [{"name": "done", "args": {"summary": "An empty list has the average 0."}}]}

    def reply(request: Request) -> dict[str, Any]:
        messages = request.body["messages"]
        said = [each for each in messages if each["role"] == "assistant"]
        made = sum("edit" in json.dumps(each) for each in said)
        if not said:  # as long as a real model needs to read two files: the untouched tree is checked
            return {"calls": [{"name": "run", "args": {"command": "sleep 3; cat prices.py report.py"}}]}
        if made < len(fault.edits):
            return call(fault.edits[made])
        told = made == len(fault.edits) and _is_told(messages[-1])
        return call(fault.mended[0]) if told and fault.mended else done

    return reply


def _is_told(message: Mapping[str, Any]) -> bool:
    words = str(message.get("content"))
    return "With this change:" in words or "With your change:" in words or message["role"] == "user"


def call(edit: Edit) -> dict[str, Any]:
    return {"calls": [{"name": "edit", "args": edit._asdict()}]}


class Run(NamedTuple):
    """How one task ended: whether it was applied as proven, replies of the model, seconds."""

    proven: bool
    replies: int
    seconds: float


async def run_one(fault: Fault, tries: int, looks: bool) -> Run:
    with tempfile.TemporaryDirectory() as folder:
        tree, home = Path(folder) / "tree", Path(folder) / "home"
        home.mkdir()
        tree.mkdir()
        for name, text in PROJECT.items():
            (tree / name).write_text(text)
        for words in (("init", "-q"), ("add", "."), ("commit", "-qm", "Prices")):
            identity = ("-c", "user.name=kith", "-c", "user.email=kith@example.org")
            subprocess.run(("git", *identity, *words), cwd=tree, check=True)
        async with serve(scripted(fault), "ollama") as server:
            environ = {
                **os.environ,
                "HOME": str(home),
                "OLLAMA_HOST": server.url,
                "KITH_EDIT_CHECK_SECONDS": "3" if looks else "0",
            }
            words = ("run", "--yes", "--tries", str(tries), "--output-format", "json", "-m", "ollama/standin")
            task = "an empty list has the average 0"
            began = time.monotonic()
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "kith", *words, "--check", "python -m pytest -q", task),
                cwd=tree,
                env=environ,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
            )
            said, _ = await process.communicate()
            seconds = time.monotonic() - began
            proven = process.returncode == 0 and json.loads(said)["evidence"] == "proven"
            return Run(proven, len(server.requests), seconds)


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--tries", type=int, default=1, help="attempts that the judge allows (1)")
    tries = parser.parse_args().tries
    print(f"{'fault':32} {'without':>24} {'with looks behind edits':>28}")
    ended: dict[bool, list[Run]] = {False: [], True: []}
    for fault in FAULTS:
        cells = []
        for looks in (False, True):
            ran = await run_one(fault, tries, looks)
            ended[looks].append(ran)
            word = "proven" if ran.proven else "not applied"
            cells.append(f"{word}, {ran.replies} replies, {ran.seconds:4.1f} s")
        print(f"{fault.name:32} {cells[0]:>24} {cells[1]:>28}")
    faulty = len(FAULTS) - 1
    shares = [sum(each.proven for each in ended[looks][1:]) for looks in (False, True)]
    print(f"mended: {shares[0]} of {faulty} without, {shares[1]} of {faulty} with")


if __name__ == "__main__":
    asyncio.run(main())
