"""One name exchanged for another wherever the syntax says it is a name: never in strings or comments."""

import importlib
import keyword
import re
from collections.abc import Iterator
from posixpath import splitext
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from kith.core.errors import UsageError

if TYPE_CHECKING:
    from tree_sitter import Node, Parser

_BOM: Final = b"\xef\xbb\xbf"
_C_WORDS = """
    auto break case char const continue default do double else enum extern float for goto if inline int
    long register restrict return short signed sizeof static struct switch typedef union unsigned void
    volatile while
"""
_CPP_WORDS = """
    alignas alignof and and_eq asm bitand bitor bool catch char16_t char32_t char8_t class co_await
    co_return co_yield compl concept const_cast consteval constexpr constinit decltype delete dynamic_cast
    explicit export false friend mutable namespace new noexcept not not_eq nullptr operator or or_eq
    private protected public reinterpret_cast requires static_assert static_cast template this
    thread_local throw true try typeid typename using virtual wchar_t xor xor_eq
"""
_JS_WORDS = """
    await break case catch class const continue debugger default delete do else enum export extends false
    finally for function if implements import in instanceof interface let new null package private
    protected public return static super switch this throw true try typeof var void while with yield
"""
_GO_WORDS = """
    break case chan const continue default defer else fallthrough for func go goto if import interface map
    package range return select struct switch type var
"""
_RUST_WORDS = """
    Self abstract as async await become box break const continue crate do dyn else enum extern false final
    fn for gen if impl in let loop macro match mod move mut override priv pub ref return self static
    struct super trait true try type typeof unsafe unsized use virtual where while yield
"""


class _Grammar(Struct, frozen=True):
    """The place of a language's grammar, and its reserved words."""

    module: str
    function: str
    reserved: frozenset[str]


_CPP: Final = _Grammar("tree_sitter_cpp", "language", frozenset((_C_WORDS + _CPP_WORDS).split()))
_JS_RESERVED: Final = frozenset(_JS_WORDS.split())
_GRAMMARS: Final = {
    "python": _Grammar("tree_sitter_python", "language", frozenset(keyword.kwlist)),
    # There is no grammar for C of its own here; that of C++ reads it well enough.
    "c": _Grammar("tree_sitter_cpp", "language", frozenset(_C_WORDS.split())),
    "cpp": _CPP,
    "javascript": _Grammar("tree_sitter_javascript", "language", _JS_RESERVED),
    "typescript": _Grammar("tree_sitter_typescript", "language_typescript", _JS_RESERVED),
    "tsx": _Grammar("tree_sitter_typescript", "language_tsx", _JS_RESERVED),
    "go": _Grammar("tree_sitter_go", "language", frozenset(_GO_WORDS.split())),
    "rust": _Grammar("tree_sitter_rust", "language", frozenset(_RUST_WORDS.split())),
}
_ENDINGS: Final = {
    "python": (".py", ".pyi", ".pyw"),
    "c": (".c",),
    "cpp": (".cc", ".cpp", ".cu", ".cxx", ".h", ".hh", ".hpp", ".hxx", ".inl", ".ipp", ".tpp"),
    "javascript": (".cjs", ".js", ".jsx", ".mjs"),
    "typescript": (".cts", ".mts", ".ts"),
    "tsx": (".tsx",),
    "go": (".go",),
    "rust": (".rs",),
}
_LANGUAGES: Final = {ending: language for language, endings in _ENDINGS.items() for ending in endings}
# Macros hide C and C++ from any parser; elsewhere a file that does not parse is not touched.
_TOLERANT: Final = frozenset({"c", "cpp"})
_MACRO_TOKEN: Final = re.compile(
    rb'"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)*\'|//[^\n]*|/\*.*?\*/|[A-Za-z_\x80-\xff][\w\x80-\xff]*', re.S
)


def language_of(path: str) -> str:
    """The language of a file that symbols can be renamed in, "" for any other."""
    return _LANGUAGES.get(splitext(path)[1].lower(), "")


def holds_word(content: bytes, word: str) -> bool:
    """True when the bytes hold the word with no letter, digit or underscore beside it."""
    return any(True for _ in _word_places(content, word))


def rename_symbol(content: bytes, old: str, new: str, language: str) -> tuple[bytes, int]:
    """Rename every identifier `old` to `new`; return the content and their number.

    Scopes are ignored: each identifier, attribute, keyword argument and import of that name counts. In
    Python, so do the elements of `__all__`; in C and C++, the bodies of macros. Strings and comments
    stay. Raises UsageError when a name is no plain identifier, or `new` is a keyword or already used in
    this file. It also raises it when the file does not parse (C and C++ excepted), or the grammar is not
    installed.
    """
    _check_names(old, new, language)
    if not holds_word(content, old):
        return content, 0
    bom = _BOM if content.startswith(_BOM) else b""
    source = content.removeprefix(_BOM)
    root = _parser(language).parse(source).root_node
    if root.has_error and language not in _TOLERANT:
        raise UsageError(f"It holds {old} and does not parse as {language}, so its names are not known.")
    places = list(_places(root, source, old))
    if not places:
        return content, 0
    taken = next(_places(root, source, new), None)
    if taken is not None:
        line = source.count(b"\n", 0, taken) + 1
        raise UsageError(f"{new} is already a name in line {line}.")
    parts, end = [bom], 0
    for place in places:
        parts += [source[end:place], new.encode()]
        end = place + len(old.encode())
    return b"".join([*parts, source[end:]]), len(places)


def _check_names(old: str, new: str, language: str) -> None:
    for name in (old, new):
        if "." in name or "::" in name:
            raise UsageError(f"{name} is a name inside another; only plain names can be renamed everywhere.")
        if not (
            name.replace("$", "_") if language in ("javascript", "typescript", "tsx") else name
        ).isidentifier():
            raise UsageError(f"{name} is not a name in {language}.")
        if name in _GRAMMARS[language].reserved:
            raise UsageError(f"{name} is a keyword of {language}.")
    if old == new:
        raise UsageError(f"Both names are {old}; there is nothing to do.")


def _parser(language: str) -> "Parser":
    import tree_sitter

    grammar = _GRAMMARS[language]
    try:
        module = importlib.import_module(grammar.module)
    except ImportError:
        raise UsageError(
            f"Renaming in {language} needs its grammar: install `kith-agent[languages]`."
        ) from None
    return tree_sitter.Parser(tree_sitter.Language(getattr(module, grammar.function)()))


def _places(root: "Node", source: bytes, name: str) -> Iterator[int]:
    """The byte offsets at which `name` occurs as a name."""
    length = len(name.encode())
    for place in _word_places(source, name):
        node = root.named_descendant_for_byte_range(place, place + length)
        if node is None:
            continue
        macro = _macro_around(node)
        if macro is not None:
            if _is_token(source[macro.start_byte : macro.end_byte], place - macro.start_byte):
                yield place
        elif (node.start_byte, node.end_byte) == (place, place + length):
            named = node.type.endswith("identifier") or node.type == "label_name"
            if named or (node.type == "string_content" and _is_exported(node)):
                yield place


def _word_places(content: bytes, word: str) -> Iterator[int]:
    pattern = re.compile(rb"(?<![\w\x80-\xff])%s(?![\w\x80-\xff])" % re.escape(word.encode()))
    return (match.start() for match in pattern.finditer(content))


def _is_exported(text: "Node") -> bool:
    """True for an element of Python's `__all__`, in `=` as in `+=`."""
    string = text.parent
    elements = string.parent if string else None
    statement = elements.parent if elements else None
    if string is None or elements is None or statement is None or string.child_count != 3:
        return False
    left = statement.child_by_field_name("left")
    return (
        elements.type in ("list", "tuple")
        and statement.type in ("assignment", "augmented_assignment")
        and left is not None
        and left.text == b"__all__"
    )


def _macro_around(node: "Node | None") -> "Node | None":
    """The `#define` that a node of C or C++ belongs to."""
    while node is not None and node.type not in ("preproc_def", "preproc_function_def"):
        node = node.parent
    return node


def _is_token(macro: bytes, place: int) -> bool:
    """True when a token begins there: a macro is a row of tokens, and the grammar misreads some as trees."""
    return any(match.start() == place for match in _MACRO_TOKEN.finditer(macro))
