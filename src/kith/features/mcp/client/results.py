"""What a server answers to a call, as a text for a model."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

NOTHING: Final = "(no content)"


def text_of(blocks: Sequence[Mapping[str, Any]], structured: object = None) -> str:
    """The blocks of a result as text; what is no text is named. `structured` stands in where there is none.

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
