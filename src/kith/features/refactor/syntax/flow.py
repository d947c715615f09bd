"""Follow which names statements need from around them, and which certainly have a value after them."""

import ast
from collections.abc import Iterable, Mapping, Sequence

from kith.features.refactor.syntax.scopes import Mention, ModuleNames, NameScope, find_owner

Known = frozenset[str]
# What has a value where control goes on; None where it never does.
After = Known | None


class AssignmentFlow:
    """Walks statements in the order in which they run; `needed` collects names read before they have a value.

    After an assignment on every path a name has a value. This is definite assignment, as in chapter 16 of
    the Java Language Specification, without its rules for constants.
    """

    def __init__(self, names: ModuleNames, scope: NameScope) -> None:
        self.needed: set[str] = set()
        self.reached: dict[ast.stmt, Known] = {}
        self._by_node: dict[ast.AST, list[Mention]] = {}
        for each in names.mentions:
            if find_owner(each.scope, each.name) is scope:
                self._by_node.setdefault(each.node, []).append(each)

    def walk(self, statements: Sequence[ast.stmt], known: After) -> After:
        """Go through the statements in order."""
        for statement in statements:
            if known is None:
                return None
            self.reached[statement] = known
            known = self._step(statement, known)
        return known

    def _step(self, node: ast.stmt, known: Known) -> After:
        if isinstance(node, ast.If):
            known = self._read([node.test], known)
            return _meet(self.walk(node.body, known), self.walk(node.orelse, known))
        if isinstance(node, ast.For | ast.AsyncFor):
            known = self._read([node.iter], known)
            self.walk(node.body, self._read([node.target], known))
            return _meet(known, self.walk(node.orelse, known))
        if isinstance(node, ast.While):
            known = self._read([node.test], known)
            self.walk(node.body, known)
            return _meet(known, self.walk(node.orelse, known))
        if isinstance(node, ast.With | ast.AsyncWith):
            return self.walk(node.body, self._read(node.items, known))
        if isinstance(node, ast.Try | ast.TryStar):
            return self._try(node, known)
        if isinstance(node, ast.Match):
            return self._match(node, known)
        known = self._read([node], known)
        ends = isinstance(node, ast.Return | ast.Raise | ast.Break | ast.Continue)
        return None if ends else known

    def _try(self, node: ast.Try | ast.TryStar, known: Known) -> After:
        body = self.walk(node.body, known)
        after = self.walk(node.orelse, body)
        for handler in node.handlers:
            caught = self._read([handler.type] if handler.type else [], known)
            named = caught | {handler.name} if handler.name else caught
            after = _meet(after, self.walk(handler.body, named))
        last = self.walk(node.finalbody, known)
        return None if after is None or last is None else after | last

    def _match(self, node: ast.Match, known: Known) -> After:
        known = self._read([node.subject], known)
        after: After = None
        complete = False
        for case in node.cases:
            matched = self._read([case.pattern, *([case.guard] if case.guard else [])], known)
            after = _meet(after, self.walk(case.body, matched))
            complete = complete or (
                isinstance(case.pattern, ast.MatchAs) and not case.pattern.pattern and not case.guard
            )
        return after if complete else _meet(after, known)

    def _read(self, nodes: Iterable[ast.AST], known: Known) -> Known:
        """Everything in some nodes: reads count before what they bind."""
        bound, gone = set[str](), set[str]()
        for node in nodes:
            for inner in ast.walk(node):
                for mention in self._by_node.get(inner, ()):
                    reads = mention.how in ("read", "delete") or _is_changed(node, inner)
                    if reads and mention.name not in known:
                        self.needed.add(mention.name)
                    if mention.how == "bind":
                        bound.add(mention.name)
                    elif mention.how == "delete":
                        gone.add(mention.name)
        return (known | bound) - gone


def _is_changed(statement: ast.AST, node: ast.AST) -> bool:
    """`name += 1` reads the name that it binds."""
    return isinstance(statement, ast.AugAssign) and statement.target is node


def _meet(one: After, other: After) -> After:
    if one is None or other is None:
        return other if one is None else one
    return one & other


def needed_by(names: ModuleNames, scope: NameScope, statements: Sequence[ast.stmt]) -> set[str]:
    """The names of a scope that statements may read before they give them a value."""
    flow = AssignmentFlow(names, scope)
    flow.walk(statements, frozenset())
    return flow.needed


def bodies_of(node: ast.AST) -> list[list[ast.stmt]]:
    """The blocks of statements directly inside a node."""
    found = [getattr(node, part, []) for part in ("body", "orelse", "finalbody")]
    found += [handler.body for handler in getattr(node, "handlers", [])]
    found += [case.body for case in getattr(node, "cases", [])]
    return [body for body in found if isinstance(body, list) and body]


def parents_of(tree: ast.AST) -> Mapping[ast.AST, ast.AST]:
    """Each node's parent."""
    return {child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}
