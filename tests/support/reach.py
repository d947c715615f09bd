"""Find out what a package's functions, classes, methods and constants use, and what is reached from where.

A symbol is called `module:name`, a method `module:Class.name`, and a module by its own name. What is used is
read from names, imports and `Lazy` places. A method counts as used wherever its name stands behind a dot, so
this finds too little rather than too much.
"""

import ast
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path

from msgspec import Struct, field

# Bases whose methods nobody outside of kith calls; those of any other foreign base are called by its owner.
_KNOWN_BASES = {"Struct", "Protocol", "Generic", "NamedTuple", "Exception", "Enum", "StrEnum"}
_PLACE = re.compile(r"([\w.]*):(\w+)")
_HERE = "f'{__name__}:"


class Symbol(Struct):
    """What one symbol uses: other symbols and modules by name, and any names behind a dot."""

    lines: int = 0
    uses: set[str] = field(default_factory=set)
    attributes: set[str] = field(default_factory=set)


class Reach:
    """The symbols of modules, by their names and files."""

    def __init__(self, files: Mapping[str, Path]) -> None:
        self.symbols = dict[str, Symbol]()
        self._elsewhere = dict[str, str]()  # what a module imports, as a symbol: `kith.edits:Change`
        self._foreign = set[str]()  # classes on a base that is not kith's
        for module, file in files.items():
            self._read(module, ast.parse(file.read_text(encoding="utf-8")))
        self._methods = [name for name in self.symbols if "." in name.partition(":")[2]]

    def from_roots(self, roots: Iterable[str], inside: Collection[str]) -> set[str]:
        """The symbols of `inside` that the roots use, or what these use. Owners of methods may be outside."""
        reached, attributes = set[str](), set[str]()
        waiting = [*roots]
        while waiting:
            while waiting:
                name = waiting.pop()
                if name in reached or name not in inside:
                    continue
                reached.add(name)
                attributes |= self.symbols[name].attributes
                waiting += [name.partition(":")[0], *self.used_by(name)]
            waiting = [
                each
                for each in self._methods
                if each in inside and each not in reached and _name_of(each) in attributes
                if (owner := each.rpartition(".")[0]) in reached or owner not in inside
            ]
        return reached

    def used_by(self, name: str) -> Iterator[str]:
        """What a symbol uses, where it is defined."""
        for each in self.symbols[name].uses:
            while each not in self.symbols and self._elsewhere.get(each, each) != each:
                each = self._elsewhere[each]
            if each in self.symbols:
                yield each
            elif (module := each.replace(":", ".", 1)) in self.symbols:
                yield module

    def _read(self, module: str, tree: ast.Module) -> None:
        known = {name: place for node in ast.walk(tree) for name, place in _imported(node)}
        self._elsewhere |= {f"{module}:{name}": place for name, place in known.items()}
        known |= {name: f"{module}:{name}" for node in tree.body for name in _defined(node)}
        whole = self.symbols[module] = Symbol()
        for node in tree.body:
            names = _defined(node)
            if isinstance(node, ast.ClassDef):
                self._read_class(module, node, known)
            elif names:
                found = Symbol(_length(node))
                _collect(node, known, module, found)
                self.symbols |= {f"{module}:{name}": found for name in names}
            elif not isinstance(node, ast.Import | ast.ImportFrom):
                _collect(node, known, module, whole)
            elif isinstance(node, ast.ImportFrom):
                whole.uses |= {node.module or "", *(f"{node.module}.{alias.name}" for alias in node.names)}

    def _read_class(self, module: str, node: ast.ClassDef, known: Mapping[str, str]) -> None:
        name = f"{module}:{node.name}"
        bases = {ast.unparse(base).partition("[")[0] for base in node.bases}
        if bases - _KNOWN_BASES - known.keys() or any(known.get(base) in self._foreign for base in bases):
            self._foreign.add(name)
        whole = self.symbols[name] = Symbol(_length(node))
        for each in (*node.bases, *node.keywords, *node.decorator_list, *node.body):
            method = isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef) and name not in self._foreign
            if method and isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef) and each.name[:2] != "__":
                own = self.symbols[f"{name}.{each.name}"] = Symbol(_length(each))
                _collect(each, known, module, own)
            else:
                _collect(each, known, module, whole)


def _name_of(method: str) -> str:
    return method.rpartition(".")[2]


def _defined(node: ast.stmt) -> tuple[str, ...]:
    """The names that a statement of a module defines."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return (node.name,)
    targets = node.targets if isinstance(node, ast.Assign) else ()
    targets = (node.target,) if isinstance(node, ast.AnnAssign) else targets
    return tuple(each.id for each in targets if isinstance(each, ast.Name))


def _length(node: ast.stmt) -> int:
    first = min([node.lineno, *(each.lineno for each in getattr(node, "decorator_list", ()))])
    return (node.end_lineno or first) - first + 1


def _imported(node: ast.AST) -> Iterator[tuple[str, str]]:
    """The names that an import of kith binds, and what each means."""
    if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("kith"):
        yield from ((alias.asname or alias.name, f"{node.module}:{alias.name}") for alias in node.names)


def _collect(node: ast.AST, known: Mapping[str, str], module: str, into: Symbol) -> None:
    for each in ast.walk(node):
        match each:
            case ast.Name(id=name) if name in known:
                into.uses.add(known[name])
            case ast.Attribute(attr=name, value=owner):
                into.attributes.add(name)
                if isinstance(owner, ast.Name) and owner.id in known:
                    into.uses.add(f"{known[owner.id].replace(':', '.', 1)}:{name}")
            case ast.Constant(value=str(text)) if found := _PLACE.fullmatch(text):
                place, name = found.groups()  # `Lazy("kith.a:b")`, or `_here("a:b")` for a module beside
                folders = (
                    ("",) if place.startswith("kith.") else (f"{module}.", f"{module.rpartition('.')[0]}.")
                )
                into.uses |= {f"{folder}{place}:{name}" for folder in folders}
            case ast.Constant(value=str(text)) if text.isidentifier():
                into.attributes.add(text)  # `getattr`
            case ast.JoinedStr() if (text := ast.unparse(each)).startswith(_HERE):
                into.uses.add(f"{module}:{text.removeprefix(_HERE)[:-1]}")
            case _:
                pass
