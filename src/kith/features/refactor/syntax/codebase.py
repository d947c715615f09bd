"""The files that a refactoring may look at, each parsed once, and what it makes of them."""

import ast
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from posixpath import dirname
from typing import TypeVar

from msgspec import Struct, field

from kith.context.python_modules import Modules, find_modules, stem_of
from kith.core.errors import UsageError
from kith.features.refactor.syntax.import_statements import drop_items
from kith.features.refactor.syntax.scopes import Mention, ModuleNames, NameScope, bind_names, find_owner
from kith.features.refactor.syntax.source import PythonSource, Splice, apply_splices, read_source

T = TypeVar("T", bound=ast.AST)


class Refactoring(Struct, frozen=True):
    """New contents of files (None: deleted), and notes for the person."""

    files: Mapping[str, bytes | None]
    notes: tuple[str, ...] = ()


class Codebase(Struct, frozen=True):
    """Python files by their paths, and the paths of all files (of those that are not here, too)."""

    files: Mapping[str, bytes]
    modules: Modules
    _parsed: dict[str, ModuleNames] = field(default_factory=dict)

    @classmethod
    def of(cls, files: Mapping[str, bytes], paths: frozenset[str] = frozenset()) -> "Codebase":
        return cls(files, find_modules(paths | files.keys()))

    def names(self, path: str) -> ModuleNames:
        """A file's names. Raises UsageError when there is no such file or it does not parse."""
        if path not in self._parsed:
            if path not in self.files:
                raise UsageError(f"There is no Python file {path}.")
            self._parsed[path] = bind_names(read_source(path, self.files[path]))
        return self._parsed[path]

    def source(self, path: str) -> PythonSource:
        return self.names(path).source

    def holding(self, word: str) -> Iterator[str]:
        """The paths of the files whose bytes hold a word."""
        pattern = re.compile(rb"(?<![\w\x80-\xff])%s(?![\w\x80-\xff])" % re.escape(word.encode()))
        plain = word.encode()  # most files hold no such bytes at all, and that is seen soonest
        found = (path for path, content in self.files.items() if plain in content and pattern.search(content))
        return iter(sorted(found))

    def rewrite(self, splices: Mapping[str, set[Splice]]) -> dict[str, bytes | None]:
        """The files that splices change, as they become. Raises UsageError for a broken result."""
        made = {path: apply_splices(self.source(path), each) for path, each in splices.items() if each}
        return {path: content for path, content in made.items() if content != self.files[path]}

    # --- what expressions mean ---------------------------------------------------------------

    def module_of(self, path: str, node: ast.expr, scope: NameScope) -> str:
        """The stem of the project's module that an expression in a file means, "" when it means none."""
        if isinstance(node, ast.Attribute):
            outer = self.module_of(path, node.value, scope)
            return (
                (self.modules.inside(outer, node.attr) or self._handed_on(outer, node.attr)) if outer else ""
            )
        if not isinstance(node, ast.Name):
            return ""
        if path.endswith("/__init__.py") and find_owner(scope, node.id) is None:
            return self.modules.inside(dirname(path), node.id)  # what was imported is there by its name
        found = {self._module_bound(path, each) for each in self.bindings(path, node.id, scope)}
        return found.pop() if len(found) == 1 else ""

    def _handed_on(self, stem: str, name: str) -> str:
        """The module that another module's name means, when an import binds it there."""
        file = self.modules.file(stem)
        if file not in self.files or name not in self.names(file).module.bound:
            return ""
        return self.module_of(file, ast.Name(name, ast.Load()), self.names(file).module)

    def bindings(self, path: str, name: str, scope: NameScope) -> list[Mention]:
        """The places where the name, as `scope` sees it, gets its value."""
        names, owner = self.names(path), find_owner(scope, name)
        if owner is None:
            return []
        return [each for each in names.of(owner, name) if each.how == "bind"]

    def _module_bound(self, path: str, mention: Mention) -> str:
        alias = mention.node
        if not isinstance(alias, ast.alias):
            return ""
        statement = self.statement_of(path, alias)
        if isinstance(statement, ast.ImportFrom):
            package = self.modules.imported(path, statement)
            return self.modules.inside(package, alias.name) if package else ""
        return self.modules.find(path, alias.name if alias.asname else mention.name)

    def statement_of(self, path: str, alias: ast.alias) -> ast.Import | ast.ImportFrom:
        """The import that an alias is part of."""
        for statement, _ in self.imports(path):
            if alias in statement.names:
                return statement
        raise KeyError(alias.name)

    def imports(self, path: str) -> list[tuple[ast.Import | ast.ImportFrom, NameScope]]:
        """The imports of a file, each with its scope."""
        names = self.names(path)
        found: list[tuple[ast.Import | ast.ImportFrom, NameScope]] = []
        todo: list[tuple[ast.AST, NameScope]] = [(names.source.tree, names.module)]
        while todo:
            node, scope = todo.pop()
            for child in ast.iter_child_nodes(node):
                if isinstance(child, ast.Import | ast.ImportFrom):
                    found.append((child, scope))
                elif isinstance(child, ast.stmt | ast.ExceptHandler | ast.match_case):
                    todo.append((child, names.scopes.get(child, scope)))
        return sorted(found, key=lambda each: each[0].lineno)

    def nodes(self, path: str, kind: type[T]) -> Iterator[tuple[T, NameScope]]:
        """Every node of one kind in a file, with its scope."""
        names = self.names(path)
        todo: list[tuple[ast.AST, NameScope]] = [(names.source.tree, names.module)]
        while todo:
            node, scope = todo.pop()
            for child in ast.iter_child_nodes(node):
                if isinstance(child, kind):
                    yield child, scope
                todo.append((child, names.scopes.get(child, scope)))

    def attributes(self, path: str, name: str) -> list[tuple[ast.Attribute, NameScope]]:
        """Every `something.name` of a file, with its scope."""
        return [found for found in self.nodes(path, ast.Attribute) if found[0].attr == name]


def attribute_start(source: PythonSource, node: ast.Attribute) -> int:
    """Find the offset of the last name of `something.name`."""
    start = source.span(node)[1] - len(node.attr)
    if source.text[start : start + len(node.attr)] != node.attr:
        raise UsageError(f"{source.say(start)}: the place of {node.attr} cannot be told.")
    return start


def exported(names: ModuleNames) -> list[ast.Constant]:
    """The elements of a module's `__all__`, in `=` as in `+=`."""
    found: list[ast.Constant] = []
    for statement in names.source.tree.body:
        targets: list[ast.expr] = []
        if isinstance(statement, ast.Assign):
            targets = statement.targets
        elif isinstance(statement, ast.AugAssign | ast.AnnAssign):
            targets = [statement.target]
        if any(isinstance(each, ast.Name) and each.id == "__all__" for each in targets):
            value = statement.value  # type: ignore[attr-defined]
            elements = value.elts if isinstance(value, ast.List | ast.Tuple) else []
            found += [each for each in elements if isinstance(each, ast.Constant)]
    return found


def is_exported(names: ModuleNames, name: str) -> bool:
    """Tell whether a star import binds the name: by `__all__`, or else by its first letter."""
    listed = [each.value for each in exported(names)]
    return name in listed if "__all__" in names.module.bound else not name.startswith("_")


def same_module(modules: Modules, stem: str, path: str) -> bool:
    """Tell whether a stem means this file."""
    return bool(stem) and stem == stem_of(path) and modules.file(stem) == path


def taken_by(code: Codebase, path: str, name: str) -> str:
    """A file that gets a name from this module ("" when none does); one that cannot be read may."""
    for other in code.holding(name):
        if other != path and _takes(code, other, path, name):
            return other
    return ""


def _takes(code: Codebase, other: str, path: str, name: str) -> bool:
    try:
        for statement, _ in code.imports(other):
            taken = {name, "*"} & {alias.name for alias in statement.names}
            stem = code.modules.imported(other, statement) if isinstance(statement, ast.ImportFrom) else ""
            if taken and same_module(code.modules, stem, path):
                return True
        return any(
            same_module(code.modules, code.module_of(other, node.value, scope), path)
            for node, scope in code.attributes(other, name)
        )
    except UsageError:
        return True


# --- the definition behind an expression -----------------------------------------------------


class Meaning(Struct, frozen=True):
    """A definition: its file and its name in it, with what encloses it (`Cache.get`)."""

    path: str
    name: str


def meaning_of(code: Codebase, path: str, node: ast.expr, scope: NameScope, depth: int = 0) -> Meaning | None:
    """The one definition that an expression can mean, None where that cannot be said."""
    if depth > 20:  # modules that import each other's names in a ring
        return None
    if isinstance(node, ast.Attribute):
        module = code.modules.file(stem) if (stem := code.module_of(path, node.value, scope)) else ""
        if module:
            return _global_meaning(code, module, node.attr, depth)
        outer = meaning_of(code, path, node.value, scope, depth + 1)
        return _member(code, outer, node.attr) if outer else None
    if not isinstance(node, ast.Name):
        return None
    bindings = code.bindings(path, node.id, scope)
    if len(bindings) != 1:
        return None
    bound = bindings[0].node
    if isinstance(bound, ast.alias):
        return _imported(code, path, bound, depth)
    outer_name = bindings[0].scope.name
    return Meaning(path, f"{outer_name}.{node.id}" if outer_name else node.id)


def _imported(code: Codebase, path: str, alias: ast.alias, depth: int) -> Meaning | None:
    statement = code.statement_of(path, alias)
    if not isinstance(statement, ast.ImportFrom):
        return None
    stem = code.modules.imported(path, statement)
    module = code.modules.file(stem) if stem else ""
    return _global_meaning(code, module, alias.name, depth) if module else None


def _global_meaning(code: Codebase, module: str, name: str, depth: int) -> Meaning | None:
    if module not in code.files:
        return None
    try:
        scope = code.names(module).module
    except UsageError:  # it does not parse: nothing is known of what it holds
        return None
    return meaning_of(code, module, ast.Name(name, ast.Load()), scope, depth + 1)


def _member(code: Codebase, outer: Meaning, name: str) -> Meaning | None:
    scope = class_scope(code, outer)
    return Meaning(outer.path, f"{outer.name}.{name}") if scope and name in scope.bound else None


def class_scope(code: Codebase, meaning: Meaning) -> NameScope | None:
    """The scope of a class, None for what is no class."""
    for scope in code.names(meaning.path).scopes.values():
        if scope.kind == "class" and scope.name == meaning.name:
            return scope
    return None


def classes_of(names: ModuleNames) -> Iterator[NameScope]:
    """The classes that a file defines."""
    return (scope for scope in names.scopes.values() if scope.kind == "class")


def ancestors(code: Codebase, meaning: Meaning) -> set[Meaning]:
    """The project's classes that a class inherits from, at any distance."""
    found, todo = set[Meaning](), [meaning]
    while todo:
        each = todo.pop()
        scope = class_scope(code, each)
        if scope is None or not isinstance(scope.node, ast.ClassDef) or scope.parent is None:
            continue
        bases = (meaning_of(code, each.path, base, scope.parent) for base in scope.node.bases)
        new = {base for base in bases if base} - found
        found |= new
        todo += new
    return found


# --- what a module exports -------------------------------------------------------------------


def star_importers(code: Codebase, path: str) -> set[str]:
    """The files that import everything from a module."""
    return {
        other
        for other, content in code.files.items()
        if b"import *" in content and path in _starred(code, other)
    }


def _starred(code: Codebase, path: str) -> Iterator[str]:
    for statement, _ in code.imports(path):
        if isinstance(statement, ast.ImportFrom) and statement.names[0].name == "*":
            file = code.modules.file(code.modules.imported(path, statement) or "?")
            if same_module(code.modules, code.modules.imported(path, statement), file):
                yield file


def unlist(names: ModuleNames, gone: Collection[str]) -> Iterator[Splice]:
    """Remove names from a module's `__all__`, and keep everything else in it."""
    elements = exported(names)
    dead = [each for each in elements if each.value in gone]
    if not dead:
        return
    source = names.source
    if len(dead) == len(elements):
        yield Splice(source.span(elements[0])[0], source.span(elements[-1])[1], "")
        return
    yield from drop_items(source, elements, dead)
    kept = [each for each in elements if each not in dead]
    end = source.span(elements[-1])[1]
    if len(kept) == 1 and source.text[end:].lstrip().startswith(")"):
        yield Splice(end, end, ",")  # or a tuple of one name would become that name


def enlist(path: str, content: bytes, new: Sequence[str]) -> bytes:
    """Put names into the `__all__` of a module that has one, in the layout of its last element."""
    names = bind_names(read_source(path, content))
    elements = exported(names)
    if not elements or not new:
        return content
    source = names.source
    start, end = source.span(elements[-1])
    quote, line = source.text[start], source.line_start(source.line_of(start))
    alone = not source.text[line:start].strip()
    between = f",{source.newline}{source.text[line:start]}" if alone else ", "
    return apply_splices(
        source, [Splice(end, end, "".join(f"{between}{quote}{name}{quote}" for name in new))]
    )
