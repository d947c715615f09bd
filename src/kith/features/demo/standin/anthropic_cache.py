"""How the stand-in for Anthropic caches: prefixes up to marks, found again block by block."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

from kith.features.demo.standin.engine import Engine, make_id
from kith.features.demo.standin.http import json_bytes

LOOKBACK = 20  # blocks before a mark that are compared with what is known


@dataclass(frozen=True, slots=True)
class Reading:
    """Tokens of a prompt: all of them, those found in the cache, and those put into it."""

    total: int
    cached: int = 0
    written: int = 0


def read_prompt(engine: Engine, body: Mapping[str, Any], *, keeps: bool = True) -> Reading:
    """Count a prompt, and keep its prefixes up to each mark, if they are long enough.

    Source: https://platform.claude.com/docs/en/build-with-claude/prompt-caching.
    """
    blocks = list(_blocks(body))
    marks = [at for at, (_, marked) in enumerate(blocks) if marked]
    sizes = list(accumulate(-(-len(text) // 4) for text, _ in blocks))
    names = list(accumulate((make_id(text) for text, _ in blocks), lambda former, own: make_id(former, own)))
    if not blocks:
        return Reading(0)
    near = (at for mark in marks for at in range(mark, max(-1, mark - LOOKBACK), -1))
    cached = max((sizes[at] for at in near if names[at] in engine.prefixes), default=0)
    kept = [at for at in marks if sizes[at] >= engine.behaviour.least_cached]
    if keeps:
        engine.prefixes.update(names[at] for at in kept)
    written = max(0, sizes[kept[-1]] - cached) if kept else 0
    return Reading(sizes[-1], cached, written)


def _blocks(body: Mapping[str, Any]) -> Iterator[tuple[bytes, bool]]:
    """Every block in the order in which it is read, and whether a cache ends there."""
    system = body.get("system") or []
    yield from (_block("tool", block) for block in body.get("tools") or ())
    yield from (_block("system", block) for block in ([system] if isinstance(system, str) else system))
    for message in body["messages"]:
        content = message["content"]
        for block in [content] if isinstance(content, str) else content:
            yield _block(message["role"], block)


def _block(kind: str, block: Any) -> tuple[bytes, bool]:
    marked = isinstance(block, dict) and "cache_control" in block
    plain = {k: v for k, v in block.items() if k != "cache_control"} if isinstance(block, dict) else block
    return kind.encode() + json_bytes(plain), marked
