"""A project's scripts as tools: only where it is trusted, in the sandbox, with a header that is checked."""

import json
from pathlib import Path
from typing import Any

import pytest

from kith.core.errors import UsageError
from kith.features.project_tools.scripts import read_header
from outside import Kith, StandIn

SCRIPT = """\
#!/usr/bin/env python3
# kith-tool: {"description": "The weather of a place.",
#   "arguments": {"place": {"type": "string"}}, "required": ["place"]}
import json, sys
print("rain in", json.load(sys.stdin)["place"])
"""
CALL = {"calls": [{"name": "weather", "args": {"place": "Berlin"}}]}


@pytest.fixture
def tool(kith: Kith) -> Path:
    path = kith.folder / ".kith" / "tools" / "weather"
    path.parent.mkdir(parents=True)
    path.write_text(SCRIPT)
    path.chmod(0o755)
    return path


def offered(server: Any) -> list[str]:
    return [each["function"]["name"] for each in server.requests[0].body["tools"]]


@pytest.mark.usefixtures("sandbox")
def test_a_script_of_a_trusted_folder_is_called_with_its_arguments(
    kith: Kith, stand_in: StandIn, tool: Path
) -> None:
    kith("trust", "--yes")
    server = stand_in([CALL, "It rains."])
    kith("run", "how is the weather?")
    assert "weather" in offered(server)
    assert "rain in Berlin" in json.dumps(server.requests[1].body["messages"][-1])


def test_of_a_folder_that_nobody_trusts_there_are_none(kith: Kith, stand_in: StandIn, tool: Path) -> None:
    server = stand_in(["It rains."])
    kith("run", "how is the weather?")
    assert "weather" not in offered(server)


def test_a_script_that_was_changed_since_counts_no_more(kith: Kith, stand_in: StandIn, tool: Path) -> None:
    kith("trust", "--yes")
    tool.write_text(SCRIPT.replace("rain", "sun"))
    server = stand_in(["It rains."])
    kith("run", "how is the weather?")
    assert "weather" not in offered(server)


def test_what_is_no_tool_is_named_and_stops_nothing(kith: Kith, stand_in: StandIn, tool: Path) -> None:
    (tool.parent / "broken.sh").write_text("#!/bin/sh\n# kith-tool: {\n")
    (tool.parent / "read").write_text(SCRIPT)  # kith's own is called so
    kith("trust", "--yes")
    server = stand_in(["It rains."])
    said = kith("run", "how is the weather?").stderr
    assert "broken.sh is no tool" in said and "chmod +x .kith/tools/read" in said
    assert offered(server).count("read") == 1 and "weather" in offered(server)


@pytest.mark.parametrize(
    "header",
    [
        "",
        "# kith-tool: [1]",
        '# kith-tool: {"description": ""}',
        '# kith-tool: {"description": "x", "seconds": 0}',
        '# kith-tool: {"description": "x", "more": 1}',
        '# kith-tool: {"description": "x", "arguments": {"a b": {"type": "string"}}}',
        '# kith-tool: {"description": "x", "arguments": {"a": {"type": "object"}}}',
        '# kith-tool: {"description": "x", "required": ["a"]}',
        f"# kith-tool: {'[' * 100_000}",
    ],
)
def test_a_wrong_header_is_refused(header: str) -> None:
    with pytest.raises(UsageError):
        read_header(".kith/tools/x", f"#!/bin/sh\n{header}\necho\n")


@pytest.mark.parametrize("sign", ["#", "//", "--"])
def test_a_header_stands_in_any_comment_over_several_lines(sign: str) -> None:
    header = read_header("x", f'{sign} kith-tool: {{"description":\n{sign} "two lines"}}\nprint(1)\n')
    assert header.description == "two lines"
