"""The skill tool: words, files beside them, and nothing that is not the skill's."""

from pathlib import Path

import pytest

from kith.agent.knowledge import gather, skill_tool
from kith.core.model import Tool
from kith.settings import load_settings
from tools_bench import Bench
from trusting import trust

OUTSIDE = ("../../../.env", "parts/../../../../.env", "/etc/passwd", ".git/config", "../../../../secret.md")


@pytest.fixture
def tool(bench: Bench, home: Path) -> Tool:
    """Skills of a trusted project, `kept` by kith itself and `plain` elsewhere, and the person's `own`."""
    for name, folder in (("kept", ".kith/skills/kept"), ("plain", ".agents/skills/plain")):
        bench.write(f"{folder}/SKILL.md", f"---\ndescription: {name} one\n---\nTurn right.\n")
        bench.write(f"{folder}/parts/a.md", "Part A.\n")
        (bench.folder / folder / "linked.md").symlink_to(home / "secret.md")
    bench.write(".env", "TOKEN=1\n")
    own = home / ".config" / "kith" / "skills" / "own"
    (own / ".git").mkdir(parents=True)
    (own / ".git" / "config").write_text("HIDDEN\n")
    (own / "SKILL.md").write_text("---\ndescription: my one\n---\nTurn left.\n")
    (own / "b.md").write_text("Part B.\n")
    (own / "c.bin").write_bytes(b"\0\1")
    (own / "linked.md").symlink_to(own / "b.md")
    (home / "secret.md").write_text("CANARY\n")
    trust(bench.folder)
    return skill_tool(gather(load_settings(bench.folder, {})), 16_384)


def test_it_reads_a_skill_and_what_lies_beside_it(bench: Bench, tool: Tool) -> None:
    for name in ("kept", "plain"):
        told = bench.use(tool, name=name).text
        assert told.startswith("Turn right.\n\nFiles in its folder: ") and "parts/a.md" in told
        assert bench.use(tool, name=name, file="./parts/a.md").text == "Part A.\n"
    assert bench.use(tool, name="own").text == "Turn left.\n\nFiles in its folder: b.md, c.bin, linked.md."
    assert bench.use(tool, name="own", file="linked.md").text == "Part B.\n"
    assert bench.use(tool, name="all").text == "kept: kept one\nown: my one\nplain: plain one"


@pytest.mark.parametrize("name", ["own", "kept", "plain"])
def test_it_reads_nothing_else(bench: Bench, tool: Tool, name: str) -> None:
    for file in (*OUTSIDE, "nothing.md", *(["linked.md"] if name != "own" else [])):
        refused = bench.use(tool, name=name, file=file)
        assert not refused.ok, file
        assert not any(each in refused.text for each in ("TOKEN", "CANARY", "HIDDEN", "root:"))


def test_what_it_refuses_it_explains(bench: Bench, tool: Tool) -> None:
    assert bench.use(tool, name="kpet").text.endswith("Did you mean kept? There are: kept, own, plain.")
    assert "not text" in bench.use(tool, name="own", file="c.bin").text
