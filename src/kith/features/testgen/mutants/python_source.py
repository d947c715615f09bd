"""Python source with its tree and its tokens, and the way from both to offsets in the bytes."""

import ast
import io
import tokenize
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

_BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class Source:
    """A parsed file: `rows` are the offsets at which its lines begin, `tokens` (start, end, text) in order.

    `parents` leads from each expression to the node that holds it.
    """

    data: bytes
    tree: ast.Module
    rows: Sequence[int]
    tokens: Sequence[tuple[int, int, str]]
    parents: Mapping[ast.AST, ast.AST]

    def span(self, node: ast.expr | ast.stmt) -> tuple[int, int]:
        """The bytes of a node, first and behind the last."""
        end_line, end_column = node.end_lineno or node.lineno, node.end_col_offset or node.col_offset
        return self.rows[node.lineno - 1] + node.col_offset, self.rows[end_line - 1] + end_column

    def find(self, start: int, end: int, text: str) -> tuple[int, int]:
        """The first token that says `text` (of one word or two) between two offsets. Raises ValueError."""
        words = text.split(" ")
        at = bisect_left(self.tokens, (start,))
        while at < len(self.tokens) and self.tokens[at][1] <= end:
            if [token[2] for token in self.tokens[at : at + len(words)]] == words:
                return self.tokens[at][0], self.tokens[at + len(words) - 1][1]
            at += 1
        raise ValueError(f"no {text!r} in {self.data[start:end]!r}")


def read_source(data: bytes) -> Source:
    """Parse a file in UTF-8. Raises SyntaxError, ValueError."""
    mark = len(_BOM) if data.startswith(_BOM) else 0
    text = data[mark:].decode("utf-8")
    tree = ast.parse(text)
    lines = text.split("\n")
    rows = [mark]
    for line in lines:
        rows.append(rows[-1] + len(line.encode()) + 1)
    parents = {child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}
    return Source(data, tree, rows, _tokens(text, lines, rows), parents)


def _tokens(text: str, lines: Sequence[str], rows: Sequence[int]) -> list[tuple[int, int, str]]:
    def offset(row: int, column: int) -> int:
        return rows[row - 1] + len(lines[row - 1][:column].encode())

    kinds = (tokenize.OP, tokenize.NAME)
    try:
        found = [each for each in tokenize.generate_tokens(io.StringIO(text).readline) if each.type in kinds]
    except tokenize.TokenError as error:
        raise ValueError(str(error)) from error
    return [(offset(*each.start), offset(*each.end), each.string) for each in found]
