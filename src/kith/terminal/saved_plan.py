"""Read a saved plan as the words of a task: of `kith plan --save`, or in the JSON result of a task."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from kith.core.errors import UsageError


def read_saved_plan(path: Path, words: str) -> str:
    """The task, the plan's steps, and the files to read and to modify; `words` replace the saved task.

    Raises UsageError for a file that holds no plan, or no task where `words` are empty.
    """
    try:
        saved: Any = json.loads(path.read_text("utf-8"))
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}.") from error
    except ValueError as error:
        raise UsageError(f"{path} holds no JSON.") from error
    plan = saved.get("plan", saved) if isinstance(saved, dict) else None
    if not isinstance(plan, dict) or not ({"files", "read", "modify"} & plan.keys()):
        raise UsageError(f"{path} holds no plan. Save one: kith plan --save {path} TASK.")
    task = words or saved.get("task")
    if not task or not isinstance(task, str):
        raise UsageError(f"{path} holds no task. Name it: kith run --from-plan {path} TASK.")
    listed = {use: (*_texts(plan.get(use)), *_files(plan, use)) for use in ("read", "modify")}
    parts = [task]
    if steps := _texts(plan.get("steps")):
        parts.append("Steps:\n" + "\n".join(f"{number}. {step}" for number, step in enumerate(steps, 1)))
    parts += [f"Files to {use}: {', '.join(paths)}" for use, paths in listed.items() if paths]
    return "\n\n".join(parts)


def _texts(value: Any) -> Sequence[str]:
    return [each for each in value if isinstance(each, str)] if isinstance(value, list) else []


def _files(plan: dict[str, Any], use: str) -> Sequence[str]:
    files = plan.get("files")
    found = [each for each in files if isinstance(each, dict)] if isinstance(files, list) else []
    return _texts([each.get("path") for each in found if each.get("use") == use])
