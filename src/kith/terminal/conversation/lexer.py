"""What stands out in the line while it is written: commands, files, pasted texts."""

import re
from collections.abc import Callable
from typing import Final

from prompt_toolkit.document import Document
from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.lexers import Lexer

from kith.terminal.conversation.commands.table import slash_commands
from kith.terminal.conversation.paste import Pastes

_FILE: Final = r"(?<![^\s(\[{,;:])@(?:\"[^\"\n]+\"?|[^\s\"]+)"
_PASTE: Final = r"\[paste [^\]\n]{1,60}\]"
_PARTS: Final = re.compile(f"(?P<file>{_FILE})|(?P<paste>{_PASTE})")
_BEGIN: Final = re.compile(r"/([\w-]+)(?=\s|$)|!!?")


class LineLexer(Lexer):
    """Styles by the look of a word alone: nothing is asked while somebody types."""

    def __init__(self, pastes: Pastes) -> None:
        self._pastes = pastes

    def lex_document(self, document: Document) -> Callable[[int], StyleAndTextTuples]:
        """The styles of each line."""
        lines = document.lines

        def styled(number: int) -> StyleAndTextTuples:
            return self._line(lines[number], first=number == 0) if number < len(lines) else []

        return styled

    def _line(self, line: str, *, first: bool) -> StyleAndTextTuples:
        found: StyleAndTextTuples = []
        at = 0
        begin = _BEGIN.match(line) if first else None
        if begin and (begin[1] is None or begin[1] in slash_commands()):
            found, at = [("class:command", begin[0])], begin.end()
        for part in _PARTS.finditer(line, at):
            if part.lastgroup == "paste" and not self._pastes.used_in(part[0]):
                continue
            found += [("", line[at : part.start()]), (f"class:{part.lastgroup}", part[0])]
            at = part.end()
        return [*found, ("", line[at:])]
