"""Finding the edits in a reply, whichever form the model chose."""

import re
from collections.abc import Collection, Sequence
from functools import partial
from typing import Final, Literal, get_args

from msgspec.structs import replace

from kith.edits.arguments import ARGUMENTS, bare_json, parse_arguments
from kith.edits.blocks import BLOCK, parse_blocks
from kith.edits.edit_types import Edit, EditError, Patch, Replace, Whole
from kith.edits.patch import PATCH, parse_patch
from kith.edits.paths import check_path
from kith.edits.unified import UNIFIED, parse_unified
from kith.edits.whole import parse_whole

Form = Literal["auto", "search-replace", "unified", "patch", "whole", "tool"]
FORMS: tuple[Form, ...] = get_args(Form)

_MARKS: Final[dict[Form, re.Pattern[str]]] = {"patch": PATCH, "search-replace": BLOCK, "unified": UNIFIED}
_WORDS: Final[dict[Form, str]] = {"patch": "*** ", "search-replace": "SEARCH", "unified": ""}
_COMPLETE = ("stop", "end", "")
CUT = "Your reply was cut before its end, so nothing was changed. Send the edits again, fewer at a time."


def find_edits(
    text: str,
    known: Collection[str] = (),
    finish_reason: str = "",
    form: Form = "auto",
    path: str = "",
) -> tuple[Edit, ...]:
    """Find the edits in a reply; () when it holds none.

    `known` are the files that the model was shown. A name is looked up there first, and edits without a name
    mean the only one. `path` is the file that the reply is about, where the caller knows it; edits that name
    no known file mean it. Raises EditError, a message to the model, when a form is begun but broken. It also
    raises it when a cut reply holds edits (`finish_reason` other than "stop", "end" or "": not known).
    """
    known = frozenset(known)
    about = path or (next(iter(known)) if len(known) == 1 else "")
    lines = _lines(text)
    if finish_reason not in _COMPLETE:
        if _is_begun(lines, known, about, form):
            raise EditError(CUT)
        return ()
    edits = _read(lines, known, about, form, whole=finish_reason != "")
    return tuple(_with_known_path(edit, known, path) for edit in edits)


def _lines(text: str) -> list[str]:
    """The reply's lines; carriage returns are dropped where every line has one."""
    lines = text.removesuffix("\n").split("\n")
    if "\r" in text and all(line.endswith("\r") for line in lines if line):
        return [line.removesuffix("\r") for line in lines]
    return lines


def _read(lines: list[str], known: Collection[str], about: str, form: Form, whole: bool) -> Sequence[Edit]:
    """The edits in one form; of several that are begun, the first is meant."""
    text = "\n".join(lines)
    if form == "tool" or (form == "auto" and ARGUMENTS.match(bare_json(text))):
        inner = partial(_read_inside, known=known, whole=whole)
        return parse_arguments(bare_json(text), about, inner)
    if form == "whole":
        return parse_whole(lines, known, about, mentions=True)
    wanted = _MARKS if form == "auto" else (form,)
    begun = {each: match.start() for each in wanted if (match := _mark(text, each))}
    match min(begun, key=lambda each: begun[each], default=form):
        case first if not begun:
            return parse_whole(lines, known) if first == "auto" else ()
        case "patch":
            return parse_patch(lines, known)
        case "unified":
            return parse_unified(lines, known, about, whole)
        case _:
            return parse_blocks(lines, known, about)


def _mark(text: str, form: Form) -> re.Match[str] | None:
    """Find the start of a form. A word that its mark contains is searched first, since that is fast."""
    return _MARKS[form].search(text) if _WORDS[form] in text else None


def _read_inside(text: str, about: str, known: Collection[str], whole: bool) -> Sequence[Edit]:
    """A patch that is the argument of a tool."""
    edits = _read(_lines(text), known, about, "auto", whole)
    if not edits:
        raise EditError("The patch in the arguments is in no form that is understood.")
    return [_with_known_path(edit, known, about) for edit in edits]


def _is_begun(lines: list[str], known: Collection[str], about: str, form: Form) -> bool:
    """True if a cut reply holds edits, or the beginning of one."""
    text = "\n".join(lines)
    if form == "tool" or any(_mark(text, each) for each in _MARKS):
        return True
    if ARGUMENTS.match(re.sub(r"\A\s*```\w*", "", text)):
        return True
    try:
        return bool(parse_whole(lines, known, about, mentions=form == "whole"))
    except EditError:
        return True


def _with_known_path(edit: Edit, known: Collection[str], path: str) -> Edit:
    """An edit of existing text, under the name by which its file is known, if only one can be meant."""
    if edit.path in known or not isinstance(edit, Replace | Patch | Whole):
        return edit
    bare = edit.path.removeprefix("path/to/")  # what prompts write for "some folder", and models repeat
    if bare in known and not any(each.startswith("path/to/") for each in known):
        return replace(edit, path=bare)
    if isinstance(edit, Whole):
        return edit
    if edit.old if isinstance(edit, Replace) else any(hunk.old for hunk in edit.hunks):
        wanted = edit.path.replace("\\", "/").removeprefix("./")
        meant = [each for each in known if each == wanted or each.endswith("/" + wanted)]
        if len(meant) == 1:
            return replace(edit, path=meant[0])
    return replace(edit, path=path) if path and check_path(edit.path) else edit
