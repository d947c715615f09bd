"""Sessions as the log would hold them, for pages that show them."""

from pathlib import Path

from kith.core.events import (
    Applied,
    Asked,
    Called,
    Engaged,
    Judged,
    Notice,
    Planned,
    Proposed,
    RunEnded,
    RunStarted,
    Said,
    TodoSet,
    ToolBegan,
    ToolEnded,
)
from kith.core.values import (
    FileChange,
    Message,
    Plan,
    Question,
    Ran,
    Text,
    Thinking,
    Timing,
    TodoItem,
    ToolCall,
    ToolResult,
    Usage,
    say,
)
from kith.memory.log import Log
from kith.memory.session import Session


def turn(session: Session, number: int, words: str = "I look at the next file.") -> None:
    """One step of a model: a call, what was said, a tool and its result."""
    id = f"c{number}"
    call = ToolCall(id, "read", {"paths": [f"src/file{number}.py"]})
    session.emit(
        Called("llama", "edit", 1, Usage(4_000 + number, 60, 3_900), Timing(0, 0, 0.4, 1.2, 0.5, 1.7))
    )
    session.emit(
        Said("task", Message("assistant", (Thinking("Hm."), Text(f"{words} **{number}**"), call), "llama"))
    )
    session.emit(ToolBegan(id, "read", "read", f"src/file{number}.py"))
    session.emit(ToolEnded(id, "read", True, 0.1, "11 lines"))
    session.emit(Said("task", Message("tool", (ToolResult(id, f"def f{number}():\n    pass\n" * 4),))))


def write_everything(log: Log, id: str, repository: Path) -> None:
    """A session with everything that a page can show, and a question that is open."""
    diff = "--- a/u.py\n+++ b/u.py\n@@ -1,2 +1,2 @@\n-a = 1\n+a = 2\n b = 3\n"
    files = (FileChange("u.py", 1, 1, f"diff --git a/u.py b/u.py\n{diff}"),)
    ran = Ran("pytest", 1, "E   assert 1 == 2\n" * 30, 1.2)
    with Session(log, id) as session:
        session.emit(RunStarted("Everything at once", str(repository), "llama", "1"))
        session.emit(Engaged("llama", "http://127.0.0.1:8080", window=8_192))
        session.emit(Said("task", say("Everything at once")))
        session.emit(TodoSet((TodoItem("one", "done"), TodoItem("two", "active"), TodoItem("three"))))
        session.emit(Planned(Plan(("Look", "Mend"), ("It is small",), ("u.py",), ("u.py",))))
        for number in range(3):
            turn(
                session,
                number,
                "Some *words*, `code` and\n\n```python\nx = 1\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |\n",
            )
        session.emit(Notice("This is not a git repository.", "warning"))
        session.emit(Judged("pytest", False, 1, "one test fails", (ran,)))
        session.emit(Proposed(files))
        session.emit(Applied("0-1", files))
        session.emit(RunEnded("done", "It is **done**."))
        session.emit(RunStarted("And once more", str(repository), "llama", "1"))
        session.emit(
            Asked(
                Question("q1", "change", "Apply this change?", ("all", "some", "none", "revise"), files=files)
            )
        )
