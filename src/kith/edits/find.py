"""Finding the edits in a reply, whichever form the model chose."""

import re
from collections.abc import Callable, Collection
from dataclasses import replace
from typing import Final

from kith.edits.blocks import BLOCK, parse_blocks
from kith.edits.forms import Edit, EditError, Patch, Replace
from kith.edits.patch import PATCH, parse_patch
from kith.edits.unified import UNIFIED, parse_unified
from kith.edits.whole import parse_whole

_Parser = Callable[[list[str], Collection[str]], list[Edit]]
_FORMS: Final[tuple[tuple[re.Pattern[str], _Parser], ...]] = (
    (PATCH, parse_patch),
    (BLOCK, parse_blocks),
    (UNIFIED, parse_unified),
)
_COMPLETE = ("stop", "end")
CUT = "Your reply was cut before its end, so nothing was changed. Send the edits again, fewer at a time."


def find_edits(text: str, known: Collection[str] = (), finish_reason: str = "stop") -> tuple[Edit, ...]:
    """The edits in a reply; () when it holds none.

    `known` are the files that the model was shown: a name is looked up there first, and edits that name
    no file mean the only one. Raises EditError, a letter to the model, when a form is begun but broken,
    and when the reply was cut (`finish_reason` other than "stop" or "end") and holds edits.
    """
    lines, known = _lines(text), frozenset(known)
    text = "\n".join(lines)
    begun = [(match.start(), parse) for pattern, parse in _FORMS if (match := pattern.search(text))]
    parse = min(begun, key=lambda pair: pair[0])[1] if begun else parse_whole
    if finish_reason not in _COMPLETE:
        if begun or _holds_edits(lines, known):
            raise EditError(CUT)
        return ()
    return tuple(_with_known_path(edit, known) for edit in parse(lines, known))


def _holds_edits(lines: list[str], known: Collection[str]) -> bool:
    try:
        return bool(parse_whole(lines, known))
    except EditError:
        return True


def _lines(text: str) -> list[str]:
    """The reply's lines; carriage returns are dropped where every line has one."""
    lines = text.removesuffix("\n").split("\n")
    said = [line for line in lines if line]
    if said and all(line.endswith("\r") for line in said):
        return [line.removesuffix("\r") for line in lines]
    return lines


def _with_known_path(edit: Edit, known: Collection[str]) -> Edit:
    """An edit of existing text, under the name by which its file is known, if only one can be meant."""
    edits_text = (isinstance(edit, Replace) and edit.old) or (
        isinstance(edit, Patch) and any(hunk.old for hunk in edit.hunks)
    )
    if not edits_text or edit.path in known:
        return edit
    wanted = edit.path.replace("\\", "/").removeprefix("./")
    meant = [path for path in known if path == wanted or path.endswith("/" + wanted)]
    return replace(edit, path=meant[0]) if len(meant) == 1 else edit
