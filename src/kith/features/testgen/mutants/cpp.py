"""Plant faults in C and C++ source, inside the bodies of functions, by tree-sitter's syntax tree."""

import re
from collections.abc import Iterator, Sequence
from posixpath import splitext
from typing import TYPE_CHECKING, Final

from kith.context.symbols import cpp_parser
from kith.features.testgen.mutants.mutant import Mutant, keep_apart

if TYPE_CHECKING:
    from tree_sitter import Node

Edit = tuple[int, int, str, str]  # first byte, behind the last, what stands there instead, operator

_BOUNDARY: Final = {"<": "<=", "<=": "<", ">": ">=", ">=": ">"}
# With these a test on the boundary is not enough: one beyond it is needed too.
_ONLY_THERE: Final = {"<": "!=", "<=": "==", ">": "!=", ">=": "=="}
_OPPOSITE: Final = {"<": ">=", "<=": ">", ">": "<=", ">=": "<", "==": "!=", "!=": "=="}
_ARITHMETIC: Final = {"+": "-", "-": "+", "*": "/", "/": "*", "%": "*", "&": "|", "|": "&", "^": "&"}
_BOOLEAN: Final = {"&&": "||", "||": "&&", "and": "or", "or": "and"}
_ASSIGNED: Final = {"+=": "-=", "-=": "+=", "*=": "/=", "/=": "*=", "%=": "*=", "&=": "|=", "|=": "&="}
_STEPS: Final = {"++": "--", "--": "++"}
_DECIMAL: Final = re.compile(r"(\d+)([uUlLzZ]*)")
_FRACTION: Final = re.compile(r"(\d+)(\.\d*)([fFlL]?)")
_TEXT_LITERALS: Final = ("string_literal", "concatenated_string", "char_literal", "raw_string_literal")
_CONSTANTS: Final = frozenset({"true", "false", "number_literal", "string_literal", "null"})
_LOOPS: Final = frozenset({"for_statement", "while_statement", "do_statement", "for_range_loop"})


def edits_of(node: "Node", is_c: bool) -> Iterator[Edit]:
    """Every fault that can be planted at a node itself; those of its children are their own."""
    match node.type:
        case "binary_expression":
            yield from _binary(node)
        case "assignment_expression":
            yield from _swapped(node, _ASSIGNED, "arithmetic")
        case "update_expression" if not _steps_a_loop(node):
            yield from _swapped(node, _STEPS, "arithmetic")
        case "unary_expression" if _word(node) in ("!", "not"):
            operand = node.child_by_field_name("argument")
            if operand:
                yield node.start_byte, operand.start_byte, "", "condition"
        case "true" | "false":
            yield node.start_byte, node.end_byte, "false" if node.type == "true" else "true", "constant"
        case "number_literal":
            yield from _number(node)
        case "string_literal" if not _is_joined(node) and _text(node).startswith('"'):
            yield node.start_byte, node.end_byte, '""' if len(_text(node)) > 2 else '"XX"', "constant"
        case "if_statement" | "while_statement" | "do_statement" | "conditional_expression":
            yield from _negated(node.child_by_field_name("condition"))
        case _:
            yield from _statement(node, is_c)


def _statement(node: "Node", is_c: bool) -> Iterator[Edit]:
    match node.type:
        case "return_statement" if value := next(iter(node.named_children), None):
            if value.type not in (*_CONSTANTS, "initializer_list", "comment"):
                for other in _other_results(value, is_c):
                    yield value.start_byte, value.end_byte, other, "return"
        case "break_statement" if _ends_a_loop(node):
            yield node.start_byte, node.end_byte, "continue;", "loop"
        case "continue_statement":
            yield node.start_byte, node.end_byte, "break;", "loop"
        case "expression_statement" if effect := next(iter(node.named_children), None):
            left = effect.child_by_field_name("left")
            stored = left is not None and left.type in ("field_expression", "subscript_expression")
            if effect.type == "call_expression" or _word(effect) in _ASSIGNED or stored:
                yield node.start_byte, node.end_byte, ";", "removed"


def _other_results(value: "Node", is_c: bool) -> tuple[str, ...]:
    """Other results of a function: one of two, where only two are possible."""
    compared = value.type == "binary_expression" and _word(value) in (*_OPPOSITE, *_BOOLEAN)
    if compared or (value.type == "unary_expression" and _word(value) in ("!", "not")):
        return ("1", "0") if is_c else ("true", "false")
    return ("0",) if is_c else ("{}",)


def _binary(node: "Node") -> Iterator[Edit]:
    word = _word(node)
    if word in _BOUNDARY and not _only_takes_over(node):
        yield from _swapped(node, _BOUNDARY, "boundary")
        if not _never_passes(node):
            yield from _swapped(node, _ONLY_THERE, "boundary")
    yield from _swapped(node, _OPPOSITE, "comparison")
    yield from _swapped(node, _BOOLEAN, "boolean")
    if not _is_text(node) and not _is_neutral(node, word):
        yield from _swapped(node, _ARITHMETIC, "arithmetic")


def _swapped(node: "Node", words: dict[str, str], operator: str) -> Iterator[Edit]:
    sign = node.child_by_field_name("operator")
    if sign is not None and _text(sign) in words:
        yield sign.start_byte, sign.end_byte, words[_text(sign)], operator


def _number(node: "Node") -> Iterator[Edit]:
    text = _text(node)
    if whole := _DECIMAL.fullmatch(text):
        if len(whole[1]) < 18 and not (whole[1].startswith("0") and len(whole[1]) > 1):  # octal
            yield node.start_byte, node.end_byte, f"{int(whole[1]) + 1}{whole[2]}", "constant"
    elif (part := _FRACTION.fullmatch(text)) and len(part[1]) < 15:
        yield node.start_byte, node.end_byte, f"{int(part[1]) + 1}{part[2]}{part[3]}", "constant"


def _negated(condition: "Node | None") -> Iterator[Edit]:
    """`!(...)` around a condition, where no other fault says the same."""
    if condition is None:
        return
    test = condition
    while test.type in ("condition_clause", "parenthesized_expression"):
        inner = [child for child in test.named_children if child.type != "comment"]
        if len(inner) != 1:
            return  # `if (auto x = f(); x)`
        test = inner[0]
    compared = test.type == "binary_expression" and _word(test) in _OPPOSITE
    negated = test.type == "unary_expression" and _word(test) in ("!", "not")
    if compared or negated or test.type in (*_CONSTANTS, "declaration"):
        return
    yield test.start_byte, test.end_byte, f"!({_text(test)})", "condition"


# --- what would change nothing, or break at once ---------------------------------------------


def _only_takes_over(node: "Node") -> bool:
    """`if (x > best) best = x;`: where both are equal, it is all the same which one is taken."""
    clause = node.parent
    owner = clause.parent if clause is not None else None
    if owner is None or owner.type != "if_statement" or owner.child_by_field_name("alternative"):
        return False
    body = owner.child_by_field_name("consequence")
    if body is not None and body.type == "compound_statement" and len(body.named_children) == 1:
        body = body.named_children[0]
    taken = body.named_children[0] if body is not None and body.named_children else None
    if taken is None or taken.type != "assignment_expression" or _word(taken) != "=":
        return False
    return _sides(taken) == _sides(node)


def _never_passes(node: "Node") -> bool:
    """A length is never below 0, and a counter that goes up by one meets the end of its loop exactly."""
    left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
    if left and right and _text(left).endswith(("size()", "length()")) and _text(right) == "0":
        return True
    above = node.parent
    while above is not None and above.type in ("condition_clause", "parenthesized_expression"):
        above = above.parent
    return above is not None and above.type in _LOOPS


def _sides(node: "Node") -> frozenset[str]:
    sides = (node.child_by_field_name("left"), node.child_by_field_name("right"))
    return frozenset(_text(side) for side in sides if side is not None)


def _is_text(node: "Node") -> bool:
    sides = (node.child_by_field_name("left"), node.child_by_field_name("right"))
    return any(side is not None and side.type in _TEXT_LITERALS for side in sides)


def _is_neutral(node: "Node", word: str) -> bool:
    """`x * 1`, `x + 0`: the same under the operator that would take its place."""
    right = node.child_by_field_name("right")
    return right is not None and _text(right) == {"*": "1", "/": "1", "+": "0", "-": "0"}.get(word)


def _steps_a_loop(node: "Node") -> bool:
    """`for (...; ...; i++)`: the other way it would run for ever, which any test notices, late."""
    above = node.parent
    return above is not None and above.type in ("for_statement", "comma_expression")


def _ends_a_loop(node: "Node") -> bool:
    """Tell whether a `break` leaves a loop, and no `switch`."""
    above = node.parent
    while above is not None and above.type not in (*_LOOPS, "switch_statement"):
        above = above.parent
    return above is not None and above.type in _LOOPS


def _is_joined(node: "Node") -> bool:
    return node.parent is not None and node.parent.type == "concatenated_string"


def _word(node: "Node") -> str:
    sign = node.child_by_field_name("operator")
    return _text(sign) if sign is not None else ""


def _text(node: "Node") -> str:
    return (node.text or b"").decode("utf-8", "replace")


# --- the mutants -----------------------------------------------------------------------------


if TYPE_CHECKING:
    from tree_sitter import Node

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
    parser = cpp_parser()
    if parser is None:
        return ()
    is_c = splitext(path)[1] == ".c"
    root = parser.parse(data).root_node
    return [_mutant(path, data, *fault) for fault in _faults(root, is_c)]


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
