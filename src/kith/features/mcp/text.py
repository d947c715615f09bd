"""Text of other programs as a model and a person may see it: results of calls, and words in a line."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

NOTHING: Final = "(no content)"


def text_of(blocks: Sequence[Mapping[str, Any]], structured: object = None) -> str:
    """The blocks of a result as text; what is no text is named. `structured` replaces it where there is none.

    Source of the blocks' forms: the schema of the Model Context Protocol, ContentBlock, version 2025-11-25.
    """
    text = "\n".join(filter(None, map(_block, blocks)))
    if text or structured is None:
        return text or NOTHING
    import json

    return json.dumps(structured, ensure_ascii=False, indent=1)


def _block(block: Mapping[str, Any]) -> str:
    match block.get("type"):
        case "text":
            return str(block.get("text", ""))
        case "image" | "audio" as kind:
            return f"[{kind} left out: {_size(block, 'data')}]"
        case "resource_link":
            return f"[{block.get('name') or 'resource'}: {block.get('uri', '')}]"
        case "resource":
            return _resource(block.get("resource"))
        case kind:
            return f"[{kind} left out]"


def _resource(resource: object) -> str:
    """A file or page that came along, under its address."""
    if not isinstance(resource, Mapping):
        return ""
    if isinstance(resource.get("text"), str):
        return f"[{resource.get('uri', '')}]\n{resource['text']}"
    return f"[{resource.get('uri', '')} left out: {_size(resource, 'blob')}]"


def _size(block: Mapping[str, Any], key: str) -> str:
    """`image/png, 12,288 bytes`; the data itself is Base64, four characters for three bytes."""
    kind = block.get("mimeType") or block.get("mime_type") or "unknown"
    return f"{kind}, {len(str(block.get(key, ''))) * 3 // 4:,} bytes"


# Words of other programs, as a model and a person may see them.

# Colours and cursor movements (CSI), titles and links (OSC).
_TERMINAL_CODES: Final = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)")
_SPACE: Final = re.compile(r"\s+")
# What counts as printable and has no glyph: joiners, fillers, selectors of variations, tags.
_UNSEEN: Final = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\ufe00-\ufe0f\uffa0\U000e0000-\U000e0fff]"
)


def clean_words(text: str, most: int) -> str:
    """The text in one line of at most `most` characters, without those that nobody would see."""
    plain = _UNSEEN.sub("", _SPACE.sub(" ", _TERMINAL_CODES.sub("", text)))
    shown = "".join(each for each in plain if each.isprintable()).strip()
    return shown if len(shown) <= most else f"{shown[: most - 1].rstrip()}…"
