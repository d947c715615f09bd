"""Extract a function from lines: what they read becomes its parameters, what they set its results."""

import ast
import io
import re
import tokenize
from collections.abc import Sequence

from kith.core.errors import UsageError
from kith.features.refactor.syntax.blocks import block_of
from kith.features.refactor.syntax.codebase import Codebase, Refactoring
from kith.features.refactor.syntax.region import (
    Function,
    Region,
    Traffic,
    check_leaving,
    find_region,
    find_traffic,
)
from kith.features.refactor.syntax.scopes import Names, all_arguments
from kith.features.refactor.syntax.source import Source, Splice, apply_splices
from kith.features.refactor.syntax.statements import WIDTH
from kith.features.refactor.syntax.targets import check_name, instance_names


def extract(code: Codebase, path: str, first: int, last: int, name: str) -> Refactoring:
    """Make the lines a function called `name`, and call it in their place.

    Lines of a method that use its object become a method beside it, others a function above. Raises
    UsageError with one sentence: not whole statements, a return, yield, break or continue that would lose
    its meaning, a variable that may have no value, a name that is taken.
    """
    check_name(name)
    names = code.names(path)
    region = find_region(names, first, last)
    check_leaving(names, region)
    traffic = find_traffic(names, region)
    owner = _first_argument(names, region) if _is_method(region) else ""
    bound = owner if owner in traffic.takes or _says_super(region) else ""
    _check_free(names, region, name, bound)
    source = names.source
    body = _lines(source, region)
    indent = re.match(r"[ \t]*", source.text[source.line_start(region.statements[0].lineno) :])
    assert indent
    call = _call(region, traffic, name, bound)
    splices = [
        Splice(*body, indent[0] + call + source.newline),
        _definition(source, region, traffic, name, bound, indent[0]),
    ]
    return Refactoring({path: apply_splices(source, splices)})


def _is_method(region: Region) -> bool:
    scope = region.scope.parent
    return scope is not None and scope.kind == "class"


def _first_argument(names: Names, region: Region) -> str:
    """`self` or `cls`; "" for a static method."""
    arguments = region.function.args
    first = [*arguments.posonlyargs, *arguments.args][:1]
    bound = [each for each in names.of(region.scope, first[0].arg) if each.how == "bind"] if first else []
    return first[0].arg if len(bound) == 1 and "staticmethod" not in _decorators(region.function) else ""


def _decorators(function: Function) -> set[str]:
    return {ast.unparse(each) for each in function.decorator_list}


def _says_super(region: Region) -> bool:
    words = {node.id for each in region.statements for node in ast.walk(each) if isinstance(node, ast.Name)}
    return bool(words & {"super", "__class__"})


def _check_free(names: Names, region: Region, name: str, bound: str) -> None:
    path = names.source.path
    method = region.scope.parent if bound else None
    if method and (name in method.bound or name in instance_names(method)):
        raise UsageError(f"{path}: {method.name} has a {name} already.")
    if not bound and any(name in scope.bound for scope in region.scope.up()):
        raise UsageError(f"{path}: {name} is already a name there.")
    if not bound and any(scope.kind == "class" for scope in region.scope.up()):
        for each in region.statements:
            for node in ast.walk(each):
                word = getattr(node, "attr", getattr(node, "id", ""))
                if isinstance(word, str) and word.startswith("__") and not word.endswith("__"):
                    line = getattr(node, "lineno", 0)
                    raise UsageError(f"{path}:{line}: {word} is known inside its class only.")


# --- the text --------------------------------------------------------------------------------


def _lines(source: Source, region: Region) -> tuple[int, int]:
    """The offsets of the lines, without blank ones at both ends."""
    first, last = region.first, region.last
    while not source.text[source.line_start(first) : source.line_start(first + 1)].strip():
        first += 1
    while not source.text[source.line_start(last) : source.line_start(last + 1)].strip():
        last -= 1
    return source.line_start(first), source.line_start(last + 1)


def _is_async(region: Region) -> bool:
    kinds = ast.Await | ast.AsyncFor | ast.AsyncWith
    return any(isinstance(node, kinds) for each in region.statements for node in ast.walk(each))


def _call(region: Region, traffic: Traffic, name: str, bound: str) -> str:
    arguments = ", ".join(each for each in traffic.takes if each != bound)
    call = f"{'await ' if _is_async(region) else ''}{bound + '.' if bound else ''}{name}({arguments})"
    if isinstance(region.statements[-1], ast.Return):
        return f"return {call}"
    return f"{', '.join(traffic.gives)} = {call}" if traffic.gives else call


def _definition(source: Source, region: Region, traffic: Traffic, name: str, bound: str, old: str) -> Splice:
    """The new function: above the one around it, or as a method behind it."""
    function, newline = region.function, source.newline
    outer = " " * function.col_offset if bound else ""
    unit = _unit(source, function)
    start, end = _lines(source, region)
    rows = [
        outer + decorator
        for decorator in ("@classmethod",)
        if bound and "classmethod" in _decorators(function)
    ]
    rows += [outer + row for row in _signature(source, region, traffic, name, bound, unit)]
    text = "".join(row + newline for row in rows) + _shift(source, start, end, old, outer + unit)
    if traffic.gives:
        text = (
            text if text.endswith(("\n", "\r")) else text + newline
        ) + f"{outer}{unit}return {', '.join(traffic.gives)}{newline}"
    if bound:
        assert function.end_lineno
        at = source.line_start(function.end_lineno + 1)
        before = "" if source.text[:at].endswith(("\n", "\r")) else newline
        return Splice(at, at, before + newline + text)
    top = next(each for each in source.tree.body if each.lineno <= function.lineno <= (each.end_lineno or 0))
    at = block_of(source, top).start
    return Splice(at, at, text + newline * 2)


def _unit(source: Source, function: Function) -> str:
    """One step of indentation, as the function's body has it."""
    line = source.text[source.line_start(function.body[0].lineno) :]
    indent = re.match(r"[ \t]*", line)
    assert indent
    return indent[0][function.col_offset :] or "    "


def _signature(
    source: Source, region: Region, traffic: Traffic, name: str, bound: str, unit: str
) -> Sequence[str]:
    known = {each.arg: each.annotation for each in all_arguments(region.function.args)}
    plain = {region.function.args.vararg, region.function.args.kwarg}
    for each in plain:
        if each:
            known.pop(each.arg, None)
    first = [bound] if bound else []
    parameters = first + [each for each in traffic.takes if each != bound]
    written = [f"{each}: {source.cut(hint)}" if (hint := known.get(each)) else each for each in parameters]
    start = f"{'async ' if _is_async(region) else ''}def {name}("
    end = f"){_result(source, region, traffic)}:"
    line = start + ", ".join(written) + end
    if len(line) <= WIDTH or not written:
        return [line]
    return (
        [start, unit + ", ".join(written), end]
        if len(", ".join(written)) < WIDTH - 8
        else [start, *(f"{unit}{each}," for each in written), end]
    )


def _result(source: Source, region: Region, traffic: Traffic) -> str:
    """The annotation of the result, where the function around has one that says it."""
    whole = region.function.returns
    if whole is None:
        return ""
    if isinstance(region.statements[-1], ast.Return):
        return f" -> {source.cut(whole)}"
    return "" if traffic.gives else " -> None"


def _shift(source: Source, start: int, end: int, old: str, new: str) -> str:
    """The lines with another indentation; what stands inside a string stays as it is."""
    fixed = {
        line
        for token in tokenize.generate_tokens(io.StringIO(source.text, newline="").readline)
        if token.type == tokenize.STRING or tokenize.tok_name[token.type] == "FSTRING_MIDDLE"
        for line in range(token.start[0] + 1, token.end[0] + 1)
    }
    rows = []
    for line in range(source.line_of(start), source.line_of(end - 1) + 1):
        row = source.text[source.line_start(line) : source.line_start(line + 1)]
        rows.append(
            new + row.removeprefix(old) if row.startswith(old) and row.strip() and line not in fixed else row
        )
    return "".join(rows)
