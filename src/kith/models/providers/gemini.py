"""Google's Gemini API, and whatever else speaks it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from kith.core.model import Emit, Prompt
from kith.core.values import Reply, Sampling
from kith.models.providers.answers import Row, plain, whole
from kith.models.providers.draft import Draft, used_ids
from kith.models.providers.facts import Facts
from kith.models.providers.faults import MissingModelError, NoRouteError, SignatureError
from kith.models.providers.gemini_facts import About, path_of, read_about
from kith.models.providers.gemini_rows import content_rows, declarations
from kith.models.providers.gemini_stream import Stream
from kith.models.providers.listed import missing
from kith.models.providers.progress import ignore
from kith.models.providers.sampling import sampling_fields, tell_once
from kith.models.providers.turns import signatures, take_turns
from kith.models.providers.wire import Endpoint

SLOTS = 8  # calls at once; how many it takes depends on the account
_LEAST_CACHED = 4096  # tokens, since Gemini 3; half of it before
_LOW = 2048  # tokens of thinking, up to which a model with levels gets the low one
_LEAST_OF_PRO = 128  # tokens: Gemini 2.5 Pro always thinks


@dataclass(frozen=True, slots=True)
class Gemini:
    """One Gemini model. `fields` are added to every request as they are."""

    model: str
    endpoint: Endpoint
    fields: Mapping[str, Any] = field(default_factory=dict)
    _told: set[str] = field(default_factory=set, init=False, repr=False, compare=False)
    _refused: set[str] = field(default_factory=set, init=False, repr=False, compare=False)
    _known: list[About] = field(default_factory=list, init=False, repr=False, compare=False)

    @property
    def name(self) -> str:
        return f"gemini/{self.model}"

    async def __call__(self, prompt: Prompt, emit: Emit) -> Reply:
        """Ask once. Raises ModelError, and NoModelError when the server does not have the model.

        Signatures that are refused (made for another key, say) are left out from then on.
        """
        about = await self._about()
        try:
            return await self._ask(prompt, about, emit)
        except SignatureError:
            self._refused.update(signatures(prompt.messages))
            return await self._ask(prompt, about, emit)

    async def _ask(self, prompt: Prompt, about: About, emit: Emit) -> Reply:
        body, left_out = self._body(prompt, about)
        tell_once(left_out, self._told, emit)
        stream = Stream(Draft(emit, used_ids(prompt.messages)))
        path = path_of(self.model, "streamGenerateContent?alt=sse")
        try:
            async with self.endpoint.stream_events(path, body) as chunks:
                async for chunk in chunks:
                    if chunk is not None:
                        stream.take(chunk)
        except MissingModelError as error:
            raise await missing("gemini", self.endpoint, self.model) from error
        if not stream.finish and not stream.blocked:
            raise self.endpoint.cut_short(stream.heard)
        return stream.reply(self.name, prompt.tools)

    async def facts(self, emit: Emit = ignore) -> Facts:
        """Look the model up. Raises ModelError, and NoModelError when the server does not have it."""
        about = await self._about()
        return Facts(
            self.name,
            self.endpoint.url,
            f"gemini:{about.id}:{about.version}",
            about.window,
            about.window,
            slots=SLOTS,
            tools=True,
            thinking=about.thinks,
            keeps_thinking=True,
            counts_cache=True,
            cloud=self.endpoint.is_cloud,
            refuses=True,
            least_cached=_LEAST_CACHED,
        )

    async def count(self, prompt: Prompt) -> int | None:
        """The exact size of a prompt in tokens, tools included; None where the server cannot count."""
        body, _ = self._body(prompt, await self._about())
        whole_body = {"model": f"models/{self.model}", **body}
        try:
            counted = await self.endpoint.post(
                path_of(self.model, "countTokens"), {"generateContentRequest": whole_body}
            )
        except (NoRouteError, SignatureError):
            return None
        return whole(plain(counted).get("totalTokens")) or None

    async def warm(self, prompt: Prompt) -> None:
        """Nothing: reading ahead of time would be paid for."""

    async def close(self) -> None:
        """Close the connections that are open."""
        await self.endpoint.close()

    async def _about(self) -> About:
        if not self._known:
            self._known.append(await read_about(self.endpoint, self.model))
        return self._known[0]

    def _body(self, prompt: Prompt, about: About) -> tuple[Row, tuple[str, ...]]:
        config, left_out = sampling_fields("gemini", prompt.sampling, about.reply)
        turns = take_turns(prompt.messages, self.name, self._refused)
        body: Row = {**self.fields}
        if prompt.system.strip():
            body["systemInstruction"] = {"parts": [{"text": prompt.system}]}
        if prompt.tools:
            body["tools"] = declarations(prompt.tools)
        body["contents"] = content_rows(turns, signs_calls=not about.is_older)
        if thinking := thinking_config(prompt.sampling, about):
            config["thinkingConfig"] = thinking
        if prompt.shape is not None:
            config |= {"responseMimeType": "application/json", "responseJsonSchema": dict(prompt.shape)}
        body["generationConfig"] = config
        return body, left_out


def thinking_config(wish: Sampling, about: About) -> Row:
    """How much the model is to think, as its generation has it; and its thoughts, in short, to be shown.

    Source: https://ai.google.dev/gemini-api/docs/thinking. No model of the third generation stops thinking
    altogether, nor does Gemini 2.5 Pro.
    """
    if not about.thinks and not wish.think:
        return {}
    small = "flash" in about.id
    if wish.think is False:
        if about.is_older:
            return {"thinkingBudget": 0 if small else _LEAST_OF_PRO}
        return {"thinkingLevel": "minimal" if small else "low"}
    shown: Row = {"includeThoughts": True}
    if wish.think_tokens is None:
        return shown
    if about.is_older:
        return {**shown, "thinkingBudget": wish.think_tokens}
    return {**shown, "thinkingLevel": "low" if wish.think_tokens <= _LOW else "high"}
