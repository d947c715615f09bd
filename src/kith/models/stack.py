"""A model that was found, looked at once, and wrapped for each task: a prompt's whole way to the wire."""

from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from kith.context.compact import View, files_shown, show
from kith.core.errors import ModelError
from kith.core.events import Called, Compacted, Engaged, Notice
from kith.core.model import Emit, Model, Prompt
from kith.core.values import Usage
from kith.models.account import Account, Price, free, know_no_price, longest_reply
from kith.models.discovery.machine import machine_name
from kith.models.forecasts import Foresee, Foresight
from kith.models.providers.facts import Facts, Provider
from kith.models.providers.wire import is_loopback
from kith.models.wrappers.counter import Counter
from kith.models.wrappers.fitted import Fitted
from kith.models.wrappers.gate import Consented, Gate, Group, Guarded, Permit, Sending
from kith.models.wrappers.metered import Metered
from kith.models.wrappers.patient import Patient, know_nothing
from kith.models.wrappers.prompt_cache import CacheMeter
from kith.models.wrappers.retry import RETRIES, Agree, Queue, Retrying, RetryLimits, wait_for_nobody
from kith.models.wrappers.tool_calling import Ladder
from kith.models.wrappers.verified import Verified
from kith.models.wrappers.watched import Watched

_CARDED = ("tokens_per_estimate", "read_rate")  # facts of a card that a new process begins with
_REMINDED = 16_384  # tokens of a window, from which on a model sees its former thoughts again
_NEWS = 0.1  # a figure that differs by less is no news
_ENOUGH = 32  # tokens of one call, from which on its speed means something


class Opened(Struct, frozen=True):
    """A model as it was found to be: its facts, what is known of it by now, and what this process counts.

    `provider` is behind its gate. `model` is the same one, queued, asked again, telling how far it is, and
    with answers verified: from these alone `counter` learns.
    """

    provider: Guarded
    facts: Facts
    card_of: Callable[[str], Mapping[str, Any]]
    counter: Counter
    meter: CacheMeter
    model: Model
    foresight: Foresight | None = None  # None: nobody knows how long calls take
    price: Price = free
    retry: RetryLimits = RETRIES
    asked_as: str = ""  # the name by which the person, or a setting, asked for it

    @property
    def window(self) -> int:
        """Tokens that a prompt and its reply may have together; 0 when nobody knows."""
        return self.counter.window

    @property
    def gate(self) -> Gate:
        """The gate of its provider."""
        return self.provider.gate

    @property
    def machine(self) -> str:
        """The machine that runs it: this machine's name, or another one's address; "" for a script."""
        return machine_of(self.facts) if self.facts.server else ""

    def engaged(self) -> Engaged:
        """Describe for the log what runs, where and on which machine."""
        facts = self.facts
        what = facts.quantisation, facts.parameters, self.window, facts.cloud
        return Engaged(facts.name, facts.server, facts.digest, *what, self.machine or machine_name())

    async def count(self, prompt: Prompt) -> int:
        """A prompt's tokens: by the server where it can, else by estimate."""
        try:
            exact = await self.provider.count(prompt)
        except ModelError:  # a server that is busy, or gone for a moment
            exact = None
        return exact if exact is not None else self.counter.estimate(prompt)

    async def aclose(self) -> None:
        """Let go of the model's connections, and of an engine that was held for it."""
        await self.provider.close()

    def metered(
        self, account: Account | None = None, *, tells: bool = True, agree: Agree = wait_for_nobody
    ) -> Model:
        """The model within an account (of nothing: without limits), each call sent as it is asked.

        `tells`: a cache that was lost, or a slow call, is worth a sentence. `agree` is asked about long
        waits.
        """
        metered = Metered(
            self.model,
            window=self.window,
            meter=self.meter,
            tells=tells,
            foresight=self.foresight,
            account=account or Account(),
            price=self.price,
            count=self.counter.estimate,
        )
        return Retrying(metered, self.retry, accepted=True, agree=agree)

    def learned(self, calls: Sequence[Called]) -> dict[str, Any]:
        """Return new facts about the model from these calls, compared with its card."""
        card, found = self.card_of(self.facts.digest), {"tokens_per_estimate": self.counter.learned_ratio}
        found |= {"read_rate": _rate(calls, _read), "write_rate": _rate(calls, _written)}
        news = {
            key: round(value, 3)
            for key, value in found.items()
            if value and abs(value - float(card.get(key) or 0.0)) > _NEWS * value
        }
        return news | (self.foresight.learned(card) if self.foresight else {})

    def recall(self, prompt: Prompt, earlier: Sequence[Compacted], tokens: int) -> None:
        """Begin with how the server counted a prompt of this session, when another process sent it."""
        if not self.counter.learned_ratio:
            sent = show(prompt.messages, reduce(View.after, earlier, View()))
            self.counter.correct(replace(prompt, messages=sent), tokens)

    def wrap(
        self,
        account: Account,
        earlier: Sequence[Compacted] = (),
        *,
        tells: bool = True,
        permit: Permit | None = None,
        agree: Agree = wait_for_nobody,
    ) -> Model:
        """The model of one task: on its account, on the rung that works, and never over its window.

        `earlier` are the session's compactions so far: what was sent once is sent again. `permit` lets the
        first call of each group pass to a model in the cloud, which without one is not asked. The rest as
        above.
        """
        ladder = self._ladder(Watched(self.metered(account, tells=tells, agree=agree)))
        fitted = self._fitted(ladder, earlier)
        return self.consented(fitted, permit) if permit else fitted

    async def sum_up(
        self, prompt: Prompt, earlier: Sequence[Compacted], account: Account, permit: Permit, emit: Emit
    ) -> Compacted | None:
        """Have the model summarise a thread now, as it does automatically at a full window.

        None where that makes it no shorter. Raises ModelError and what `permit` raises.
        """
        ladder = self._ladder(Watched(self.metered(account, tells=False)))
        return await self._fitted(self.consented(ladder, permit), earlier).sum_up(prompt, emit)

    def _fitted(self, model: Model, earlier: Sequence[Compacted]) -> Fitted:
        by_thread = {each.thread: [e for e in earlier if e.thread == each.thread] for each in earlier}
        return Fitted(model, self.counter.copy, bool(self.facts.server), by_thread)

    def lent(self, account: Account, permit: Permit) -> Model:
        """The model of a program that leads the conversation itself, on its account.

        Its calls land as everywhere, but nothing is left out of its prompts, and nothing is asked again in
        another way than it was asked.
        """
        return self.consented(self._ladder(self.metered(account, tells=False)), permit)

    def _ladder(self, model: Model) -> Model:
        digest, card = self.facts.digest, self.card_of(self.facts.digest)
        return Ladder(model, card, digest, "text" if self.facts.tools is False else None)

    def consented(self, model: Model, permit: Permit) -> Model:
        """`model`, which leads to this one, asked only after `permit`; a local one needs none."""
        return Consented(model, permit, self._sending, self.gate) if self.gate.cloud else model

    def _sending(self, prompt: Prompt, group: Group) -> Sending:
        """Describe a call's content, and its cost without a reply and at most."""
        name, tokens, longest = self.facts.name, self.counter.estimate(prompt), longest_reply(prompt)
        costs = self.price(name, Usage(tokens)), self.price(name, Usage(tokens, longest, 0, tokens, tokens))
        usd = None if costs[0] is None or costs[1] is None else (costs[0], costs[1])
        said, files = len(prompt.messages), files_shown(prompt.messages)
        return Sending(name, self.facts.server, group, said, files, tokens, usd, self.asked_as)


async def look(
    provider: Provider,
    card_of: Callable[[str], Mapping[str, Any]],
    wanted: int,
    emit: Emit,
    price: Price = know_no_price,
    retry: RetryLimits = RETRIES,
    foresee: Foresee | None = None,
) -> Opened:
    """Load the model if needed, and read what really runs.

    `card_of` gives the known facts of a model by its digest. `wanted` is the person's window; it counts
    where the server does not tell its own, or where it is smaller. `price` is asked about models in the
    cloud; others are free. `retry` limits how failed calls are sent again. `foresee` tells how long they
    take; of a script nobody needs to know. Raises ModelError, NoModelError.
    """
    try:
        facts = await provider.facts(emit)
    except BaseException:
        await provider.close()
        raise
    window = min(filter(None, (facts.window, wanted)), default=0)
    if facts.window and wanted > facts.window:
        words = f"The server runs {facts.name} with a window of {facts.window:,} tokens, not {wanted:,}."
        emit(Notice(words, "warning"))
    card = card_of(facts.digest)
    ratio, rate = (float(card.get(key) or 0.0) for key in _CARDED)
    # What is thought takes room for good where it goes back; a small window has better uses for it.
    reminded = facts.keeps_thinking and window >= _REMINDED
    gate = Gate(provider.name, cloud=facts.cloud)
    guarded = Guarded(provider, gate, reminded)
    counter = Counter(window, guarded.count, ratio, reminded)
    meter = CacheMeter(facts.counts_cache, rate, least_cached=facts.least_cached)
    foresight = None
    if foresee and facts.server:
        foresight = foresee(provider.name, facts, machine_of(facts), card, counter.estimate, meter.expect)
    queued = Retrying(guarded, retry, queue=Queue(facts.server or facts.name, facts.slots))
    model: Model = Patient(queued, counter.estimate, foresight.expect if foresight else know_nothing)
    if facts.server:  # without one (a script) there is nobody who could cut anything off
        model = Verified(model, counter, recounts=not facts.verified, trusts=facts.refuses)
    bill = price if facts.cloud else free
    return Opened(guarded, facts, card_of, counter, meter, model, foresight, bill, retry)


def machine_of(facts: Facts) -> str:
    """The machine that runs a model: this machine's name, or the address of another one's server."""
    here = not facts.cloud and (not facts.server or is_loopback(facts.server))
    return machine_name() if here else facts.server


def _rate(calls: Sequence[Called], measure: Callable[[Called], tuple[int, float]]) -> float:
    """Tokens a second over all calls that had enough of them to tell; 0.0 when none had."""
    sizes = [size for size in map(measure, calls) if size[0] >= _ENOUGH and size[1] > 0]
    return sum(tokens for tokens, _ in sizes) / sum(seconds for _, seconds in sizes) if sizes else 0.0


def _read(call: Called) -> tuple[int, float]:
    return call.evaluated, call.timing.prefill_s


def _written(call: Called) -> tuple[int, float]:
    return call.usage.output, call.timing.decode_s
