"""Faults in C and C++ source, planted inside the bodies of functions by tree-sitter's syntax tree."""

from collections.abc import Iterator, Sequence
from posixpath import splitext
from typing import TYPE_CHECKING, Final

from kith.features.testgen.mutants.cpp_rules import Edit, edits_of
from kith.features.testgen.mutants.mutant import Mutant, keep_apart

if TYPE_CHECKING:
    from tree_sitter import Node, Parser

# What does not run, or tells people only: no fault is planted in or below these.
_NOT_RUN = """
    array_declarator attribute_declaration attribute_specifier comment decltype linkage_specification
    preproc_call preproc_def preproc_function_def preproc_include raw_string_literal sizeof_expression
    static_assert_declaration template_argument_list template_parameter_list throw_statement
    trailing_return_type type_descriptor alignas_qualifier enumerator_list
"""
_NOISE: Final = frozenset(_NOT_RUN.split())
_TELLING: Final = ("assert", "ASSERT", "DCHECK", "CHECK", "LOG", "printf", "fprintf", "puts", "perror")
_STREAMS: Final = ("cerr", "clog", "std::cerr", "std::clog")


def mutate_cpp(path: str, data: bytes) -> Sequence[Mutant]:
    """Every fault worth planting in a C or C++ file; () when tree-sitter is not installed."""
    parser = _parser()
    if parser is None:
        return ()
    is_c = splitext(path)[1] == ".c"
    root = parser.parse(data).root_node
    return [_mutant(path, data, *fault) for fault in _faults(root, is_c)]


def count_errors(data: bytes) -> int:
    """How many places of a C or C++ source tree-sitter cannot parse; 0 when it is not installed."""
    parser = _parser()
    if parser is None:
        return 0
    pending, errors = [parser.parse(data).root_node], 0
    while pending:
        node = pending.pop()
        errors += node.is_error or node.is_missing
        pending += [child for child in node.children if child.has_error or child.is_missing]
    return errors


def _parser() -> "Parser | None":
    try:
        import tree_sitter
        import tree_sitter_cpp
    except ImportError:
        return None
    return tree_sitter.Parser(tree_sitter.Language(tree_sitter_cpp.language()))


def _mutant(path: str, data: bytes, statement: int, within: str, edit: Edit) -> Mutant:
    start, end, after, operator = edit
    after = keep_apart(data, start, end, after)
    line = data.count(b"\n", 0, start) + 1
    return Mutant(path, line, data[start:end].decode(), after, operator, start, min(statement, line), within)


def _faults(root: "Node", is_c: bool) -> Iterator[tuple[int, str, Edit]]:
    pending: list[tuple[Node, int, str]] = [(root, 1, "")]
    while pending:
        node, statement, within = pending.pop()
        if node.type in _NOISE or node.is_error or _only_tells(node):
            continue
        if node.type.endswith("_statement") or node.type == "declaration":
            statement = node.start_point.row + 1
        if within:
            yield from ((statement, within, edit) for edit in edits_of(node, is_c))
        if node.type == "function_definition":
            body, name = node.child_by_field_name("body"), _name(node)
            pending += [(body, statement, name)] if body and name != "main" else []
            continue
        pending += [(child, statement, within) for child in node.named_children]


def _name(function: "Node") -> str:
    inner: Node | None = function
    while inner is not None and (deeper := inner.child_by_field_name("declarator")):
        inner = deeper
    return (inner.text or b"").decode("utf-8", "replace").split("(")[0] if inner else ""


def _only_tells(node: "Node") -> bool:
    """A call that logs or asserts, or a chain of `<<` into an error stream; alone or as a statement."""
    if node.type == "expression_statement" and node.named_children:
        node = node.named_children[0]
    if node.type == "call_expression":
        called = node.child_by_field_name("function")
        return bool(called and (called.text or b"").decode("utf-8", "replace").endswith(_TELLING))
    left: Node | None = node if node.type == "binary_expression" else None
    while left is not None and left.type == "binary_expression":
        left = left.child_by_field_name("left")
    return bool(left and (left.text or b"").decode("utf-8", "replace") in _STREAMS)
