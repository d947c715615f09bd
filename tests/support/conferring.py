"""What the members of a small council say."""

import json
from pathlib import Path
from typing import Any

TEST = "python3 -m unittest -q tests.test_utils"


RIGHT = f"approach: Divide by the length in mean.\nfiles: utils.py\nsymbols: mean\nprobe: {TEST}\nends: fails"


OTHER = "approach: Let clamp take floats.\nfiles: utils.py\nsymbols: clamp"


NONE = "claim: none"


AT_CLAMP = "claim: clamp is fine as it is\nat: utils.py:11\nquote: return max(low, min(number, high))"


MEND = {
    "calls": [
        {
            "name": "edit",
            "args": {
                "path": "utils.py",
                "old": "    return sum(numbers) / (len(numbers) + 1)",
                "new": "    return sum(numbers) / len(numbers) if numbers else 0",
            },
        }
    ]
}


def play(folder: Path, **scripts: Any) -> str:
    """The models of `--models`, each with what it says in turn."""
    for name, replies in scripts.items():
        (folder.parent / f"{name}.json").write_text(json.dumps(replies))
    return ",".join(f"replay/{folder.parent / name}.json" for name in scripts)
