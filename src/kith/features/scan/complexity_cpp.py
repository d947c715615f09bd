"""The complexity of C and C++ functions, from tree-sitter's syntax tree."""

from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING, Final

from kith.features.scan.function_measure import FunctionMeasure

if TYPE_CHECKING:
    from tree_sitter import Node, Parser

LARGEST: Final = 1_000_000  # characters; larger texts are generated, and measured by their braces
_FUNCTION: Final = "function_definition"
_SCOPES: Final = frozenset({"class_specifier", "struct_specifier", "union_specifier", "namespace_definition"})
_LOOPS: Final = frozenset({"for_statement", "for_range_loop", "while_statement", "do_statement"})
_BRANCHES: Final = _LOOPS | {"if_statement", "catch_clause", "conditional_expression"}
_COSTLY: Final = _BRANCHES | {"switch_statement"}  # by how deep they stand
_LEVELS: Final = _COSTLY - {"conditional_expression"}
_TOLD: Final = _SCOPES | _COSTLY | {_FUNCTION, "case_statement", "binary_expression"}
_ELSE: Final = "else if"  # an `if` that is no deeper than the one before it


class _Open:
    """A function whose end is not reached yet."""

    __slots__ = ("cognitive", "cyclomatic", "depth", "name", "nesting", "node")

    def __init__(self, node: "Node", name: str) -> None:
        self.node, self.name = node, name
        self.cyclomatic, self.cognitive, self.nesting, self.depth = 1, 0, 0, 0

    def meet(self, kind: str, node: "Node") -> None:
        """Count what stands in the function."""
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
            self.cyclomatic += kind in _BRANCHES
            self.cognitive += 1 + self.depth
        if kind in _LEVELS:
            self.depth += 1
            self.nesting = max(self.nesting, self.depth)

    def measured(self) -> FunctionMeasure:
        first, last = self.node.start_point.row + 1, self.node.end_point.row + 1
        numbers = (self.cyclomatic, self.cognitive, self.nesting, _count_parameters(self.node))
        return FunctionMeasure(self.name, first, last, last - first + 1, *numbers)


def measure_cpp(text: str) -> tuple[FunctionMeasure, ...] | None:
    """The functions of a text; None where tree-sitter is missing or the text is very large."""
    parser = _parser() if len(text) <= LARGEST else None
    return tuple(_Walk().walk(parser, text)) if parser else None


@cache
def _parser() -> "Parser | None":
    try:
        import tree_sitter
        import tree_sitter_cpp
    except ImportError:
        return None
    return tree_sitter.Parser(tree_sitter.Language(tree_sitter_cpp.language()))


class _Walk:
    """One way through a tree with a cursor: a query would take the square of the depth."""

    def __init__(self) -> None:
        self.functions: list[_Open] = []
        self.scopes: list[str] = []

    def walk(self, parser: "Parser", text: str) -> Iterator[FunctionMeasure]:
        cursor = parser.parse(text.encode("utf-8", "replace")).walk()
        above: list[str] = []  # what was entered, outermost first; "" for what counts for nothing
        while True:
            node = cursor.node
            kind = node.type if node is not None else ""
            told = self.enter(kind, node) if node is not None and kind in _TOLD else ""
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
            self.functions.append(_Open(node, outer + (_name(node, "declarator") or "(unnamed)")))
        elif not self.functions:
            return ""
        else:
            parent = node.parent if kind == "if_statement" else None
            kind = _ELSE if parent is not None and parent.type == "else_clause" else kind
            self.functions[-1].meet(kind, node)
        return kind

    def leave(self, kind: str) -> Iterator[FunctionMeasure]:
        if kind in _SCOPES:
            self.scopes.pop()
        elif kind == _FUNCTION:
            yield self.functions.pop().measured()
        elif kind in _LEVELS:
            self.functions[-1].depth -= 1


def _name(node: "Node", field: str) -> str:
    inner = node.child_by_field_name(field)
    while inner is not None and (deeper := _declarator(inner)) is not None:
        inner = deeper
    return " ".join(inner.text.decode("utf-8", "replace").split())[:200] if inner and inner.text else ""


def _declarator(node: "Node") -> "Node | None":
    """What a pointer, reference or function declares; a reference's grammar gives that no name."""
    if node.type == "reference_declarator" and node.named_children:
        return node.named_children[-1]
    return node.child_by_field_name("declarator")


def _count_parameters(function: "Node") -> int:
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
