"""Lines of a function as whole statements, and what they have to do with the rest of it."""

import ast
from collections.abc import Sequence
from dataclasses import dataclass

from kith.core.errors import UsageError
from kith.features.refactor.syntax.blocks import first_line
from kith.features.refactor.syntax.flow import Flow, bodies_of, needed_by
from kith.features.refactor.syntax.scopes import Mention, Names, Scope, find_owner, own_nodes
from kith.features.refactor.syntax.statements import is_alone

Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True, slots=True)
class Region:
    """Statements in a row, the function around them, and the blocks between the two, outermost first."""

    function: Function
    scope: Scope
    statements: Sequence[ast.stmt]
    around: Sequence[tuple[ast.AST, Sequence[ast.stmt]]]
    first: int
    last: int

    def holds(self, mention: Mention) -> bool:
        return self.first <= getattr(mention.node, "lineno", 0) <= self.last


@dataclass(frozen=True, slots=True)
class Traffic:
    """The names that a region takes in, and those that it gives back."""

    takes: tuple[str, ...]
    gives: tuple[str, ...]


def find_region(names: Names, first: int, last: int) -> Region:
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
        raise UsageError(f"{where}: several statements stand in one line.")
    functions = [each for each, _ in around if isinstance(each, Function)]
    if not functions:
        raise UsageError(f"{where} is not inside a function.")
    inner = around[[each for each, _ in around].index(functions[-1]) :]
    return Region(functions[-1], names.scopes[functions[-1]], statements, inner, first, last)


def _overlap(statement: ast.stmt, first: int, last: int) -> bool:
    return first_line(statement) <= last and first <= (statement.end_lineno or 0)


def check_leaving(names: Names, region: Region) -> None:
    """Raises UsageError for what cannot go on in another function."""
    where = names.source.path
    ends = region.statements[-1]
    for node in own_nodes(list(region.statements)):
        line = getattr(node, "lineno", 0)
        if isinstance(node, ast.Yield | ast.YieldFrom):
            raise UsageError(f"{where}:{line}: a yield belongs to the function that it stands in.")
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
            raise UsageError(
                f"{where}:{line}: {mention.name}() sees the variables of the function it stands in."
            )


def _has_loop(statements: Sequence[ast.stmt], jump: ast.AST) -> bool:
    loops = [
        node
        for each in statements
        for node in ast.walk(each)
        if isinstance(node, ast.For | ast.AsyncFor | ast.While)
    ]
    return any(jump in set(ast.walk(part)) for loop in loops for part in loop.body)


def find_traffic(names: Names, region: Region) -> Traffic:
    """What goes in and out. Raises UsageError where a name may have no value when it would be handed over."""
    scope = region.scope
    own = [each for each in names.mentions if find_owner(each.scope, each.name) is scope]
    flow = Flow(names, scope)
    arguments = frozenset(each.name for each in own if isinstance(each.node, ast.arg) and each.how == "bind")
    flow.walk(region.function.body, arguments)
    before = flow.reached.get(region.statements[0], frozenset())
    outside = {each.name for each in own if each.how == "bind" and not region.holds(each)}
    takes = needed_by(names, scope, region.statements) & outside
    gives = {each.name for each in own if each.how == "bind" and region.holds(each)} & _read_after(
        names, region, own
    )
    after = Flow(names, scope).walk(region.statements, frozenset(takes) & before)
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
    taken = _outer_names(names, region) | takes
    here = [each for each in names.mentions if region.holds(each)]
    order = {each.name: each.start for each in sorted(here, key=lambda each: -each.start)}
    given = () if after is None else tuple(sorted(gives, key=order.__getitem__))
    return Traffic(tuple(sorted(taken, key=order.__getitem__)), given)


def _outer_names(names: Names, region: Region) -> set[str]:
    """What the region reads of functions further out."""
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


def _read_after(names: Names, region: Region, own: Sequence[Mention]) -> set[str]:
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
            found |= needed_by(names, region.scope, [])
            for part in parts:
                found |= needed_by(names, region.scope, [part])
        if isinstance(node, ast.stmt):
            inner = node
    return found | needed_by(names, region.scope, rest)


def _check_closures(names: Names, region: Region, own: Sequence[Mention]) -> None:
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
