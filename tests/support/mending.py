"""Replies of a scripted model that mends `mean`, and what the file holds before and after."""

from typing import Any

OLD, NEW = (
    "    return sum(numbers) / (len(numbers) + 1)\n",
    "    return sum(numbers) / max(len(numbers), 1)\n",
)


CHECK = "python3 -m unittest -q"


DONE = {"calls": [{"name": "done", "args": {"summary": "mean() divides by the count."}}]}


def edit(old: str = OLD, new: str = NEW) -> dict[str, Any]:
    return {"calls": [{"name": "edit", "args": {"path": "utils.py", "old": old, "new": new}}]}


def blocks(old: str, new: str) -> str:
    return f"Here it is.\n\nutils.py\n```python\n<<<<<<< SEARCH\n{old}=======\n{new}>>>>>>> REPLACE\n```\n"
