"""A llama-server with one model answers to any name, and kith says which one it is."""

import asyncio

from kith.core.events import Event, Notice
from kith.features.demo.standin import serve
from kith.models.choose import choose_provider
from kith.models.discovery.servers import Places


def test_the_model_that_really_answers_is_named() -> None:
    async def choose(name: str) -> tuple[str, list[Event]]:
        async with serve([], "llama-server", model="q") as server:
            told: list[Event] = []
            places = Places(openai_base_url=server.url, usual=())
            return (await choose_provider(f"openai/{name}", places, {}, told.append)).name, told

    assert asyncio.run(choose("q")) == ("llama-server/q", [])
    name, (notice,) = asyncio.run(choose("typo"))
    assert name == "llama-server/q"
    assert isinstance(notice, Notice) and "ignores the name 'typo': it runs q" in notice.text
