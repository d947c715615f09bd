"""Edits: what a model wrote becomes changes of files, all of them or none."""

from kith.edits.apply import make_changes, paths_of, replace_text
from kith.edits.autorun import runs_by_itself
from kith.edits.edit_types import (
    Create,
    Delete,
    Edit,
    EditError,
    Hunk,
    Insert,
    NothingToChange,
    Patch,
    Replace,
    ReplaceString,
    Whole,
)
from kith.edits.find import FORMS, Form, find_edits
from kith.edits.hunks import keep_hunks, split_hunks, summarise, unified_diff

__all__ = [
    "FORMS",
    "Create",
    "Delete",
    "Edit",
    "EditError",
    "Form",
    "Hunk",
    "Insert",
    "NothingToChange",
    "Patch",
    "Replace",
    "ReplaceString",
    "Whole",
    "find_edits",
    "keep_hunks",
    "make_changes",
    "paths_of",
    "replace_text",
    "runs_by_itself",
    "split_hunks",
    "summarise",
    "unified_diff",
]
