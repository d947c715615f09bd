"""Read requests in plain English that need no model, and write each in its one canonical form.

`Please change every "a" to "b" in x.txt` and `In x.txt, replace all occurrences of 'a' by 'b'` are the same
`ReplaceText`. `describe` writes it as `replace "a" with "b" in x.txt`, which reads the same. A request is
taken only when every word of it is understood: "replace the parser with a faster one" is for a model.
"""

import re
from collections.abc import Callable, Iterator
from typing import Final

from kith.context.rank_files import kind_of
from kith.core.patterns import lazy_pattern
from kith.edits.rename import language_of
from kith.features.direct.edits import (
    AppendText,
    DeleteFile,
    DeleteLines,
    DeleteMatching,
    DeleteText,
    Direct,
    InsertAtLine,
    InsertText,
    PrependText,
    RenameFile,
    RenameSymbol,
    ReplaceText,
)

# --- the pieces ------------------------------------------------------------------------------

_QUOTED: Final = (
    r"""(?:"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|`(?:[^`\\]|\\.)*`|“(?:[^”\\]|\\.)*”|‘(?:[^’\\]|\\.)*’)"""
)
# Without quotes, only what cannot be an English word is a text: 8080, v1.2, old_name, oldName, http://x.
_CODE: Final = r"""(?=[^\s"'`“”‘’,]*(?:\d|_|\w[./:=@+]\w|(?-i:[a-z][A-Z])))[^\s"'`“”‘’,]+(?<![.,;:!?])"""
_TEXT: Final = rf"(?:{_QUOTED}|{_CODE})"
_BARE_FILE: Final = (
    r"(?:[\w.@+*?\[\]{}-]*/[\w.@+*?\[\]{}/-]*[\w*\]]|[\w@+*?\[\]-]*\.[\w*?.\[\]-]*[\w*\]]"
    r"|(?-i:[A-Z][A-Z_]{3,}|Makefile|Dockerfile|Containerfile|Justfile|Rakefile|Gemfile|Procfile|Jenkinsfile))"
)
_FILE: Final = rf"(?:{_QUOTED}|{_BARE_FILE})"
_FILES: Final = rf"{_FILE}(?:(?:\s*,\s*(?:and\s+)?|\s+and\s+){_FILE})*"
_SYMBOL: Final = r"[\w$]+(?:(?:\.|::)[\w$]+)*(?:\(\))?"
_NAME: Final = rf"(?:{_QUOTED}|{_SYMBOL})"

_EVERY: Final = (
    r"(?:(?:all|every|each|any)\s+)?(?:(?:the\s+)?(?:occurrences?|instances?|mentions?|appearances?)\s+of\s+)?"
    r"(?:(?:the|all|every|each|any)\s+)?(?:(?:strings?|texts?|words?|phrases?|values?)\s+)?"
)
_REGEX: Final = r"(?:the\s+)?(?P<regex>regex(?:p|es)?|regular\s+expressions?|patterns?)\s+"
_A_TEXT: Final = r"(?:(?:the|a|this|new)\s+)*(?:(?:string|text|word|phrase|lines?|value)\s+)?"
_THE_FILE: Final = r"(?:the\s+)?(?:files?\s+)?"
_PROJECT: Final = (
    r"(?:everywhere|(?:in\s+)?every\s+file|in\s+all\s+(?:the\s+)?files|(?:in|across|throughout)\s+(?:the\s+)?"
    r"(?:whole|entire)?\s*(?:project|repository|repo|code\s?base|tree))"
)
_WHERE: Final = (
    rf"(?:\s+(?:(?:in|inside|within|of|from|throughout|across)\s+(?:all\s+)?{_THE_FILE}(?P<where>{_FILES})"
    rf"(?:\s+files)?|(?P<everywhere>{_PROJECT})))"
)
_ONTO: Final = rf"\s+(?:to|in|into|onto|at|of)\s+{_THE_FILE}(?P<where>{_FILES})"
_AT: Final = r"\s+(?:to|at|on|onto|as)\s+(?:the\s+)?(?:very\s+)?"
_OF_FILES: Final = rf"(?:\s+(?:of|in|to)\s+{_THE_FILE}(?P<where>{_FILES}))"
_PUT: Final = r"(?:append|add|put|write|insert|place|stick|prepend)"
_CUT: Final = r"(?:delete|remove|drop|erase|strip|cut|take\s+out|get\s+rid\s+of)"
_ARROW: Final = r"\s*(?:->|→|=>)\s*"
_WHOLLY: Final = (
    r"(?:\s*,?\s*(?:everywhere|globally|project-wide|in\s+(?:all|every)\s+files?"
    r"|(?:in|across|throughout)\s+(?:the\s+)?(?:whole\s+|entire\s+)?(?:project|repository|repo|code\s?base)))?"
)
_POLITE: Final = re.compile(
    r"\s*(?:(?:(?:hi|hello|hey|ok|okay|so|now|then|just|please|kindly|also)\b[\s,:]*"
    r"|(?:can|could|would|will)\s+you\s+|i\s+(?:want|need)\s+you\s+to\s+|i(?:'d|’d|\s+would)\s+like\s+(?:you\s+)?to\s+"
    r"|let'?s\s+|we\s+(?:need|have)\s+to\s+))*",
    re.I,
)
_THANKS: Final = re.compile(r"(?<![\s,.!?])(?:[\s,]*(?:please\b|thanks\b|thank\s+you\b|[.!?]))*\s*\Z", re.I)
_FIRST_WHERE: Final = re.compile(
    rf"(?:in|inside|within)\s+{_THE_FILE}(?P<where>{_FILES})\s*(?:[,:]\s*|\s+)(?={_PUT}\b|{_CUT}\b|replace\b|"
    r"substitute\b|change\b|turn\b|convert\b|swap\b|rename\b|use\b|please\b|update\b|exchange\b)",
    re.I,
)

_LONGEST: Final = 4_000  # characters; a longer request is no such edit
# The forms try every way to share a run of spaces among their words: hours for a thousand of them.
_SPACES: Final = lazy_pattern(rf"(?P<quoted>{_QUOTED})|\s+", re.S)
_Files = tuple[str, ...]
_Read = Callable[[re.Match[str], _Files], Direct | None]  # with the files that the request names


def parse_direct(task: str) -> Direct | None:
    r"""The edit that a task asks for, when all of its words are one of the forms; else None.

    Texts have straight, curly or single quotes or backticks, with the escapes `\n`, `\t`, `\\` and quotes.
    Anything that cannot be an English word (`8080`, `old_name`) needs none, nor do files and symbols.
    """
    if len(task) > _LONGEST:
        return None
    words = _without_politeness(task)
    if not words.startswith("s/"):
        words = _SPACES.sub(_one_space, words)
    words = _THANKS.sub("", words)
    before: _Files = ()
    if found := _FIRST_WHERE.match(words):
        before, words = _files(found["where"]), _without_politeness(words[found.end() :])
    for verb, rest, read in _FORMS:
        # Only the few forms that begin so are compiled: all of them would take longer than kith's start.
        if re.match(verb, words, re.I):
            found = re.fullmatch(verb + rest, words, re.I | re.S)
            if found and (direct := read(found, _where(found, before))):
                return direct
    return None


def nearest_form(task: str) -> str:
    """The form that a request comes closest to, as an example to follow; "" where it is like none.

    Only what starts with the verb of an edit is like one.
    """
    words = _without_politeness(task)
    forms = {
        _SWAP: 'replace "OLD" with "NEW" in FILE',
        r"(?:change|turn|update)": 'replace "OLD" with "NEW" in FILE',
        r"(?:insert|place)": 'insert "TEXT" before "ANCHOR" in FILE',
        "prepend": 'prepend "TEXT" to FILE',
        r"(?:append|add|put)": 'append "TEXT" to FILE',
        _CUT: 'delete "TEXT" from FILE',
        "rename": "rename OLD to NEW",
    }
    return next((form for verb, form in forms.items() if re.match(rf"{verb}\b", words, re.I)), "")


def _one_space(found: re.Match[str]) -> str:
    return found["quoted"] or " "


def _without_politeness(words: str) -> str:
    found = _POLITE.match(words)
    return words[found.end() :] if found else words


# --- the forms -------------------------------------------------------------------------------


def _replace(found: re.Match[str], where: _Files) -> Direct | None:
    return ReplaceText(_old(found), _text(found["new"]), where, _is_regex(found)) if where else None


def _sed(found: re.Match[str], where: _Files) -> Direct | None:
    return ReplaceText(found["old"], found["new"], where, True) if where else None


def _append(found: re.Match[str], where: _Files) -> Direct | None:
    return AppendText(_text(found["text"]), where) if where else None


def _add(found: re.Match[str], where: _Files) -> Direct | None:
    """`add "x" to notes.txt` says no place. In a list of lines it is the end; in source code, who knows."""
    plain = all(kind_of(path) not in ("source", "test") for path in where)
    return _append(found, where) if plain else None


def _prepend(found: re.Match[str], where: _Files) -> Direct | None:
    return PrependText(_text(found["text"]), where) if where else None


def _insert(found: re.Match[str], where: _Files) -> Direct | None:
    if len(where) != 1:
        return None
    return InsertText(_text(found["text"]), _text(found["anchor"]), _is_above(found), where[0])


def _insert_line(found: re.Match[str], where: _Files) -> Direct | None:
    if len(where) != 1:
        return None
    return InsertAtLine(_text(found["text"]), int(found["line"]), _is_above(found), where[0])


def _is_above(found: re.Match[str]) -> bool:
    return not re.match(r"(?:right\s+|directly\s+)?(?:after|below|under|behind)", found["side"], re.I)


def _delete(found: re.Match[str], where: _Files) -> Direct | None:
    return DeleteText(_old(found), where, _is_regex(found)) if where else None


def _is_regex(found: re.Match[str]) -> bool:
    return bool(found.groupdict().get("regex"))


def _old(found: re.Match[str]) -> str:
    r"""The text to look for; an expression keeps its backslashes: `\d` is a digit, `\n` a line's end."""
    return found["old"][1:-1] if _is_regex(found) else _text(found["old"])


def _delete_lines(found: re.Match[str], where: _Files) -> Direct | None:
    first = int(found["first"])
    return DeleteLines(first, int(found["last"] or first), where[0]) if len(where) == 1 else None


def _delete_matching(found: re.Match[str], where: _Files) -> Direct | None:
    return DeleteMatching(_text(found["old"]), where) if where else None


def _delete_file(found: re.Match[str], where: _Files) -> Direct | None:
    return None if where else DeleteFile(_plain(found["file"]))


# "rename it to x" is a sentence, not the name of a symbol.
_PRONOUNS: Final = frozenset({"all", "everything", "file", "files", "it", "that", "them", "these", "this"})
_FILE_NAME: Final = re.compile(
    r"\.(?:cfg|css|csv|html|ini|java|json|lock|log|md|rb|rst|sh|toml|txt|xml|ya?ml)$", re.I
)


def _rename(found: re.Match[str], where: _Files) -> Direct | None:
    """None for what reads like a sentence or names files."""
    if where or found["old"].lower() in _PRONOUNS:
        return None
    old, new = (_plain(found[each]).removesuffix("()") for each in ("old", "new"))
    symbols = re.fullmatch(_SYMBOL, old) and re.fullmatch(_SYMBOL, new)
    files = language_of(old) or _FILE_NAME.search(old) or "." in new
    return RenameSymbol(old, new) if symbols and not files else None


def _rename_file(found: re.Match[str], where: _Files) -> Direct | None:
    old, new = _plain(found["old"]), _plain(found["new"])
    said = bool(found["said"])
    named = re.search(r"\.\w+$|/", old) and re.search(r"\.\w+$|/", new)
    return RenameFile(old, new) if (said or named) and not where else None


_OLD: Final = rf"{_EVERY}(?P<old>{_TEXT})"
_OLD_REGEX: Final = rf"{_EVERY}{_REGEX}(?P<old>{_QUOTED})"
_NEW: Final = rf"{_A_TEXT}(?P<new>{_TEXT})"
_ADDED: Final = rf"\s+{_A_TEXT}(?P<text>{_TEXT})"
_ANCHOR: Final = rf"\s+{_A_TEXT}(?P<anchor>{_QUOTED})"
_WITH: Final = r"\s+(?:with|by)\s+"
_INTO: Final = rf"(?:\s+(?:to|into|to\s+be)\s+|{_ARROW})"
_SIDE: Final = r"(?P<side>(?:right\s+|directly\s+)?(?:before|above|after|below|under|behind|in\s+front\s+of))"
_LINE: Final = (
    r"(?P<side>(?:right\s+|directly\s+)?(?:before|above|after|below|at|on|as))\s+line\s+(?P<line>\d+)"
)
_SWAP: Final = r"(?:replace|exchange|swap|substitute)"
_CHANGE: Final = r"(?:change|turn|convert|rewrite|update|correct|replace|rename)"
_SAY: Final = r"(?:use|write|put|say)"
_SORT: Final = (
    r"(?:the\s+)?(?:(?:function|class|method|variable|symbol|constant|identifier|name|type|struct)\s+)?"
)
_HOLDING: Final = (
    r"(?:(?:that|which)\s+)?(?:containing|contains?|with|holding|holds?|having|has|have|including|includes?)"
)
# How a request begins, how it goes on, and what reads it. Tried in this order.
_FORMS: Final[tuple[tuple[str, str, _Read], ...]] = (
    *(
        (verb, rf"\s+{old}{rest}", _replace)
        for old in (_OLD_REGEX, _OLD)
        for verb, between in ((_SWAP, _WITH), (_CHANGE, _INTO))
        for rest in (rf"{between}{_NEW}{_WHERE}?", rf"{_WHERE}{between}{_NEW}")
    ),
    ("substitute", rf"\s+{_NEW}\s+for\s+{_OLD}{_WHERE}?", _replace),
    (_SAY, rf"\s+{_NEW}\s+(?:instead|in\s+place)\s+of\s+{_OLD}{_WHERE}?", _replace),
    ("instead", rf"\s+of\s+{_OLD}\s*,?\s*{_SAY}\s+{_NEW}{_WHERE}?", _replace),
    (
        r"(?=[\"'`“‘]|all\b|every\b|each\b|the\b)",
        rf"{_OLD}(?:\s+(?:should|must)\s+(?:be|become|read)\s+|\s+becomes\s+|{_ARROW}){_NEW}{_WHERE}?",
        _replace,
    ),
    ("s/", rf"(?P<old>(?:[^/\\\n]|\\.)+)/(?P<new>[^/\n]*)/g?{_WHERE}?", _sed),
    (_PUT, rf"{_ADDED}\s+{_LINE}{_WHERE}?", _insert_line),
    (_PUT, rf"{_ADDED}\s+(?:in|to)\s+{_THE_FILE}(?P<where>{_FILES})\s+{_LINE}", _insert_line),
    (_PUT, rf"{_ADDED}\s+{_SIDE}{_ANCHOR}{_WHERE}?", _insert),
    (_PUT, rf"{_ADDED}\s+(?:in|to)\s+{_THE_FILE}(?P<where>{_FILES})\s+{_SIDE}{_ANCHOR}", _insert),
    (_SIDE, rf"{_ANCHOR}{_WHERE}?\s*,?\s*{_PUT}{_ADDED}", _insert),
    (_PUT, rf"{_ADDED}{_AT}(?:end|bottom|tail){_OF_FILES}?", _append),
    (_PUT, rf"{_ADDED}{_AT}(?:top|start|beginning|head|front){_OF_FILES}?", _prepend),
    ("prepend", rf"{_ADDED}(?:{_ONTO})?", _prepend),
    ("append", rf"{_ADDED}(?:{_ONTO})?", _append),
    ("append", rf"\s+to\s+{_THE_FILE}(?P<where>{_FILES})\s*:?{_ADDED}", _append),
    ("add", rf"{_ADDED}(?:{_ONTO})?", _add),
    (
        _CUT,
        r"\s+(?:the\s+)?lines?\s+(?P<first>\d+)"
        rf"(?:\s*(?:to|-|–|through|till|until|and)\s*(?P<last>\d+))?{_WHERE}?",
        _delete_lines,
    ),
    (
        _CUT,
        r"\s+(?:(?:all|every|each|any)\s+)?(?:(?:of\s+)?the\s+)?lines?\s+"
        rf"{_HOLDING}\s+{_A_TEXT}(?P<old>{_TEXT}){_WHERE}?",
        _delete_matching,
    ),
    (_CUT, rf"\s+{_OLD_REGEX}{_WHERE}?", _delete),
    (_CUT, rf"\s+(?:the\s+)?file\s+(?P<file>{_FILE})", _delete_file),
    (_CUT, rf"\s+{_OLD}{_WHERE}?", _delete),
    (
        r"(?:rename|move)",
        rf"\s+(?P<said>(?:the\s+)?file\s+)?(?P<old>{_FILE})(?:\s+(?:to|as|into)\s+|{_ARROW})(?P<new>{_FILE}|[\w./-]+/)",
        _rename_file,
    ),
    (
        "rename",
        rf"\s+{_SORT}(?P<old>{_NAME})(?:\s+(?:to|as|into)\s+|{_ARROW})(?P<new>{_NAME}){_WHOLLY}",
        _rename,
    ),
    (
        "change",
        rf"\s+the\s+name\s+of\s+{_SORT}(?P<old>{_NAME})\s+(?:to|into)\s+(?P<new>{_NAME}){_WHOLLY}",
        _rename,
    ),
)


# --- reading the pieces ----------------------------------------------------------------------


def _where(found: re.Match[str], before: _Files) -> _Files:
    """The files of a request, named once: in front of it or inside; else none."""
    groups = found.groupdict()
    if groups.get("everywhere"):
        return () if before else ("**",)
    inside = _files(groups["where"]) if groups.get("where") else ()
    return () if before and inside else before or inside


def _files(text: str) -> _Files:
    return tuple(dict.fromkeys(_plain(match.group()) for match in re.finditer(_FILE, text)))


def _text(said: str) -> str:
    return _unescape(said) if re.fullmatch(_QUOTED, said, re.S) else said


def _unescape(quoted: str) -> str:
    return re.sub(r"\\(.)", _escaped, quoted[1:-1], flags=re.S)


def _escaped(match: re.Match[str]) -> str:
    meant = {"n": "\n", "t": "\t", "\\": "\\"} | {quote: quote for quote in "\"'`“”‘’"}
    return meant.get(match[1], match[0])


def _plain(name: str) -> str:
    inner = name[1:-1] if re.fullmatch(_QUOTED, name, re.S) else name
    return inner.removeprefix("./")


# --- writing the canonical form --------------------------------------------------------------


def describe(direct: Direct) -> str:
    """The request in its canonical form, which `parse_direct` reads as the same request."""
    return " ".join(_words(direct))


def _words(direct: Direct) -> Iterator[str]:
    match direct:
        case ReplaceText(old, new, where, regex):
            yield f"replace {_expression(old) if regex else _quote(old)} with {_quote(new)} {_in(where)}"
        case DeleteText(text, where, regex):
            yield f"delete {_expression(text) if regex else _quote(text)} {_in(where)}"
        case AppendText(text, paths):
            yield f"append {_quote(text)} to {_list(paths)}"
        case PrependText(text, paths):
            yield f"prepend {_quote(text)} to {_list(paths)}"
        case InsertText(text, anchor, before, path):
            side = "before" if before else "after"
            yield f"insert {_quote(text)} {side} {_quote(anchor)} in {_list((path,))}"
        case InsertAtLine(text, line, before, path):
            yield f"insert {_quote(text)} {'before' if before else 'after'} line {line} of {_list((path,))}"
        case DeleteLines(first, last, path):
            lines = f"line {first}" if first == last else f"lines {first} to {last}"
            yield f"delete {lines} of {_list((path,))}"
        case DeleteMatching(text, where):
            yield f"delete the lines with {_quote(text)} {_in(where)}"
        case RenameSymbol(old, new):
            yield f"rename {old} to {new}"
        case RenameFile(old, new):
            yield f"rename the file {_list((old,))} to {_list((new,))}"
        case DeleteFile(path):
            yield f"delete the file {_list((path,))}"


def _quote(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\t", "\\t")
    return f'"{escaped}"'


def _expression(pattern: str) -> str:
    return f'the regular expression "{pattern}"'


def _in(where: _Files) -> str:
    return "everywhere" if where == ("**",) else f"in {_list(where)}"


def _list(paths: _Files) -> str:
    shown = [path if re.fullmatch(_BARE_FILE, path) else f'"{path}"' for path in paths]
    return ", ".join(shown[:-1]) + f" and {shown[-1]}" if len(shown) > 1 else shown[0]
