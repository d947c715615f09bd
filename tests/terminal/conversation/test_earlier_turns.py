"""An earlier conversation is shown with its tools, what stopped, and how much was left out."""

from pathlib import Path

from mending import DONE, edit
from played_screen import Stop, converse

READS = {"calls": [{"name": "read", "args": {"paths": ["utils.py", "check.py"]}}]}
SLEEPS = {"calls": [{"name": "bash", "args": {"command": "echo begun; sleep 60"}}]}


def again(repository: Path) -> str:
    screen, _ = converse(repository, [], ["Never said."], ["n"], resume="last")
    return screen.text


def test_tools_and_a_stop_are_shown_again(repository: Path) -> None:
    said = ["fix mean", "!echo mine", "begin", Stop("begun")]
    converse(repository, said, [READS, edit(), DONE, SLEEPS], ["a"])
    lines = [line.strip() for line in again(repository).splitlines()]
    for line in ("> fix mean", "> !echo mine", "> begin", "Stopped."):
        assert line in lines, line
    assert any(line.startswith("✓ edit  utils.py +1 -1") for line in lines)
    assert any(line.startswith("✓ $ echo mine  exit 0") for line in lines)
    assert any(line.startswith("✗ $ echo begun; sleep 60  stopped") for line in lines)


def test_what_is_left_out_is_counted(repository: Path) -> None:
    long = "\n\n".join(f"Paragraph {number}." for number in range(60))
    converse(repository, ["one", "two", "three", "four"], ["1", "2", "3", long])
    text = again(repository)
    assert "1 earlier turn\n" in text and "> one" not in text and "> two" in text
    assert "79 lines left out" in text and "Paragraph 59." in text and "Paragraph 20." not in text
