"""Write the table of slash commands in docs/conversation.md from their rows.

python tools/command_table.py            # writes the table
python tools/command_table.py --check    # exit code 1 where it is not the one that the rows give
"""

import re
import sys
from pathlib import Path
from typing import Final

from kith.terminal.conversation.slash_commands import groups

PAGE: Final = Path(__file__).parent.parent / "docs" / "conversation.md"
TABLE: Final = re.compile(r"(?<=<!-- tools/command_table\.py -->\n).*?(?=\n\n)", re.DOTALL)


def table() -> str:
    """The commands of each group, features' among them."""
    rows = [
        f"| {group} | `{' '.join(f'/{each.name}' for each in rows)}` |" for group, rows in groups().items()
    ]
    return "\n".join(["| | |", "|---|---|", *rows])


def main() -> int:
    before = PAGE.read_text(encoding="utf-8")
    after = TABLE.sub(lambda found: table(), before)
    if "--check" in sys.argv[1:]:
        return int(before != after)
    PAGE.write_text(after, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
