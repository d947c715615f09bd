"""Measure how complex each function is: exactly for Python, by tree-sitter for C and C++, else estimated."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from posixpath import splitext
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct

from kith.context.source import CPP_ENDINGS
from kith.context.symbols import PYTHON_ENDINGS, cpp_parser, parse_python
from kith.features.scan.source_text import BRACED_ENDINGS, blank_out


class FunctionMeasures(Struct, frozen=True):
    """A function and how hard it is to follow. Lines count from 1; a nested function counts for itself.

    `cyclomatic` is 1 and one for each branch, loop, handler, case and logical operator (McCabe 1976).
    `cognitive` adds for each structure its depth (after Campbell, Cognitive Complexity, 2018).
    `nesting` is the deepest level of control structures; `parameters` leaves `self` and `cls` out.
    """

    name: str
    first: int
    last: int
    lines: int
    cyclomatic: int
    cognitive: int
    nesting: int
    parameters: int


# --- Python ----------------------------------------------------------------------------------


Definition = ast.FunctionDef | ast.AsyncFunctionDef
_DEFINITIONS: Final = frozenset({ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef})
# Each is one way more through the function ...
_PYTHON_BRANCHES: Final = frozenset(
    {
        *(ast.If, ast.IfExp, ast.For, ast.AsyncFor, ast.While),
        *(ast.ExceptHandler, ast.match_case, ast.comprehension),
    }
)
# ... what stands in one of these is a level deeper ...
_PYTHON_LEVELS: Final = frozenset(
    {
        *(ast.If, ast.For, ast.AsyncFor, ast.While, ast.Match),
        *(ast.Try, ast.TryStar, ast.With, ast.AsyncWith),
    }
)
# ... and costs the more to follow, the deeper it stands.
_PYTHON_COSTLY: Final = frozenset(
    {ast.If, ast.IfExp, ast.For, ast.AsyncFor, ast.While, ast.ExceptHandler, ast.Match}
)
_PYTHON_TOLD: Final = _PYTHON_BRANCHES | _PYTHON_LEVELS | _PYTHON_COSTLY | {ast.BoolOp}
# What has no branch in it is most of a tree, and is not looked into.
_LEAVES: Final = frozenset(
    {
        *(ast.Name, ast.Constant, ast.Load, ast.Store, ast.Del, ast.Pass, ast.Break, ast.Continue),
        *(int, str, float, bytes, complex, bool, type(None), type(...)),
    }
)


def measure_python(text: str) -> tuple[FunctionMeasures, ...]:
    """The functions of a text, empty where Python refuses it."""
    tree = parse_python(text)
    return measure_module(tree) if tree else ()


def measure_module(tree: ast.Module) -> tuple[FunctionMeasures, ...]:
    """The functions of a module that is parsed already, however deep they are nested."""
    found: list[FunctionMeasures] = []
    waiting: list[tuple[ast.AST, str]] = [(tree, "")]
    while waiting:
        node, outer = waiting.pop()
        inside = _PythonWalk()
        if isinstance(node, Definition):
            inside.walk(node.body)
            found.append(inside.measured(node, outer))
        else:
            inside.walk([each for each in _children(node) if isinstance(each, ast.stmt)])
        prefix = f"{outer}{node.name}." if isinstance(node, Definition | ast.ClassDef) else outer
        waiting += [(each, prefix) for each in inside.definitions]
    return tuple(found)


class _PythonWalk:
    """One way through the body of a function, down to the definitions in it."""

    __slots__ = ("cognitive", "cyclomatic", "definitions", "nesting")

    def __init__(self) -> None:
        self.cyclomatic, self.cognitive, self.nesting = 1, 0, 0
        self.definitions: list[ast.AST] = []

    def walk(self, body: list[Any]) -> None:
        """A stack of nodes and their depths: recursion would fail on a text made to break it."""
        stack: list[tuple[Any, int]] = [(statement, 0) for statement in body]
        while stack:
            node, depth = stack.pop()
            kind = node.__class__
            if kind in _DEFINITIONS:
                self.definitions.append(node)
                continue
            if kind in _PYTHON_TOLD:
                depth = self._meet(node, kind, depth)
            if kind is ast.If and node.orelse:
                stack += self._alternative(node, depth)
                stack += [(each, depth) for each in (node.test, *node.body) if each.__class__ not in _LEAVES]
                continue
            for value in node.__dict__.values():
                if value.__class__ is list:
                    stack += [(each, depth) for each in value if each.__class__ not in _LEAVES]
                elif value.__class__ not in _LEAVES:
                    stack.append((value, depth))

    def _meet(self, node: Any, kind: type, depth: int) -> int:
        """Count a node; returns the depth of the nodes in it."""
        if kind in _PYTHON_BRANCHES:
            self.cyclomatic += 1
        elif kind is ast.BoolOp:
            self.cyclomatic += len(node.values) - 1
            self.cognitive += 1
        if kind in _PYTHON_COSTLY:
            self.cognitive += 1 + depth
        if kind not in _PYTHON_LEVELS:
            return depth
        self.nesting = max(self.nesting, depth + 1)
        return depth + 1

    def _alternative(self, node: ast.If, depth: int) -> list[tuple[Any, int]]:
        """The else of an `if`: an `elif` is no deeper than the `if` before it."""
        other = node.orelse[0]
        self.cognitive += 1
        if len(node.orelse) == 1 and isinstance(other, ast.If) and other.col_offset == node.col_offset:
            self.cognitive -= depth  # what it costs to stand where it stands, which it will be charged
            return [(other, depth - 1)]
        return [(each, depth) for each in node.orelse]

    def measured(self, node: Definition, outer: str) -> FunctionMeasures:
        first, last = node.lineno, node.end_lineno or node.lineno
        arguments = node.args
        named = [*arguments.posonlyargs, *arguments.args]
        if outer and named and named[0].arg in ("self", "cls"):
            named = named[1:]
        several = (arguments.vararg is not None) + (arguments.kwarg is not None)
        return FunctionMeasures(
            outer + node.name,
            first,
            last,
            last - first + 1,
            self.cyclomatic,
            self.cognitive,
            self.nesting,
            len(named) + len(arguments.kwonlyargs) + several,
        )


def _children(node: ast.AST) -> list[Any]:
    """The nodes directly below one."""
    found: list[Any] = []
    for value in node.__dict__.values():
        found += value if isinstance(value, list) else [value]
    return found


# --- C and C++ -------------------------------------------------------------------------------


if TYPE_CHECKING:
    from tree_sitter import Node, Parser

LARGEST: Final = 1_000_000  # characters; larger texts are generated, and measured by their braces
_FUNCTION: Final = "function_definition"
_SCOPES: Final = frozenset({"class_specifier", "struct_specifier", "union_specifier", "namespace_definition"})
_LOOPS: Final = frozenset({"for_statement", "for_range_loop", "while_statement", "do_statement"})
_CPP_BRANCHES: Final = _LOOPS | {"if_statement", "catch_clause", "conditional_expression"}
_CPP_COSTLY: Final = _CPP_BRANCHES | {"switch_statement"}  # by how deep they stand
_CPP_LEVELS: Final = _CPP_COSTLY - {"conditional_expression"}
_CPP_TOLD: Final = _SCOPES | _CPP_COSTLY | {_FUNCTION, "case_statement", "binary_expression"}
_ELSE: Final = "else if"  # an `if` that is no deeper than the one before it


class _OpenCppFunction:
    """A function whose end is not reached yet."""

    __slots__ = ("cognitive", "cyclomatic", "depth", "name", "nesting", "node")

    def __init__(self, node: "Node", name: str) -> None:
        self.node, self.name = node, name
        self.cyclomatic, self.cognitive, self.nesting, self.depth = 1, 0, 0, 0

    def meet(self, kind: str, node: "Node") -> None:
        """Count the nodes in the function."""
        if kind == "case_statement":
            self.cyclomatic += node.child_by_field_name("value") is not None  # `default` is no way more
        elif kind == "binary_expression":
            operator = node.child_by_field_name("operator")
            logical = operator is not None and operator.type in ("&&", "||")
            self.cyclomatic += logical
            self.cognitive += logical
        elif kind == _ELSE:
            self.cyclomatic += 1
            self.cognitive += 1
        else:
            self.cyclomatic += kind in _CPP_BRANCHES
            self.cognitive += 1 + self.depth
        if kind in _CPP_LEVELS:
            self.depth += 1
            self.nesting = max(self.nesting, self.depth)

    def measured(self) -> FunctionMeasures:
        first, last = self.node.start_point.row + 1, self.node.end_point.row + 1
        numbers = (self.cyclomatic, self.cognitive, self.nesting, _count_cpp_parameters(self.node))
        return FunctionMeasures(self.name, first, last, last - first + 1, *numbers)


def measure_cpp(text: str) -> tuple[FunctionMeasures, ...] | None:
    """The functions of a text; None where tree-sitter is missing or the text is very large."""
    parser = _parser() if len(text) <= LARGEST else None
    return tuple(_CppWalk().walk(parser, text)) if parser else None


_parser = cache(cpp_parser)


class _CppWalk:
    """One way through a tree with a cursor: a query would take the square of the depth."""

    def __init__(self) -> None:
        self.functions: list[_OpenCppFunction] = []
        self.scopes: list[str] = []

    def walk(self, parser: "Parser", text: str) -> Iterator[FunctionMeasures]:
        cursor = parser.parse(text.encode("utf-8", "replace")).walk()
        above: list[str] = []  # what was entered, outermost first; "" for what counts for nothing
        while True:
            node = cursor.node
            kind = node.type if node is not None else ""
            told = self.enter(kind, node) if node is not None and kind in _CPP_TOLD else ""
            if cursor.goto_first_child():
                above.append(told)
                continue
            yield from self.leave(told)
            while not cursor.goto_next_sibling():
                if not cursor.goto_parent():
                    return
                yield from self.leave(above.pop())

    def enter(self, kind: str, node: "Node") -> str:
        """Take note of a node; returns what leaving it means."""
        if kind in _SCOPES:
            self.scopes.append(_name(node, "name"))
        elif kind == _FUNCTION:
            outer = "".join(f"{name}::" for name in self.scopes if name)
            self.functions.append(_OpenCppFunction(node, outer + (_name(node, "declarator") or "(unnamed)")))
        elif not self.functions:
            return ""
        else:
            parent = node.parent if kind == "if_statement" else None
            kind = _ELSE if parent is not None and parent.type == "else_clause" else kind
            self.functions[-1].meet(kind, node)
        return kind

    def leave(self, kind: str) -> Iterator[FunctionMeasures]:
        if kind in _SCOPES:
            self.scopes.pop()
        elif kind == _FUNCTION:
            yield self.functions.pop().measured()
        elif kind in _CPP_LEVELS:
            self.functions[-1].depth -= 1


def _name(node: "Node", field: str) -> str:
    inner = node.child_by_field_name(field)
    while inner is not None and (deeper := _declarator(inner)) is not None:
        inner = deeper
    return " ".join(inner.text.decode("utf-8", "replace").split())[:200] if inner and inner.text else ""


def _declarator(node: "Node") -> "Node | None":
    """The declarator inside a pointer, reference or function; a reference's grammar gives it no name."""
    if node.type == "reference_declarator" and node.named_children:
        return node.named_children[-1]
    return node.child_by_field_name("declarator")


def _count_cpp_parameters(function: "Node") -> int:
    node = function.child_by_field_name("declarator")
    while node is not None and node.type != "function_declarator":
        node = _declarator(node)
    found = node.child_by_field_name("parameters") if node is not None else None
    if found is None:
        return 0
    named = [each for each in found.named_children if "parameter" in each.type]
    variadic = any(each.type == "..." for each in found.children)
    nothing = len(named) == 1 and named[0].text == b"void"
    return 0 if nothing else len(named) + variadic


# --- languages with braces -------------------------------------------------------------------


_TOKEN: Final = re.compile(r"[A-Za-z_$][\w$]*|[{}();]|&&|\|\||\?(?![?.:,)>])|\n")
_PREPROCESSOR: Final = re.compile(r"^[ \t]*+\#(?:[^\\\n]++|\\.)*+", re.M | re.S)
_LOOPS_AND_IFS: Final = frozenset({"if", "for", "foreach", "while", "loop", "catch", "guard"})
_CHOICES: Final = frozenset({"switch", "match", "when", "select"})
_BRACE_LEVELS: Final = _LOOPS_AND_IFS | _CHOICES | {"try", "do"}
_BRACE_BRANCHES: Final = (_LOOPS_AND_IFS - {"loop"}) | {"case", "&&", "||", "?"}
# What may stand before parentheses without being a function's name.
_NO_NAMES: Final = _BRACE_LEVELS | {"else", "return", "throw", "function", "fn", "func", "fun", "defined"}
_INNER: Final = r"\(([^()]*(?:\([^()]*\)[^()]*)*)\)"
_HEADER: Final = re.compile(
    r"(?<!\bnew )(?<![\w$])([A-Za-z_$~][\w$]*(?:::~?[A-Za-z_$][\w$]*)*)"
    rf"[ \t\n]*(?:<[^()<>]*>)?[ \t\n]*{_INNER}"
)
_PARAMETERS: Final = re.compile(_INNER)
_ASSIGNED: Final = re.compile(r"([A-Za-z_$][\w$]*)\s*(?::[^=]*)?=\s*(?:async\b|function\b|\(|[\w$]+\s*=>)")
_TYPE: Final = re.compile(
    r"\b(?:class|struct|enum|union|interface|trait|impl|namespace|mod|object|extern)\b[^(]*$"
)
_LONGEST: Final = 1_000  # characters before a brace that may be a function's head
_SELF: Final = frozenset({"", "void", "self", "mut self", "&self", "&mut self"})


class _OpenBlock:
    """A block that a brace opened: a function (which has a name), a control structure, or anything else."""

    def __init__(
        self,
        name: str = "",
        first: int = 0,
        parameters: int = 0,
        *,
        is_level: bool = False,
        before: tuple[int, int] | None = None,
    ) -> None:
        self.name, self.first, self.parameters = name, first, parameters
        self.is_level, self.before = is_level, before
        self.cyclomatic, self.cognitive, self.nesting, self.depth = 1, 0, 0, 0

    def enter(self) -> None:
        self.depth += 1
        self.nesting = max(self.nesting, self.depth)

    def count(self, token: str) -> None:
        self.cyclomatic += token in _BRACE_BRANCHES
        if token == "?" or token in _LOOPS_AND_IFS or token in _CHOICES:
            self.cognitive += 1 + self.depth
        elif token in ("&&", "||", "else"):
            self.cognitive += 1

    def measured(self, last: int) -> FunctionMeasures:
        first = min(self.first, last)
        size = last - first + 1
        numbers = (self.cyclomatic, self.cognitive, self.nesting, self.parameters)
        return FunctionMeasures(self.name, first, last, size, *numbers)


def measure_braces(path: str, text: str) -> tuple[FunctionMeasures, ...]:
    """The functions of a text: from a name and parentheses before a brace to the brace that closes it."""
    code = _PREPROCESSOR.sub(lambda match: "\n" * match[0].count("\n"), blank_out(path, text))
    return tuple(_BraceReader(code).read())


class _BraceReader:
    """One way through the tokens of a text."""

    def __init__(self, code: str) -> None:
        self.code = code
        self.line = 1
        self.head = 0  # where the words before the next brace begin
        self.parentheses = 0  # open since there
        self.opened: list[_OpenBlock] = []
        self.functions: list[_OpenBlock] = []  # those of `opened` that are functions, the innermost last

    def read(self) -> Iterator[FunctionMeasures]:
        for match in _TOKEN.finditer(self.code):
            token = match[0]
            if token == "\n":
                self.line += 1
            elif token == "{":
                self.open_brace(match.start())
            elif token == "}":
                yield from self.close_brace(match.end())
            elif token in "()":
                self.parentheses = max(0, self.parentheses + (1 if token == "(" else -1))
            elif token == ";":
                if not self.parentheses:
                    self.head = match.end()
            elif self.functions:
                self.functions[-1].count(token)

    def open_brace(self, at: int) -> None:
        head = self.code[max(self.head, at - _LONGEST) : at]
        if self.parentheses and head.rstrip().endswith((*"=:,([",)):
            # A literal among arguments, or a parameter's default: what stands before it goes on after it.
            self.opened.append(_OpenBlock(before=(self.head, self.parentheses)))
            return
        here = _open(head, self.line)
        self.opened.append(here)
        if here.name:
            self.functions.append(here)
        elif here.is_level and self.functions:
            self.functions[-1].enter()
        self.head, self.parentheses = at + 1, 0

    def close_brace(self, end: int) -> Iterator[FunctionMeasures]:
        closed = self.opened.pop() if self.opened else _OpenBlock()
        if closed.name:
            yield self.functions.pop().measured(self.line)
        elif closed.is_level and self.functions:
            self.functions[-1].depth -= 1
        self.head, self.parentheses = closed.before or (end, 0)


def _open(head: str, line: int) -> _OpenBlock:
    """Tell what a brace on this line opens, by the words before it."""
    first_word = re.search(r"\w+", head)
    if first_word and (first_word[0] in _BRACE_LEVELS or first_word[0] == "else"):
        return _OpenBlock(is_level=True)
    stripped = head.rstrip()
    assigned = _ASSIGNED.search(head)
    if assigned and (stripped.endswith("=>") or "function" in stripped):
        named, name, parameters = assigned, assigned[1], head[assigned.start() :]
    else:
        found = next((each for each in _HEADER.finditer(head) if each[1] not in _NO_NAMES), None)
        if found is None or _TYPE.search(head[: found.start()]) or "=" in head[: found.start()]:
            return _OpenBlock(is_level=bool(_BRACE_LEVELS.intersection(re.findall(r"\w+", head[-200:]))))
        if stripped.endswith((",", "=", "(", ":")):
            return _OpenBlock()
        named, name, parameters = found, found[1], found[0]
    return _OpenBlock(name, line - head.count("\n", named.start()), _count_parameters(parameters))


def _count_parameters(text: str) -> int:
    listed = _PARAMETERS.search(text)
    parts = re.sub(r"\([^()]*\)|<[^<>]*>", "", listed[1]).split(",") if listed else []
    return sum(part.strip() not in _SELF for part in parts)


# --- any language ----------------------------------------------------------------------------


__all__ = ["FunctionMeasures", "functions"]


def functions(path: str, text: str) -> tuple[FunctionMeasures, ...]:
    """The functions and methods of a text, in order of their first line.

    Empty for a text that its language's parser refuses, and for languages that are not known. Linear in the
    text's length; nothing a text holds makes it raise.
    """
    ending = splitext(path)[1].lower()
    found = measure_cpp(text) if ending in CPP_ENDINGS else None
    if ending in PYTHON_ENDINGS:
        found = measure_python(text)
    elif found is None and ending in BRACED_ENDINGS:
        found = measure_braces(path, text)
    return tuple(sorted(found or (), key=lambda each: (each.first, -each.last, each.name)))
