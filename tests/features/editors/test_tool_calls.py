"""Where an editor is led by what a model calls: only to files of the project, whatever lies there."""

import os
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("acp")

from kith.core.events import ToolBegan
from kith.core.values import ToolCall
from kith.features.editors.tool_calls import begun
from kith.view.items import ToolUse


@pytest.mark.parametrize(
    ("args", "found"),
    [
        ({"path": "a.py", "old": "two"}, [("a.py", 2)]),
        ({"path": "pipe", "old": "two"}, [("pipe", None)]),
        ({"path": "zero", "old": "two"}, []),
        ({"paths": ["loop", "a.py", "../out", "/etc/passwd", "a\0b", "\ud800"]}, [("a.py", None)]),
    ],
)
def test_places_are_files_of_the_project(
    tmp_path: Path, args: dict[str, Any], found: list[tuple[str, int | None]]
) -> None:
    root = (tmp_path / "root").resolve()
    root.mkdir()
    (root / "a.py").write_text("one\ntwo\n")
    os.mkfifo(root / "pipe")
    (root / "zero").symlink_to("/dev/zero")
    (root / "loop").symlink_to("loop")
    began = ToolBegan("c", "edit", "write", "x")
    call = begun(ToolUse("1", (), 0.0, "c", ToolCall("c", "edit", args), began), root)
    assert [(place.path, place.line) for place in call.locations or ()] == [
        (str(root / name), line) for name, line in found
    ]
