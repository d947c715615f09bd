"""The definitions of a source text and the lines they span, in the languages kith reads."""

import ast
import re
import warnings
from collections.abc import Iterator
from functools import lru_cache
from posixpath import splitext
from typing import TYPE_CHECKING, Final, Literal

from msgspec import Struct

from kith.core.patterns import lazy_pattern

if TYPE_CHECKING:
    from tree_sitter import Node, Parser


@lru_cache(maxsize=1)  # who looks at one file for two purposes has it parsed once
def parse_python(text: str) -> ast.Module | None:
    """The tree of a text, None where Python refuses it. Not to be changed: the next may get the same one."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a foreign file's invalid escapes are not our news
            return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


_CPP: Final = frozenset({".c", ".cc", ".cpp", ".cu", ".cxx", ".h", ".hh", ".hpp", ".hxx", ".inl", ".ipp"})
PYTHON_ENDINGS: Final = frozenset({".py", ".pyi", ".pyw"})

Sort = Literal["function", "method", "class", "constant", "namespace"]


class Symbol(Struct, frozen=True):
    """A definition: its name with what encloses it (`Cache.get`), and its first and last line, from 1.

    `sort` is what it defines: any type counts as a class, any variable or alias as a constant.
    """

    name: str
    first: int
    last: int
    sort: Sort = "function"


def find_symbols(path: str, text: str) -> tuple[Symbol, ...]:
    """Find the definitions in a text, in order of their first line. Lines end with a line feed only.

    Python is read by its own parser, C and C++ by tree-sitter when it is installed. For other languages,
    and for text that does not parse, patterns match a definition's first line and guess its end.
    """
    ending = splitext(path)[1].lower()
    found: Iterator[Symbol] | None = None
    if ending in PYTHON_ENDINGS:
        found = _python_symbols(text)
    elif ending in _CPP:
        found = _cpp_symbols(text)
    if found is None:
        found = _guess_symbols(_PATTERNS.get(ending), text)
    return tuple(sorted(found, key=lambda symbol: (symbol.first, -symbol.last)))


_KEYWORD: Final = lazy_pattern(
    r"\b(?:class|def|enum|fn|func|function|interface|namespace|struct|trait|type)\s+(\w+)"
)


def find_defined(text: str) -> list[str]:
    """The names behind a defining keyword, in any language: quick, and a few are wrong."""
    return _KEYWORD.findall(text)


# --- Python ----------------------------------------------------------------------------------


def _python_symbols(text: str) -> Iterator[Symbol] | None:
    tree = parse_python(text)
    return _python_definitions(tree.body, "") if tree else None


def _python_definitions(body: list[ast.stmt], outer: str) -> Iterator[Symbol]:
    """Functions, classes and their methods, and names assigned at the top of a module or class."""
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            first = min([node.lineno, *(each.lineno for each in node.decorator_list)])
            is_class = isinstance(node, ast.ClassDef)
            sort: Sort = "class" if is_class else "method" if outer else "function"
            yield Symbol(outer + node.name, first, node.end_lineno or first, sort)
            if isinstance(node, ast.ClassDef):
                yield from _python_definitions(node.body, f"{outer}{node.name}.")
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            for target in targets:
                if isinstance(target, ast.Name):
                    last = node.end_lineno or node.lineno
                    yield Symbol(outer + target.id, node.lineno, last, "constant")
        elif isinstance(node, ast.If | ast.Try):
            yield from _python_definitions(node.body, outer)
            yield from _python_definitions(node.orelse, outer)


# --- C and C++ -------------------------------------------------------------------------------

_CPP_DEFINING = """
    alias_declaration class_specifier enum_specifier function_definition namespace_definition preproc_def
    preproc_function_def struct_specifier type_definition union_specifier
"""
_CPP_DEFINITIONS: Final = frozenset(_CPP_DEFINING.split())
# What is looked into for more definitions; bodies of functions are not.
_CPP_HOLDING = """
    translation_unit namespace_definition declaration_list class_specifier struct_specifier union_specifier
    field_declaration_list template_declaration linkage_specification preproc_if preproc_ifdef preproc_else
    preproc_elif declaration field_declaration ERROR
"""
_CPP_HOLDERS: Final = frozenset(_CPP_HOLDING.split())
_CPP_WRAPPINGS: Final = frozenset({"template_declaration", "preproc_if", "preproc_ifdef", "preproc_else"})
_CPP_SORTS: Final[dict[str, Sort]] = {
    "namespace_definition": "namespace",
    "preproc_def": "constant",
    "preproc_function_def": "function",
}
_DEEPEST: Final = 40


def _cpp_symbols(text: str) -> Iterator[Symbol] | None:
    parser = cpp_parser()
    if parser is None:
        return None
    return _cpp_definitions(parser.parse(text.encode("utf-8", "replace")).root_node, "")


def cpp_parser() -> "Parser | None":
    """A parser of C and C++; None where tree-sitter is missing."""
    try:
        import tree_sitter
        import tree_sitter_cpp
    except ImportError:
        return None
    return tree_sitter.Parser(tree_sitter.Language(tree_sitter_cpp.language()))


def _cpp_definitions(node: "Node", outer: str, depth: int = 0) -> Iterator[Symbol]:
    for child in node.named_children:
        name = _cpp_name(child) if _defines(child) else ""
        if name:
            whole = node if node.type == "template_declaration" else child
            first, end = whole.start_point.row + 1, whole.end_point
            # A macro's node ends at the start of the line after it.
            last = max(first, end.row + (1 if end.column else 0))
            yield Symbol(outer + name, first, last, _cpp_sort(child))
        if child.type in _CPP_HOLDERS and depth < _DEEPEST:
            yield from _cpp_definitions(child, f"{outer}{name}::" if name else outer, depth + 1)


def _defines(node: "Node") -> bool:
    """True for a definition; `struct Point p;` only mentions a type."""
    if node.type not in _CPP_DEFINITIONS:
        return False
    return not node.type.endswith("_specifier") or node.child_by_field_name("body") is not None


def _cpp_sort(node: "Node") -> Sort:
    """Return the sort of a C++ definition. `A::f` outside its class is a function: A may be a namespace."""
    if node.type == "function_definition":
        holder = node.parent
        while holder is not None and holder.type in _CPP_WRAPPINGS:
            holder = holder.parent
        return "method" if holder is not None and holder.type == "field_declaration_list" else "function"
    return _CPP_SORTS.get(node.type, "class")


def _cpp_name(node: "Node") -> str:
    """The name of a definition, however deep in pointers, references and arrays its declarator hides it."""
    inner = node.child_by_field_name("name") or node.child_by_field_name("declarator")
    while inner is not None and inner.child_by_field_name("declarator"):
        inner = inner.child_by_field_name("declarator")
    if inner is not None and inner.type == "reference_declarator":
        inner = inner.named_children[0].child_by_field_name("declarator")
    return inner.text.decode("utf-8", "replace") if inner is not None and inner.text else ""


# --- everything else -------------------------------------------------------------------------

_SCRIPT: Final = lazy_pattern(
    r"^([ \t]*)(?:export\s+)?(?:default\s+)?(?:declare\s+|abstract\s+|async\s+)*"
    r"(?:(?:function|class|interface|enum|type|namespace)\s*\*?\s+([\w$]+)"
    r"|(?:const|let|var)\s+([\w$]+)\s*(?::[^=\n]+)?=\s*(?:async\s*)?(?:function|\(|[\w$]+\s*=>))"
)
_GO: Final = lazy_pattern(r"^()(?:func|type)\s+(?:\([^)]*\)\s*)?(\w+)|^(?:var|const)\s+(\w+)")
_RUST: Final = lazy_pattern(
    r"^([ \t]*)(?:pub(?:\([^)]*\))?\s+)?(?:async\s+|unsafe\s+|const\s+|extern\s+\"\w+\"\s+)*"
    r"(?:fn|struct|enum|trait|mod|type|macro_rules!)\s+(\w+)|^impl\b[^{\n]*?(\w+)\s*(?:<[^{\n]*)?\{"
)
_JAVA: Final = lazy_pattern(
    r"^([ \t]*)(?:@\w+\s+)*(?:(?:public|private|protected|internal|static|final|abstract|sealed|override"
    r"|virtual|async|open|data|suspend)\s+)*(?:(?:class|interface|enum|record|struct|object|fun|func)\s+(\w+)"
    r"|(?!else|return|new\b)[\w<>\[\],.?]+\s+((?!if\b)\w+)\s*\([^;{]*\)\s*(?:throws [\w, .]+)?\{)"
)
_RUBY: Final = lazy_pattern(r"^([ \t]*)(?:def|class|module)\s+(?:self\.)?([\w?!:]+)|^([A-Z]\w*)\s*=")
_SHELL: Final = lazy_pattern(r"^()(?:function\s+([\w-]+)|([\w-]+)\s*\(\))")
_PLAIN_PYTHON: Final = lazy_pattern(
    r"^([ \t]*)(?:async\s+)?(?:def|class)\s+(\w+)|^([A-Za-z_]\w*)\s*(?::[^=\n]+)?=(?!=)"
)
_PLAIN_C: Final = lazy_pattern(
    r"^()(?:(?:typedef\s+)?(?:class|struct|union|enum|namespace|#define)\s+(\w+)"
    r"|[A-Za-z_][\w\s:<>,*&]*?[\s*&]([\w:~]+)\s*\([^;]*$)"
)
# The first line of a definition per language: its indentation, then its name in one of two places.
_PATTERNS: Final = {
    **dict.fromkeys(
        (".js", ".jsx", ".mjs", ".cjs", ".ts", ".tsx", ".mts", ".cts", ".vue", ".svelte"), _SCRIPT
    ),
    **dict.fromkeys((".java", ".kt", ".kts", ".cs", ".scala", ".swift"), _JAVA),
    **dict.fromkeys((".sh", ".bash", ".zsh"), _SHELL),
    **dict.fromkeys(PYTHON_ENDINGS, _PLAIN_PYTHON),
    **dict.fromkeys(_CPP, _PLAIN_C),
    ".go": _GO,
    ".rs": _RUST,
    ".rb": _RUBY,
}
_GUESSED_LINES: Final = 60
_TYPE_WORD: Final = lazy_pattern(r"\b(?:class|enum|impl|interface|object|record|struct|trait|type|union)\b")
_SPACE_WORD: Final = lazy_pattern(r"\b(?:mod|module|namespace)\b")
_VALUE: Final = lazy_pattern(r"(?:var|const|#define)\b|[A-Za-z_]\w*\s*(?::[^=\n]+)?=")


def _guess_symbols(pattern: re.Pattern[str] | None, text: str) -> Iterator[Symbol]:
    """Definitions by their first line; each ends before the next one that is not deeper."""
    if pattern is None:
        return
    lines = text.split("\n")
    starts = [(number, match) for number, line in enumerate(lines, 1) if (match := pattern.match(line[:300]))]
    for at, (first, match) in enumerate(starts):
        depth, later = len(match[1] or ""), starts[at + 1 : at + 2 + _GUESSED_LINES]
        after = next((number for number, other in later if len(other[1] or "") <= depth), len(lines) + 1)
        last = min(after - 1, first + _GUESSED_LINES)
        while last > first and not lines[last - 1].strip():
            last -= 1
        yield Symbol(match[2] or match[3], first, last, _guess_sort(pattern, match))


def _guess_sort(pattern: re.Pattern[str], match: re.Match[str]) -> Sort:
    """Guess the sort of a definition from its first line."""
    head = match.group()
    if _TYPE_WORD.search(head):
        return "class"
    if _SPACE_WORD.search(head):
        return "namespace"
    if pattern is not _SCRIPT and _VALUE.match(head):  # a script's `const` counts when it holds a function
        return "constant"
    return "method" if match[1] else "function"
