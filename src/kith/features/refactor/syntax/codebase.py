"""The files that a refactoring may look at, each parsed once, and what it makes of them."""

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from posixpath import dirname

from kith.context.python_modules import Modules, find_modules, stem_of
from kith.core.errors import UsageError
from kith.features.refactor.syntax.scopes import Mention, Names, Scope, bind_names, find_owner
from kith.features.refactor.syntax.source import Source, Splice, apply_splices, read_source


@dataclass(frozen=True, slots=True)
class Refactoring:
    """What becomes of which files (None: deleted), and what a person should know of it."""

    files: Mapping[str, bytes | None]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Codebase:
    """Python files by their paths, and the paths of all files (of those that are not here, too)."""

    files: Mapping[str, bytes]
    modules: Modules
    _parsed: dict[str, Names] = field(default_factory=dict)

    @classmethod
    def of(cls, files: Mapping[str, bytes], paths: frozenset[str] = frozenset()) -> "Codebase":
        return cls(files, find_modules(paths | files.keys()))

    def names(self, path: str) -> Names:
        """A file's names. Raises UsageError when there is no such file or it does not parse."""
        if path not in self._parsed:
            if path not in self.files:
                raise UsageError(f"There is no Python file {path}.")
            self._parsed[path] = bind_names(read_source(path, self.files[path]))
        return self._parsed[path]

    def source(self, path: str) -> Source:
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

    def module_of(self, path: str, node: ast.expr, scope: Scope) -> str:
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
        """The module that another module's name means, when an import there brings it."""
        file = self.modules.file(stem)
        if file not in self.files or name not in self.names(file).module.bound:
            return ""
        return self.module_of(file, ast.Name(name, ast.Load()), self.names(file).module)

    def bindings(self, path: str, name: str, scope: Scope) -> list[Mention]:
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

    def imports(self, path: str) -> list[tuple[ast.Import | ast.ImportFrom, Scope]]:
        """The imports of a file, each with the scope it stands in."""
        names = self.names(path)
        found: list[tuple[ast.Import | ast.ImportFrom, Scope]] = []
        todo: list[tuple[ast.AST, Scope]] = [(names.source.tree, names.module)]
        while todo:
            node, scope = todo.pop()
            for child in ast.iter_child_nodes(node):
                if isinstance(child, ast.Import | ast.ImportFrom):
                    found.append((child, scope))
                elif isinstance(child, ast.stmt | ast.ExceptHandler | ast.match_case):
                    todo.append((child, names.scopes.get(child, scope)))
        return sorted(found, key=lambda each: each[0].lineno)

    def attributes(self, path: str, name: str) -> list[tuple[ast.Attribute, Scope]]:
        """Every `something.name` of a file, with the scope it stands in."""
        names = self.names(path)
        found: list[tuple[ast.Attribute, Scope]] = []
        todo: list[tuple[ast.AST, Scope]] = [(names.source.tree, names.module)]
        while todo:
            node, scope = todo.pop()
            for child in ast.iter_child_nodes(node):
                if isinstance(child, ast.Attribute) and child.attr == name:
                    found.append((child, scope))
                todo.append((child, names.scopes.get(child, scope)))
        return found


def attribute_start(source: Source, node: ast.Attribute) -> int:
    """Where the last name of `something.name` stands."""
    start = source.span(node)[1] - len(node.attr)
    if source.text[start : start + len(node.attr)] != node.attr:
        raise UsageError(f"{source.say(start)}: the place of {node.attr} cannot be told.")
    return start


def exported(names: Names) -> list[ast.Constant]:
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


def is_exported(names: Names, name: str) -> bool:
    """Whether a star import brings the name: `__all__` says so, or without one, no underscore leads it."""
    listed = [each.value for each in exported(names)]
    return name in listed if "__all__" in names.module.bound else not name.startswith("_")


def same_module(modules: Modules, stem: str, path: str) -> bool:
    """Whether a stem means this file."""
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
