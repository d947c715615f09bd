"""Extract a function from lines: what they read becomes its parameters, what they set its results."""

import ast
import io
import re
import tokenize
from collections.abc import Sequence

from msgspec import Struct

from kith.core.errors import UsageError
from kith.features.refactor.syntax.blocks import block_of, first_line
from kith.features.refactor.syntax.codebase import Codebase, Refactoring
from kith.features.refactor.syntax.flow import AssignmentFlow, bodies_of, needed_by
from kith.features.refactor.syntax.import_statements import WIDTH, is_alone
from kith.features.refactor.syntax.scopes import (
    Mention,
    ModuleNames,
    NameScope,
    all_arguments,
    check_name,
    find_owner,
    instance_names,
    own_nodes,
)
from kith.features.refactor.syntax.source import PythonSource, Splice, apply_splices

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef


class Region(Struct, frozen=True):
    """Statements in a row, the function around them, and the blocks between the two, outermost first."""

    function: FunctionNode
    scope: NameScope
    statements: Sequence[ast.stmt]
    around: Sequence[tuple[ast.AST, Sequence[ast.stmt]]]
    first: int
    last: int

    def holds(self, mention: Mention) -> bool:
        return self.first <= getattr(mention.node, "lineno", 0) <= self.last


class Traffic(Struct, frozen=True):
    """The names that a region takes in, and those that it gives back."""

    takes: tuple[str, ...]
    gives: tuple[str, ...]


def find_region(names: ModuleNames, first: int, last: int) -> Region:
    """The whole statements between two lines. Raises UsageError when lines cut one, or are in no function."""
    source = names.source
    where = f"{source.path}:{first}-{last}"
    around: list[tuple[ast.AST, Sequence[ast.stmt]]] = []
    node: ast.AST = source.tree
    statements: list[ast.stmt] = []
    while not statements:
        for body in bodies_of(node):
            inside = [each for each in body if first <= first_line(each) and (each.end_lineno or 0) <= last]
            cut = [each for each in body if _overlap(each, first, last) and each not in inside]
            if inside and not cut:
                statements, around = inside, [*around, (node, body)]
                break
            if len(cut) == 1 and not inside and bodies_of(cut[0]):
                around.append((node, body))
                node = cut[0]
                break
            if cut:
                raise UsageError(f"{where} cuts the statement of line {cut[0].lineno} in two.")
        else:
            raise UsageError(f"{where} holds no whole statements.")
    if not all(is_alone(source, each) for each in (statements[0], statements[-1])):
        raise UsageError(f"{where}: several statements are on one line.")
    functions = [each for each, _ in around if isinstance(each, FunctionNode)]
    if not functions:
        raise UsageError(f"{where} is not inside a function.")
    inner = around[[each for each, _ in around].index(functions[-1]) :]
    return Region(functions[-1], names.scopes[functions[-1]], statements, inner, first, last)


def _overlap(statement: ast.stmt, first: int, last: int) -> bool:
    return first_line(statement) <= last and first <= (statement.end_lineno or 0)


def check_leaving(names: ModuleNames, region: Region) -> None:
    """Raises UsageError for what cannot go on in another function."""
    where = names.source.path
    ends = region.statements[-1]
    for node in own_nodes(list(region.statements)):
        line = getattr(node, "lineno", 0)
        if isinstance(node, ast.Yield | ast.YieldFrom):
            raise UsageError(f"{where}:{line}: a yield belongs to its function.")
        if isinstance(node, ast.Return) and node is not ends:
            raise UsageError(f"{where}:{line}: a return in the middle would leave the new function only.")
        if isinstance(node, ast.Global | ast.Nonlocal):
            raise UsageError(f"{where}:{line}: a {type(node).__name__.lower()} statement cannot be moved.")
        if isinstance(node, ast.Break | ast.Continue) and not _has_loop(region.statements, node):
            raise UsageError(
                f"{where}:{line}: the loop of this {type(node).__name__.lower()} is not in these lines."
            )
    for mention in names.mentions:
        if not region.holds(mention) or region.scope not in mention.scope.up():
            continue
        owner, line = find_owner(mention.scope, mention.name), getattr(mention.node, "lineno", 0)
        if mention.how == "delete":
            raise UsageError(f"{where}:{line}: del {mention.name} cannot be moved.")
        if mention.how == "bind" and mention.scope is region.scope and owner is not region.scope:
            raise UsageError(
                f"{where}:{line}: {mention.name} is not a variable of this function, but it is set here."
            )
        if owner is None and mention.name in ("locals", "vars", "exec", "eval"):
            raise UsageError(f"{where}:{line}: {mention.name}() sees the variables of its function.")


def _has_loop(statements: Sequence[ast.stmt], jump: ast.AST) -> bool:
    loops = [
        node
        for each in statements
        for node in ast.walk(each)
        if isinstance(node, ast.For | ast.AsyncFor | ast.While)
    ]
    return any(jump in set(ast.walk(part)) for loop in loops for part in loop.body)


def find_traffic(names: ModuleNames, region: Region) -> Traffic:
    """Find the names that go in and out. Raises UsageError for one that may have no value then."""
    scope = region.scope
    own = [each for each in names.mentions if find_owner(each.scope, each.name) is scope]
    flow = AssignmentFlow(names, scope)
    arguments = frozenset(each.name for each in own if isinstance(each.node, ast.arg) and each.how == "bind")
    flow.walk(region.function.body, arguments)
    before = flow.reached.get(region.statements[0], frozenset())
    outside = {each.name for each in own if each.how == "bind" and not region.holds(each)}
    takes = needed_by(names, scope, region.statements) & outside
    gives = {each.name for each in own if each.how == "bind" and region.holds(each)} & _read_after(
        names, region, own
    )
    after = AssignmentFlow(names, scope).walk(region.statements, frozenset(takes) & before)
    if after is not None:
        takes |= {name for name in gives if name not in after and name in outside}
    for name in sorted(takes - before):
        raise UsageError(
            f"{names.source.path}:{region.first}: {name} may have no value yet when this line is reached."
        )
    for name in sorted(gives - takes - (after or gives)):
        raise UsageError(
            f"{names.source.path}:{region.last}: {name} may have no value at the end of these lines."
        )
    _check_closures(names, region, own)
    _check_nonlocals(names, region)
    taken = _outer_names(names, region) | takes
    here = [each for each in names.mentions if region.holds(each)]
    order = {each.name: each.start for each in sorted(here, key=lambda each: -each.start)}
    given = () if after is None else tuple(sorted(gives, key=order.__getitem__))
    return Traffic(tuple(sorted(taken, key=order.__getitem__)), given)


def _outer_names(names: ModuleNames, region: Region) -> set[str]:
    """The names that the region reads of functions further out."""
    found = set()
    for each in names.mentions:
        if region.holds(each) and region.scope in each.scope.up():
            owner = find_owner(each.scope, each.name)
            if (
                owner
                and owner is not region.scope
                and owner.kind == "function"
                and owner in region.scope.up()
            ):
                found.add(each.name)
    return found


def _read_after(names: ModuleNames, region: Region, own: Sequence[Mention]) -> set[str]:
    """The names of the function that may be read once the region is over."""
    found = {each.name for each in own if each.scope is not region.scope and not region.holds(each)}
    rest: list[ast.stmt] = []
    inner: ast.stmt = region.statements[-1]
    for node, body in reversed(region.around):
        rest += body[list(body).index(inner) + 1 :]
        if isinstance(node, ast.For | ast.AsyncFor | ast.While) and inner in node.body:
            found |= needed_by(
                names, region.scope, [*body, *([ast.Expr(node.test)] if isinstance(node, ast.While) else [])]
            )
        if isinstance(node, ast.Try):
            parts = [
                *node.finalbody,
                *(each for handler in node.handlers for each in handler.body),
                *node.orelse,
            ]
            for part in parts:
                found |= needed_by(names, region.scope, [part])
        if isinstance(node, ast.stmt):
            inner = node
    return found | needed_by(names, region.scope, rest)


def _check_closures(names: ModuleNames, region: Region, own: Sequence[Mention]) -> None:
    """Raises UsageError for an inner function that would no longer see a variable change."""
    for each in own:
        if each.scope is region.scope or each.scope.kind == "inner" or not region.holds(each):
            continue
        later = [
            other
            for other in own
            if other.name == each.name
            and other.how == "bind"
            and not isinstance(other.node, ast.arg)
            and not region.holds(other)
            and getattr(other.node, "lineno", 0) > region.last
        ]
        if later:
            line = getattr(each.node, "lineno", 0)
            raise UsageError(
                f"{names.source.path}:{line}: an inner function here sees {each.name}, which changes later."
            )


def _check_nonlocals(names: ModuleNames, region: Region) -> None:
    """Raises UsageError for an inner function that sets a variable which lives outside the lines."""
    for each in names.mentions:
        owner = find_owner(each.scope, each.name)
        if each.how != "declare" or owner is None or owner.kind != "function" or not region.holds(each):
            continue
        mentions = names.of(owner, each.name)
        if owner in region.scope.up() and not all(region.holds(other) for other in mentions):
            line = getattr(each.node, "lineno", 0)
            what = f"an inner function here sets {each.name}, a variable of {owner.name}"
            raise UsageError(f"{names.source.path}:{line}: {what}.")


# --- the extraction --------------------------------------------------------------------------


def extract(code: Codebase, path: str, first: int, last: int, name: str) -> Refactoring:
    """Make the lines a function called `name`, and call it in their place.

    Lines of a method that use its object become a method beside it, others a function above. Raises
    UsageError for a name that is taken, a variable that may have no value, and lines that are no whole
    statements. It also does for a return, yield, break or continue that would lose its meaning.
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


def _first_argument(names: ModuleNames, region: Region) -> str:
    """`self` or `cls`; "" for a static method."""
    arguments = region.function.args
    first = [*arguments.posonlyargs, *arguments.args][:1]
    bound = [each for each in names.of(region.scope, first[0].arg) if each.how == "bind"] if first else []
    return first[0].arg if len(bound) == 1 and "staticmethod" not in _decorators(region.function) else ""


def _decorators(function: FunctionNode) -> set[str]:
    return {ast.unparse(each) for each in function.decorator_list}


def _says_super(region: Region) -> bool:
    words = {node.id for each in region.statements for node in ast.walk(each) if isinstance(node, ast.Name)}
    return bool(words & {"super", "__class__"})


def _check_free(names: ModuleNames, region: Region, name: str, bound: str) -> None:
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


def _lines(source: PythonSource, region: Region) -> tuple[int, int]:
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


def _definition(
    source: PythonSource, region: Region, traffic: Traffic, name: str, bound: str, old: str
) -> Splice:
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


def _unit(source: PythonSource, function: FunctionNode) -> str:
    """One step of indentation, as the function's body has it."""
    line = source.text[source.line_start(function.body[0].lineno) :]
    indent = re.match(r"[ \t]*", line)
    assert indent
    return indent[0][function.col_offset :] or "    "


def _signature(
    source: PythonSource, region: Region, traffic: Traffic, name: str, bound: str, unit: str
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


def _result(source: PythonSource, region: Region, traffic: Traffic) -> str:
    """The annotation of the result, where the function around has one that says it."""
    whole = region.function.returns
    if whole is None:
        return ""
    if isinstance(region.statements[-1], ast.Return):
        return f" -> {source.cut(whole)}"
    return "" if traffic.gives else " -> None"


def _shift(source: PythonSource, start: int, end: int, old: str, new: str) -> str:
    """The lines with another indentation; text inside a string stays as it is."""
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
