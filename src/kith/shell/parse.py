"""Parse a plain shell command: programs and words, joined by `&&`, `||`, `;` and `|`.

Two parsers must agree on every token: tree-sitter's grammar of bash, which knows the whole language, and
the standard library's shlex, which knows only quotes. Anything else in a command makes it not plain.
"""

import re
import shlex
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final, Literal, TypeAlias, cast

from msgspec import Struct

if TYPE_CHECKING:
    from tree_sitter import Node

LONGEST: Final = 4_000  # characters
MOST: Final = 50  # programs in one command
DEEPEST: Final = 100  # nodes above each other, in the grammar's tree

Joint = Literal["", "&&", "||", ";", "|"]

_JOINTS: Final = ("&&", "||", ";", "|")
_INSIDE: Final = ("program", "list", "pipeline", "redirected_statement", "command", "command_name")
_WORDS: Final = ("word", "number", "raw_string", "string", "concatenation")
# What stands for itself outside quotes. `~` only behind a letter or digit (HEAD~2): elsewhere it is a folder.
_BARE: Final = re.compile(r"(?:[\w./,:=+@%^*?-]|(?<=\w)~|@\{\d+\})+|\\[()!]")
# Between double quotes `$`, backtick and backslash may mean something; here they do not.
_QUOTED: Final = re.compile(r'(?:[^$`\\"]|\$(?=[|) "]|$)|\\(?![$`"\\]|$))*')
_PROGRAM: Final = re.compile(r"[a-zA-Z][a-zA-Z0-9_.+-]*|:")
_GLOB: Final = re.compile(r"[*?]")
_IN_WORDS: Final = {
    "command_substitution": "a command inside the command",
    "process_substitution": "a command inside the command",
    "simple_expansion": "a variable",
    "expansion": "a variable",
    "arithmetic_expansion": "arithmetic",
    "variable_assignment": "a variable that is set",
    "variable_assignments": "a variable that is set",
    "declaration_command": "a variable that is set",
    "unset_command": "a variable that is unset",
    "heredoc_redirect": "a text for its input",
    "herestring_redirect": "a text for its input",
    "ansi_c_string": "a text with escapes",
    "translated_string": "a text to translate",
    "brace_expression": "braces",
    "comment": "a comment",
    "subshell": "parentheses",
    "compound_statement": "braces",
    "function_definition": "a function",
    "negated_command": "a negation",
    "test_command": "a test in brackets",
    "&": "something that goes on in the background",
    "|&": "a pipe of errors",
}


class NotPlainError(Exception):
    """A command that is not plainly understood; its text says why, in words for a person."""


class Word(Struct, frozen=True):
    """A word as the program gets it. `glob`: the shell may put names of files in its place."""

    text: str
    glob: bool = False


class Simple(Struct, frozen=True):
    """One program with its words, its name first, and what joins it to the one before it.

    `inputs` are the files that it reads as its standard input.
    """

    words: tuple[Word, ...]
    joint: Joint = ""
    inputs: tuple[Word, ...] = ()

    @property
    def program(self) -> str:
        return self.words[0].text


class _Operator(Struct, frozen=True):
    """`&&` and its kin, or one that leads output or input elsewhere, with its number and its target."""

    text: str
    number: str = ""
    target: Word | None = None


_Item: TypeAlias = Word | _Operator


def parse(line: str) -> tuple[Simple, ...]:
    """The programs of a plain command, in order. Raises NotPlainError for any other."""
    _check_characters(line)
    items = tuple(_items_of(_tree(line), line.encode()))
    if list(_tokens(items)) != _split(line):
        raise NotPlainError("it can be read in two ways")
    commands = tuple(_group(items))
    if len(commands) > MOST:
        raise NotPlainError(f"it holds more than {MOST} programs")
    for command in commands:
        if command.words[0].glob or not _PROGRAM.fullmatch(command.program):
            raise NotPlainError("the program's name is not a plain word")
    return commands


def _check_characters(line: str) -> None:
    """Only what can be seen: no control characters, no spaces but the one, nothing that turns text around."""
    if not line.strip():
        raise NotPlainError("it is empty")
    if len(line) > LONGEST:
        raise NotPlainError(f"it is longer than {LONGEST:,} characters")
    if not all(each.isprintable() or each == "\n" for each in line):
        raise NotPlainError("it holds characters that cannot be seen")


def _tree(line: str) -> "Node":
    import tree_sitter_bash
    from tree_sitter import Language, Parser

    root = Parser(Language(tree_sitter_bash.language())).parse(line.encode()).root_node
    if root.has_error:
        raise NotPlainError("it is not complete")
    return root


def _items_of(node: "Node", source: bytes, depth: int = 0) -> Iterator[_Item]:
    if depth > DEEPEST:
        raise NotPlainError("it is nested too deeply")
    if node.type == "command_name" and [child.type for child in node.children] != ["word"]:
        raise NotPlainError("the program's name is not a plain word")
    if node.type in _JOINTS:
        yield _Operator(node.type)
    elif node.type in _WORDS:
        yield _word(node, source)
    elif node.type == "file_redirect":
        yield _redirect(node, source)
    elif node.type in _INSIDE:
        ended = True
        for child in node.children:
            if node.type == "program" and child.is_named and not ended:
                yield _Operator(";")  # a line break
            ended = not child.is_named
            yield from _items_of(child, source, depth + 1)
    else:
        raise NotPlainError(f"it holds {_IN_WORDS.get(node.type, 'more than programs and words')}")


def _word(node: "Node", source: bytes) -> Word:
    """A word without its quotes; adjacent parts are one."""
    text = source[node.start_byte : node.end_byte].decode()
    if "\n" in text:
        raise NotPlainError("it holds a line break inside a word")
    match node.type:
        case "word" | "number":
            if not _BARE.fullmatch(text):
                raise NotPlainError(f"{text} means something to the shell")
            return Word(text.removeprefix("\\"), bool(_GLOB.search(text)))
        case "raw_string":
            return Word(text[1:-1])
        case "string":
            _check_string(node)
            if not _QUOTED.fullmatch(text[1:-1]):
                raise NotPlainError(f"{text} means something to the shell")
            return Word(text[1:-1])
    parts = [_part(child, source) for child in node.children]
    return Word("".join(part.text for part in parts), any(part.glob for part in parts))


def _part(node: "Node", source: bytes) -> Word:
    if node.type not in _WORDS or node.type == "concatenation":
        raise NotPlainError(
            f"it holds {_IN_WORDS.get(node.type, 'a word that means something to the shell')}"
        )
    return _word(node, source)


def _check_string(node: "Node") -> None:
    for child in node.children:
        if child.type not in ('"', "string_content", "$"):
            raise NotPlainError(f"it holds {_IN_WORDS.get(child.type, 'a text that is not plain')}")


def _redirect(node: "Node", source: bytes) -> _Operator:
    """Output may go to nowhere or to the other output, input may come from a file."""
    if source[node.start_byte - 1 : node.start_byte].isdigit():
        raise NotPlainError("it can be read in two ways")  # 0<a: bash takes the number for a file's
    number, operator, target = "", "", None
    for child in node.children:
        if child.type == "file_descriptor":
            number = source[child.start_byte : child.end_byte].decode()
        elif child.type in _WORDS:
            target = _word(child, source)
        else:
            operator = child.type
    harmless = target is not None and (
        (operator in (">", ">>") and number in ("", "1", "2") and target == Word("/dev/null"))
        or (operator == ">&" and number in ("", "1", "2") and target.text in ("1", "2"))
        or (operator == "<" and number in ("", "0") and not target.glob)
    )
    if not harmless:
        raise NotPlainError("it writes its output to a file, or reads it from more than one")
    return _Operator(operator, number, target)


def _tokens(items: tuple[_Item, ...]) -> Iterator[str]:
    """All items as shlex would see them."""
    for item in items:
        if isinstance(item, Word):
            yield item.text
        else:
            yield from filter(None, (item.number, item.text))
            if item.target:
                yield item.target.text


def _split(line: str) -> list[str]:
    """The same command as shlex reads it; a line break counts as `;`, and quotes hold none."""
    lexer = shlex.shlex(re.sub(r" *\n[ \n]*", ";", line.strip(" \n")), posix=True, punctuation_chars=True)
    lexer.whitespace_split, lexer.whitespace, lexer.commenters = True, " ", ""
    try:
        return list(lexer)
    except ValueError as error:
        raise NotPlainError("it is not complete") from error


def _group(items: tuple[_Item, ...]) -> Iterator[Simple]:
    """Programs with their words, from one joint to the next."""
    words, inputs, joint = list[Word](), list[Word](), ""
    for item in (*items, _Operator(";")):
        if isinstance(item, Word):
            words.append(item)
        elif item.text in _JOINTS:
            if words:
                yield Simple(tuple(words), cast(Joint, joint), tuple(inputs))
            elif inputs:
                raise NotPlainError("it reads a file for no program")
            words, inputs, joint = [], [], item.text
        elif item.text == "<" and item.target:
            inputs.append(item.target)
