"""Refactor C and C++ by syntax tree: rename a function's variable, sort and clean includes."""

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from kith.core.errors import UsageError

if TYPE_CHECKING:
    from tree_sitter import Node

ENDINGS: Final = (".c", ".cc", ".cpp", ".cxx", ".h", ".hh", ".hpp", ".hxx", ".inl", ".ipp", ".tpp")
_INCLUDE: Final = re.compile(rb"[ \t]*#[ \t]*include[ \t]*([<\"][^>\"\r\n]+[>\"])([^\r\n]*)")
_NAME: Final = re.compile(r"[A-Za-z_]\w*")
_DECLARES: Final = frozenset(
    {
        *("parameter_declaration", "optional_parameter_declaration", "init_declarator", "declaration"),
        *("pointer_declarator", "reference_declarator", "array_declarator", "for_range_loop"),
        *("variadic_parameter_declaration", "structured_binding_declarator"),
    }
)


def rename_local(path: str, content: bytes, dotted: str, new: str) -> bytes:
    """Rename a parameter or variable of a function: `add.left`, or `Point::add.left`.

    Raises UsageError when it is not there or is declared twice, so that one hides the other. It also does
    when the function has the new name or a macro.
    """
    outer, _, old = dotted.rpartition(".")
    if not _NAME.fullmatch(new) or not _NAME.fullmatch(old):
        raise UsageError(f"{new} is not a plain name in C++.")
    function = _find_function(path, content, outer)
    names = [node for node in _nodes(function) if node.type == "identifier"]
    uses = [node for node in names if node.text == old.encode()]
    declared = [node for node in uses if _is_declared(node)]
    if len(declared) != 1:
        many = f"declares {old} {len(declared)} times" if declared else f"has no variable {old}"
        raise UsageError(f"{path}: {outer} {many}.")
    taken = next(
        (node for node in _nodes(function) if node.child_count == 0 and node.text == new.encode()), None
    )
    if taken is not None:
        raise UsageError(f"{path}:{taken.start_point.row + 1}: {new} is already a name there.")
    macro = next(
        (node for node in _nodes(function) if node.type.startswith("preproc_") or node.type == "ERROR"), None
    )
    if macro is not None:
        raise UsageError(
            f"{path}:{macro.start_point.row + 1}: {outer} has a macro, so its names are not certain."
        )
    parts, end = list[bytes](), 0
    for node in uses:
        if node.parent is not None and node.parent.type == "qualified_identifier":
            continue
        parts += [content[end : node.start_byte], new.encode()]
        end = node.end_byte
    return b"".join([*parts, content[end:]])


def _find_function(path: str, content: bytes, name: str) -> "Node":
    import tree_sitter
    import tree_sitter_cpp

    root = tree_sitter.Parser(tree_sitter.Language(tree_sitter_cpp.language())).parse(content).root_node
    found = [node for node in _nodes(root) if node.type == "function_definition" and _called(node) == name]
    if len(found) != 1:
        many = f"defines {name} {len(found)} times" if found else f"defines no function {name}"
        raise UsageError(f"{path} {many}.")
    return found[0]


def _called(function: "Node") -> str:
    inner = function.child_by_field_name("declarator")
    while inner is not None and inner.type != "function_declarator":
        inner = inner.child_by_field_name("declarator") or (
            inner.named_children[0] if inner.named_children else None
        )
    name = inner.child_by_field_name("declarator") if inner is not None else None
    return name.text.decode("utf-8", "replace") if name is not None and name.text else ""


def _nodes(node: "Node") -> "Iterator[Node]":
    """A node and all below it, in the order of the text."""
    todo = [node]
    while todo:
        each = todo.pop()
        yield each
        todo += reversed(each.children)


def _is_declared(node: "Node") -> bool:
    parent = node.parent
    if parent is None or parent.type not in _DECLARES:
        return False
    if parent.type == "init_declarator":
        return parent.child_by_field_name("declarator") == node
    if parent.type in ("declaration", "for_range_loop", "array_declarator"):
        return node in parent.children_by_field_name("declarator")
    return True


# --- includes --------------------------------------------------------------------------------


def organise_includes(path: str, content: bytes) -> bytes:
    """Each run of `#include` lines sorted, one named twice kept once; a file's own header stays first.

    Runs end at blank lines, conditions and all other code, so the groups of a file stay what they are.
    """
    newline = b"\r\n" if b"\r\n" in content else b"\n"
    rows = content.split(newline)
    made: list[bytes] = []
    run: list[bytes] = []
    seen: set[bytes] = set()
    for row in [*rows, b"\0"]:
        found = _INCLUDE.fullmatch(row)
        if found is not None:
            run.append(row)
            continue
        made += _sorted(path, run, seen)
        run = []
        if row.lstrip().startswith(b"#"):  # behind a condition nothing is certainly there already
            seen = set()
        made.append(row)
    return newline.join(made[:-1])


def _sorted(path: str, run: Sequence[bytes], seen: set[bytes]) -> list[bytes]:
    stem = path.rpartition("/")[2].rpartition(".")[0].encode()
    kept: list[tuple[bool, bool, bytes, bytes]] = []
    for row in run:
        found = _INCLUDE.fullmatch(row)
        assert found
        name = found[1]
        if name in seen and not found[2].strip():
            continue
        seen.add(name)
        own = name[:1] == b'"' and name[1:-1].rpartition(b"/")[2].rpartition(b".")[0] == stem
        kept.append((not own, name[:1] == b'"', name.lower(), row))
    return [row for *_, row in sorted(kept, key=lambda each: each[:3])]
