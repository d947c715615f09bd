"""XML that nobody vouches for: no entities, no depth without end, and None where it is broken."""

import re
from typing import Final
from xml.etree.ElementTree import Element, TreeBuilder
from xml.parsers import expat

MOST_BYTES: Final = 64_000_000
DEEPEST: Final = 60
_CONTROLS: Final = re.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def parse_xml(data: bytes) -> Element | None:
    """The root of a document in UTF-8; None for one that is broken, too large, too deep or has a DOCTYPE.

    Without a document type there is nothing that could declare an entity.
    """
    if len(data) > MOST_BYTES:
        return None
    builder, depth = TreeBuilder(), 0

    def start(tag: str, attributes: dict[str, str]) -> None:
        nonlocal depth
        depth += 1
        if depth > DEEPEST:
            raise ValueError("too deep")
        builder.start(tag, attributes)

    def end(tag: str) -> None:
        nonlocal depth
        depth -= 1
        builder.end(tag)

    def refuse(*_: object) -> None:
        raise ValueError("a document type")

    parser = expat.ParserCreate("utf-8")  # whatever encoding the document claims
    parser.StartElementHandler, parser.EndElementHandler = start, end
    parser.CharacterDataHandler = builder.data
    parser.StartDoctypeDeclHandler = refuse
    try:
        # Some runners write control characters as they are.
        parser.Parse(_CONTROLS.sub("?", data.decode("utf-8", "replace")).encode(), True)
        return builder.close()
    except (expat.ExpatError, ValueError):
        return None
