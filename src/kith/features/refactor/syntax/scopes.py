"""Bind names to scopes: the scopes of a Python file, and every place of a name."""

import ast
import difflib
import keyword
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, Literal

from msgspec import Struct, field

from kith.core.errors import UsageError
from kith.features.refactor.syntax.source import PythonSource

Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
How = Literal["bind", "read", "delete", "declare", "text"]


class NameScope(Struct, eq=False):
    """A module, class, function, lambda or comprehension, and the names that belong to it."""

    kind: Literal["module", "class", "function", "inner"]
    node: ast.AST
    parent: "NameScope | None"
    name: str
    bound: set[str] = field(default_factory=set)
    elsewhere: dict[str, Literal["global", "nonlocal"]] = field(default_factory=dict)

    def up(self) -> Iterator["NameScope"]:
        """This scope and all around it, innermost first."""
        scope: NameScope | None = self
        while scope is not None:
            yield scope
            scope = scope.parent


class Mention(Struct, frozen=True):
    """A name at a place: its use, its node, and its scope.

    `start` is -1 where the place cannot be told (an f-string of an old parser).
    """

    name: str
    start: int
    how: How
    node: ast.AST
    scope: NameScope


class ModuleNames(Struct, frozen=True):
    """All names of one file."""

    source: PythonSource
    module: NameScope
    scopes: Mapping[ast.AST, NameScope]
    mentions: tuple[Mention, ...]
    by_name: Mapping[str, Sequence[Mention]]

    def of(self, scope: NameScope, name: str) -> tuple[Mention, ...]:
        """Every mention of the name that belongs to this scope, in it or deeper."""
        return tuple(each for each in self.by_name.get(name, ()) if find_owner(each.scope, name) is scope)

    def unknown(self, name: str) -> tuple[Mention, ...]:
        """Every mention of a name that no scope binds: a builtin, or a name of a star import."""
        return tuple(each for each in self.by_name.get(name, ()) if find_owner(each.scope, name) is None)


def find_owner(scope: NameScope, name: str) -> NameScope | None:
    """The scope that a name in `scope` means; None when no scope binds it."""
    said = scope.elsewhere.get(name)
    around = list(scope.up())
    if said == "global":
        return around[-1]
    if name in scope.bound and said is None:
        return scope
    for outer in around[1:]:
        if outer.kind == "class":
            continue
        if outer.elsewhere.get(name) == "global":
            return around[-1]
        if name in outer.bound and name not in outer.elsewhere and (said is None or outer.kind != "module"):
            return outer
    return None


def bind_names(source: PythonSource) -> ModuleNames:
    """Walk a file once and note every scope and every name."""
    module = NameScope("module", source.tree, None, "")
    walk = _ScopeWalk(source, module)
    walk.visit_all(source.tree.body)
    by_name = defaultdict(list)
    for mention in walk.mentions:
        by_name[mention.name].append(mention)
    return ModuleNames(source, module, walk.scopes, tuple(walk.mentions), by_name)


class _ScopeWalk(ast.NodeVisitor):
    """Visits the nodes in source order, with their scopes."""

    def __init__(self, source: PythonSource, module: NameScope) -> None:
        self.source = source
        self.scope = module
        self.scopes: dict[ast.AST, NameScope] = {source.tree: module}
        self.mentions: list[Mention] = []

    def visit_all(self, nodes: list[ast.AST] | list[ast.stmt] | list[ast.expr]) -> None:
        for node in nodes:
            self.visit(node)

    def _note(self, name: str, start: int, how: How, node: ast.AST, scope: NameScope | None = None) -> None:
        scope = scope or self.scope
        there = self.source.text[start : start + len(name)] == name
        self.mentions.append(Mention(name, start if there else -1, how, node, scope))
        if how in ("bind", "delete"):
            scope.bound.add(name)
            if scope.elsewhere.get(name) == "global":
                list(scope.up())[-1].bound.add(name)

    def _open(self, kind: Literal["class", "function", "inner"], node: ast.AST, name: str) -> NameScope:
        outer = f"{self.scope.name}." if self.scope.name else ""
        scope = NameScope(kind, node, self.scope, outer + name)
        self.scopes[node] = scope
        return scope

    # --- definitions ---------------------------------------------------------------------

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        self.visit_all(node.decorator_list)
        self._note(node.name, name_start(self.source, node), "bind", node)
        self.visit_all([*node.args.defaults, *(each for each in node.args.kw_defaults if each)])
        outer = self._open_parameters(node)
        for argument in all_arguments(node.args):
            self._annotation(argument.annotation)
        self._annotation(node.returns)
        self._body(node, "function", node.args)
        self.scope = outer

    visit_AsyncFunctionDef = visit_FunctionDef

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self.visit_all(node.decorator_list)
        self._note(node.name, name_start(self.source, node), "bind", node)
        outer = self._open_parameters(node)
        self.visit_all([*node.bases, *(keyword.value for keyword in node.keywords)])
        self._body(node, "class")
        self.scope = outer

    def _open_parameters(self, node: Definition) -> NameScope:
        """`def f[T]`: the type parameters are a scope of their own. Returns the scope to go back to."""
        outer, parameters = self.scope, getattr(node, "type_params", [])
        if parameters:
            self.scope = NameScope("function", node, outer, outer.name)
            self.visit_all(parameters)
        return outer

    def _body(
        self, node: Definition, kind: Literal["class", "function"], arguments: ast.arguments | None = None
    ) -> None:
        outer = self.scope
        self.scope = self._open(kind, node, node.name)
        for argument in all_arguments(arguments) if arguments else ():
            self._note(argument.arg, self.source.span(argument)[0], "bind", argument)
        _declare(self.scope, node)
        self.visit_all(node.body)
        self.scope = outer

    def visit_Lambda(self, node: ast.Lambda) -> None:
        self.visit_all([*node.args.defaults, *(each for each in node.args.kw_defaults if each)])
        outer = self.scope
        self.scope = self._open("function", node, "<lambda>")
        for argument in all_arguments(node.args):
            self._note(argument.arg, self.source.span(argument)[0], "bind", argument)
        self.visit(node.body)
        self.scope = outer

    def visit_ListComp(self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp) -> None:
        self.visit(node.generators[0].iter)  # the first one is evaluated outside
        outer = self.scope
        self.scope = self._open("inner", node, "<comprehension>")
        for number, generator in enumerate(node.generators):
            self.visit(generator.target)
            if number:
                self.visit(generator.iter)
            self.visit_all(generator.ifs)
        self.visit_all([node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt])
        self.scope = outer

    visit_SetComp = visit_GeneratorExp = visit_DictComp = visit_ListComp

    # --- names ---------------------------------------------------------------------------

    def visit_Name(self, node: ast.Name) -> None:
        how: How = "bind" if isinstance(node.ctx, ast.Store) else "read"
        self._note(
            node.id, self.source.span(node)[0], "delete" if isinstance(node.ctx, ast.Del) else how, node
        )

    def visit_NamedExpr(self, node: ast.NamedExpr) -> None:
        self.visit(node.value)
        scope = next(each for each in self.scope.up() if each.kind != "inner")
        self._note(node.target.id, self.source.span(node.target)[0], "bind", node.target, scope)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        self._annotation(node.annotation)
        if node.value:
            self.visit(node.value)
        self.visit(node.target)

    def visit_Global(self, node: ast.Global | ast.Nonlocal) -> None:
        start, end = self.source.span(node)
        for name in node.names:
            found = re.compile(rf"\b{name}\b").search(self.source.text, start, end)
            self._note(name, found.start() if found else -1, "declare", node)

    visit_Nonlocal = visit_Global

    def visit_Import(self, node: ast.Import | ast.ImportFrom) -> None:
        for alias in node.names:
            start, end = self.source.span(alias)
            if alias.asname:
                self._note(alias.asname, end - len(alias.asname), "bind", alias)
            elif alias.name != "*":
                self._note(alias.name.partition(".")[0], start, "bind", alias)

    visit_ImportFrom = visit_Import

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> None:
        if node.type:
            self.visit(node.type)
        if node.name and node.type:
            found = re.compile(r"\s+as\s+").search(self.source.text, self.source.span(node.type)[1])
            self._note(node.name, found.end() if found else -1, "bind", node)
        self.visit_all(node.body)

    def visit_MatchAs(self, node: ast.MatchAs | ast.MatchStar) -> None:
        self.generic_visit(node)
        if node.name:
            self._note(node.name, self.source.span(node)[1] - len(node.name), "bind", node)

    visit_MatchStar = visit_MatchAs

    def visit_MatchMapping(self, node: ast.MatchMapping) -> None:
        self.generic_visit(node)
        if node.rest:
            start, end = self.source.span(node)
            found = re.compile(rf"\*\*\s*(?={node.rest}\b)").search(self.source.text, start, end)
            self._note(node.rest, found.end() if found else -1, "bind", node)

    def generic_visit(self, node: ast.AST) -> None:
        name = getattr(node, "name", None)
        if type(node).__name__ in ("TypeVar", "ParamSpec", "TypeVarTuple") and name:
            start = self.source.span(node)[0]
            self._note(name, self.source.text.index(name, start), "bind", node)
        super().generic_visit(node)

    # --- annotations in quotes -----------------------------------------------------------

    def _annotation(self, node: ast.expr | None) -> None:
        """An annotation; text in quotes there is code too."""
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            self._quoted(node)
        elif isinstance(node, ast.Subscript):
            self.visit(node.value)
            outer = ast.unparse(node.value).rpartition(".")[2]
            inner = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
            for number, each in enumerate(inner):
                plain = outer == "Literal" or (outer == "Annotated" and number)
                self.visit(each) if plain else self._annotation(each)
        elif isinstance(node, ast.BinOp):
            self._annotation(node.left)
            self._annotation(node.right)
        elif isinstance(node, ast.List):
            for each in node.elts:
                self._annotation(each)
        elif node is not None:
            self.visit(node)

    def _quoted(self, node: ast.Constant) -> None:
        start, end = self.source.span(node)
        written, text = self.source.text[start:end], str(node.value)
        try:
            tree = ast.parse(text, mode="eval")
        except (SyntaxError, ValueError):
            return
        at = start + 1 if written[1:-1] == text else start + 3 if written[3:-3] == text else -1
        for each in ast.walk(tree):
            if isinstance(each, ast.Name):
                known = at >= 0 and each.lineno == 1
                self._note(each.id, at + each.col_offset if known else -1, "text", node)


_DEFINES: Final = re.compile(r"(?:async[\s\\]+)?(?:def|class)[\s\\]+")


def name_start(source: PythonSource, node: Definition) -> int:
    """The offset of a definition's name."""
    found = _DEFINES.match(source.text, source.span(node)[0])
    return found.end() if found else -1


def all_arguments(arguments: ast.arguments) -> list[ast.arg]:
    """Every parameter of a function, in source order."""
    star = [each for each in (arguments.vararg,) if each]
    last = [each for each in (arguments.kwarg,) if each]
    return [*arguments.posonlyargs, *arguments.args, *star, *arguments.kwonlyargs, *last]


def _declare(scope: NameScope, node: Definition) -> None:
    """Note `global` and `nonlocal` first: they hold for the whole body, wherever they are."""
    for each in own_nodes(node.body):
        if isinstance(each, ast.Global | ast.Nonlocal):
            how: Literal["global", "nonlocal"] = "global" if isinstance(each, ast.Global) else "nonlocal"
            scope.elsewhere |= dict.fromkeys(each.names, how)


def own_nodes(body: list[ast.stmt]) -> Iterator[ast.AST]:
    """The nodes of a body, without those in definitions and lambdas inside it."""
    todo: list[ast.AST] = list(reversed(body))
    while todo:
        node = todo.pop()
        yield node
        if not isinstance(node, Definition | ast.Lambda):
            todo += reversed(list(ast.iter_child_nodes(node)))


# --- the name that a person points at --------------------------------------------------------


class NamedTarget(Struct, frozen=True):
    """A name, and the scope it belongs to: of a class it may also be an attribute that only methods set."""

    scope: NameScope
    name: str


def find_target(names: ModuleNames, dotted: str) -> NamedTarget:
    """The name in a file. Raises UsageError, with the nearest name, when there is none."""
    *outer, name = dotted.split(".")
    scope = names.module
    for part in outer:
        scope = _child(names, scope, part, dotted)
    if name not in scope.bound and not (scope.kind == "class" and name in instance_names(scope)):
        raise _unknown(names, dotted)
    if scope.elsewhere.get(name):
        raise UsageError(
            f"{names.source.path}: {name} is {scope.elsewhere[name]} in {scope.name}, not its own."
        )
    return NamedTarget(scope, name)


def instance_names(scope: NameScope) -> set[str]:
    """The attributes that the methods of a class give to `self`."""
    found = set()
    for method in scope.node.body if isinstance(scope.node, ast.ClassDef) else ():
        if isinstance(method, ast.FunctionDef | ast.AsyncFunctionDef) and method.args.args:
            own = method.args.args[0].arg
            found |= {
                node.attr
                for node in ast.walk(method)
                if isinstance(node, ast.Attribute)
                and isinstance(node.ctx, ast.Store)
                and isinstance(node.value, ast.Name)
                and node.value.id == own
            }
    return found


def check_name(name: str) -> None:
    """Raises UsageError unless a name is a plain Python identifier and no keyword."""
    if not name.isidentifier() or not name.isascii():
        raise UsageError(f"{name!r} is not a plain name in Python.")
    if keyword.iskeyword(name):
        raise UsageError(f"{name} is a keyword of Python.")


def _child(names: ModuleNames, scope: NameScope, part: str, dotted: str) -> NameScope:
    found = [
        each
        for each in names.scopes.values()
        if each.kind in ("class", "function")
        and getattr(each.node, "name", "") == part
        and within(each, scope)
    ]
    if not found:
        raise _unknown(names, dotted)
    if len(found) > 1:
        lines = ", ".join(str(each.node.lineno) for each in found)  # type: ignore[attr-defined]
        raise UsageError(f"{names.source.path} defines {part} several times (lines {lines}).")
    return found[0]


def within(scope: NameScope, outer: NameScope) -> bool:
    """Tell whether a scope lies directly in another; type parameters between them do not count."""
    parent = scope.parent
    while parent is not None and parent is not outer and parent.node is scope.node:
        parent = parent.parent
    return parent is outer


def _unknown(names: ModuleNames, dotted: str) -> UsageError:
    known = {
        f"{scope.name}.{name}" if scope.name else name
        for scope in names.scopes.values()
        if scope.kind in ("module", "class", "function")
        for name in scope.bound
    }
    near = difflib.get_close_matches(dotted, known, 1)
    hint = f"; did you mean {near[0]}?" if near else "."
    return UsageError(f"{names.source.path} has no {dotted}{hint}")
