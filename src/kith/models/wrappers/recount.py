"""A prompt's tokens by the word of a server that has no endpoint for it: asked for part by part."""

from collections.abc import Iterable
from dataclasses import replace

from kith.core.model import Model, Prompt, Tab
from kith.core.values import Charge, Sampling, say
from kith.models.wrappers.counter import least_said

_NOTHING = "."
_CHARS_PER_TOKEN = 2  # at most so few: a part certainly fits where the whole, or what was left of it, did


async def recount(model: Model, prompt: Prompt, skip: int, tokens: int, tab: Tab) -> int:
    """At least how many tokens a prompt has, of which the first `skip` messages are known to have `tokens`.

    Every part is a request of its own for one token, small enough that nobody would cut it: slow, and so
    only for a count that is in doubt. Each goes on the tab. What a template writes around a message is not
    counted. Raises ModelError.
    """

    async def size(part: Prompt) -> int:
        asked = replace(part, sampling=Sampling(max_tokens=1, think=prompt.sampling.think), purpose="count")
        reply = await model(asked, lambda event: None)
        tab.add(Charge(reply.model, "count", reply.usage, reply.usage.new, reply.timing, reply.stop))
        return reply.usage.input

    nothing = (say(_NOTHING),)
    around = await size(Prompt("", nothing))
    counted = tokens or await size(Prompt(prompt.system, nothing, prompt.tools))
    text = "\n".join(least_said(message) for message in prompt.messages[skip:])
    for part in _parts(text, max(512, counted // 2) * _CHARS_PER_TOKEN):
        counted += await size(Prompt("", (say(part),))) - around
    return counted


def _parts(text: str, chars: int) -> Iterable[str]:
    return (text[start : start + chars] for start in range(0, len(text), chars))
