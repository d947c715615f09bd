"""What the machine of a build costs beside the project's own tests, with models that answer at once.

Plays a build of two tasks (a failure, a reviewer's word, a refiner) on toolz or on any Python package of this
environment that comes with its tests, and prints the share of the time that was not the project's.
"""

import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "tests" / "support"))

from msgspec.structs import replace  # noqa: E402  # noqa: E402

from building import DONE, PLAIN, Stage, copy_package, edit, tasks, write  # noqa: E402
from kith.core.events import Judged, Stepped  # noqa: E402

ALLOWED = 0.05
HALF = '"""Numbers."""\n\n\ndef half(number):\n    """A half of it."""\n    return number / 2\n'
HALF_TESTS = "from {package}.halves import half\n\n\ndef test_half():\n    assert half(4) == 2\n"
QUARTER = '\n\ndef quarter(number):\n    """A half of its half."""\n    return half(half(number))\n'
QUARTER_TESTS = "from {package}.halves import quarter\n\n\ndef test_quarter():\n    assert quarter(4) == 1\n"


def make_script(package: str) -> dict[str, list[object]]:
    """Two tasks: the first fails once and is mended, the second is refined."""
    path, place = f"{package}/halves.py", f"{package}/tests"
    half = {"id": "half", "title": "Halve", "text": f"Add half to {path}.", "criteria": ["half(4) == 2"]}
    quarter = {"id": "quarter", "title": "Quarter", "text": f"Add quarter to {path}.", "after": ["half"]}
    quarter["criteria"] = ["quarter(4) == 1"]
    return {
        "plan": [tasks(half, quarter)],
        "half/specify": [write(f"{place}/test_half.py", HALF_TESTS.format(package=package)), DONE],
        "half/implement": [write(path, HALF.replace("/ 2", "/ 3")), DONE, edit(path, "/ 3", "/ 2"), DONE],
        "half/review/1": ["Divide by two."],
        "half/refine": ["Good."],
        "quarter/specify": [write(f"{place}/test_quarter.py", QUARTER_TESTS.format(package=package)), DONE],
        "quarter/implement": [write(path, QUARTER, append=True), DONE],
        "quarter/refine": [edit(path, "A half of its half.", "Half of a half."), DONE],
    }


def main(package: str = "toolz") -> int:
    """Play the build; the exit code is 1 when the machine costs more than is allowed."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / package
        root.mkdir()
        copy_package(package, root)
        stage = Stage(root, make_script(package), replace(PLAIN, refine=True))
        outcome = stage.play()
        assert outcome.status == "done", outcome
        state, testing = stage.state, 0.0
        print(f"{'':20} {'whole':>7}  {'own':>7}")
        records = list(stage.log.events(stage.id))
        began = records[0].at
        for record in records:
            match record.event:
                case Stepped(_, "began"):
                    testing = 0.0
                case Judged(ran=ran):
                    testing += sum(each.seconds for each in ran)
                case Stepped(name, "ended", seconds):
                    print(f"{name:20} {seconds:7.3f}  {seconds - testing:7.3f}")
    whole = state.at - began
    own = whole - state.testing
    print(f"whole build          {whole:7.2f} s, of these tests {state.testing:.2f} s")
    print(f"the machine          {own:7.2f} s, {own / state.testing:.1%} of the tests' time")
    return int(own > ALLOWED * state.testing)


if __name__ == "__main__":
    raise SystemExit(main(*sys.argv[1:]))
