"""Keyword arguments: where a call names the parameter that gets another name."""

import ast
from posixpath import splitext

from kith.core.errors import UsageError
from kith.features.refactor.syntax.codebase import Codebase
from kith.features.refactor.syntax.definitions import Meaning, calls_in, meaning_of
from kith.features.refactor.syntax.marks import Marks, mark
from kith.features.refactor.syntax.scopes import Scope


def mark_keywords(code: Codebase, path: str, function: Scope, old: str, new: str, marks: Marks) -> None:
    """`f(old=1)` becomes `f(new=1)` wherever `f` is certainly this function.

    Raises UsageError for a keyword of that name in a call of something that may be it.
    """
    method = function.parent is not None and function.parent.kind == "class"
    called = function.name.rpartition(".")[2]
    wanted = {Meaning(path, function.name)}
    if method and called == "__init__":
        wanted.add(Meaning(path, splitext(function.name)[0]))
    for other in code.holding(old):
        source = code.source(other)
        for call, scope in calls_in(code, other):
            keyword = next((each for each in call.keywords if each.arg == old), None)
            if keyword is None:
                continue
            start = source.span(keyword)[0]
            bound = call.args[:1] if source.cut(call.func).rpartition(".")[2] == "partial" else [call.func]
            if any(meaning_of(code, other, each, scope) in wanted for each in bound):
                mark(source, start, old, new, marks)
            elif method and isinstance(call.func, ast.Attribute) and call.func.attr == called:
                words = f"this call names {old}, and it may or may not be one of {function.name}"
                raise UsageError(f"{source.say(start)}: {words}.")
