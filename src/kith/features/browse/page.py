"""Turn a server's answer into text for a model: characters, Markdown, and nothing that hides or commands."""

import codecs
import os
import re
import sys
from pathlib import Path
from typing import Final

from kith.core.processes import run_program
from kith.features.browse.address import Address
from kith.features.browse.faults import PageError
from kith.features.browse.fetching import Response

# Media types that are text, beside text/*.
_TEXTS: Final = re.compile(
    r"text/|application/(.*[+/])?(json|xml|yaml|x-yaml|toml|javascript|x-sh|sql|rss|atom)\b"
)
_HTML: Final = ("text/html", "application/xhtml+xml")
_CONVERT_S: Final = 10.0
_HEAD: Final = 2_048  # bytes in which a page may name its encoding
_BOMS: Final = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_NAMED: Final = re.compile(rb"<meta[^>]{0,200}?charset\s*=\s*[\"']?\s*([A-Za-z0-9_.:-]{1,40})", re.IGNORECASE)
# The encodings of pages (WHATWG), as Python calls them; others (punycode, unicode_escape) are for attacks.
_ENCODINGS: Final = re.compile(
    r"utf-8|utf-16(-[lb]e)?|ascii|iso8859-\d+|cp(125\d|874|866|932|949)|koi8-[ru]|mac-(roman|cyrillic)"
    r"|gbk|gb2312|gb18030|big5|big5hkscs|euc_jp|iso2022_jp|shift_jis|euc_kr"
)
_LATIN: Final = ("ascii", "iso8859-1")  # what servers call windows-1252


def is_text(response: Response) -> bool:
    """True if the answer's head promises text, or does not say what it is."""
    return response.status < 300 and (not response.kind or bool(_TEXTS.match(response.kind)))


async def read_page(response: Response) -> str:
    """The text of an answer, HTML as Markdown. Raises PageError."""
    text = decode(response.body, response.charset, response.cut)
    if "\0" in text:
        raise PageError("kind", "binary data")
    if response.kind in _HTML or (not response.kind and "<html" in text[:_HEAD].lower()):
        text = await to_markdown(text, response.address)
    return text.strip()


def decode(body: bytes, charset: str, cut: bool = False) -> str:
    """Text by its byte order mark, the server's word, or the page's own; else UTF-8, else windows-1252.

    A server that names UTF-8 for a page in something else gets the second guess, too.
    """
    for mark, name in _BOMS:
        if body.startswith(mark):
            return body[len(mark) :].decode(name, "replace")
    named = _NAMED.search(body[:_HEAD])
    name = _encoding(charset) or _encoding(named[1].decode("ascii") if named else "") or "utf-8"
    try:
        return body.decode(name)
    except UnicodeDecodeError as error:
        # A character that was cut at the end of what is kept is no sign of another encoding.
        if name != "utf-8" or (cut and error.start >= len(body) - 4):
            return body.decode(name, "replace")
        return body.decode("cp1252", "replace")


def _encoding(name: str) -> str:
    """Python's name of an encoding that pages use; "" for others."""
    try:
        known = codecs.lookup(name).name if name else ""
    except (LookupError, ValueError):
        return ""
    if not _ENCODINGS.fullmatch(known):
        return ""
    return "cp1252" if known in _LATIN else known


async def to_markdown(html: str, address: Address) -> str:
    """Convert a page in a process of its own, which may take only so long. Raises PageError."""
    program = [sys.executable, "-I", str(Path(__file__).with_name("convert.py")), str(address)]
    env = {name: value for name, value in os.environ.items() if name == "SYSTEMROOT"}  # for Windows
    page = html.encode("utf-8", "replace")
    try:
        ended = await run_program(program, seconds=_CONVERT_S, input=page, env=env)
    except TimeoutError:
        raise PageError("markup", f"it takes longer than {_CONVERT_S:g} s") from None
    except OSError as error:
        raise PageError("markup", str(error)) from error
    if ended.code:
        last = ended.stderr.decode("utf-8", "replace").strip().rpartition("\n")[2]
        raise PageError("markup", last[:200] or f"exit code {ended.code}")
    return _without_own_links(ended.stdout.decode("utf-8", "replace"), address)


def _without_own_links(text: str, address: Address) -> str:
    """Links within the page become their words: they lead nowhere, and cost a model tokens."""
    own = re.escape(str(address))
    return re.sub(rf"\[([^\[\]\n]*)\]\(<?{own}#[^\s()]*>?(?: \"[^\"\n]*\")?\)", r"\1", text)


# Characters that people do not see: controls, directions, and the tags that text is hidden in.
_UNSEEN: Final = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\U000e0000-\U000e0fff]"
)
# Chat templates begin and end turns, calls and thoughts with these; a server may read them in any text.
_CONTROL: Final = re.compile(
    r"<(?=[|｜][^<>\n]{1,60}[|｜]>)"  # <|im_start|>, <｜User｜>
    r"|<(?=\|[a-z_]{1,30}>|[a-z_]{1,30}\|>)"  # <|channel>, <turn|>
    r"|<(?=/?(?:s|bos|eos|pad|unk|sop|eop|bos_token|eos_token|start_of_turn|end_of_turn|think|thinking)[\s>])"
    r"|<(?=/?(?:\w+:)?(?:tools|tool_calls?|tool_response|function_calls?|function|invoke|parameter)[\s=>])"
    r"|<(?=(?:unused\d+|image_soft_token|fim_prefix|fim_suffix|fim_middle|file_sep|repo_name)>)"
    r"|<(?=<\/?SYS>>)"
    r"|<(?=/?web [0-9a-f]+>)"  # kith's own marks around a page
    r"|\[(?=/?(?:INST|AVAILABLE_TOOLS|TOOL_CALLS|TOOL_RESULTS|TOOL_CONTENT|SYSTEM_PROMPT|THINK|ARGS|CALL_ID|gMASK)\])",
    re.IGNORECASE,
)


def make_harmless(text: str) -> tuple[str, int]:
    """The text without unseen characters, its control tokens broken by a space; and how many were."""
    text, found = _CONTROL.subn(r"\g<0> ", _UNSEEN.sub("", text.replace("\r\n", "\n")))
    return text, found
