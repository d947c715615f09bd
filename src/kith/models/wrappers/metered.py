"""A model whose every call is on an account: within its limits, timed, priced, and told as one event."""

import asyncio
import time
from collections.abc import Callable

from msgspec import field
from msgspec.structs import replace

from kith.context.budget import estimate_tokens
from kith.core.events import Called, Delta, Event, Notice
from kith.core.model import Emit, Prompt, Tab, Wrapped, bill_of
from kith.core.values import Bill, Charge, Reply, Timing, Usage
from kith.models.account import Account, Price, know_no_price
from kith.models.forecasts import Foresight
from kith.models.wrappers.counter import Counter
from kith.models.wrappers.prompt_cache import CacheMeter


class Metered(Wrapped, frozen=True, eq=False):
    """`model`, asked within the limits of `account`, with one Called event for each call.

    What the server measured itself is kept as it is. `window` is what the model may hold, in tokens; `meter`
    remembers what its server was sent, and belongs to all the models of that server. `tells`: what it finds
    lost, or slow, is said, as a Notice. `foresight` knows how long calls take (None: nobody does), `price`
    what they cost, and `count` estimates a prompt's tokens.

    A call that was cancelled, or failed in mid-reply, counts by estimate: its prompt was read, and what
    arrived was written. One that was refused before a word of an answer costs nothing.
    """

    clock: Callable[[], float] = time.monotonic
    window: int = 0
    meter: CacheMeter = field(default_factory=CacheMeter)
    tells: bool = True
    foresight: Foresight | None = None
    account: Account = field(default_factory=Account)
    price: Price = know_no_price
    count: Callable[[Prompt], int] = field(default_factory=lambda: Counter().estimate)

    async def __call__(self, prompt: Prompt, emit: Emit) -> Reply:
        """Ask once; the reply's timing has a first token and a total. Raises what the model raises.

        Raises LimitError before a call that the account refuses, and when its time runs out in one.
        """
        account = self.account
        account.check()
        prompt, worst = account.afford(self.name, self.price, prompt, self.count)
        with Tab() as tab, account.running(worst):
            try:
                async with asyncio.timeout(account.seconds_left) as limit:
                    return await tab.ask(self._measure, prompt, emit)
            except TimeoutError:
                if not limit.expired():
                    raise
                raise account.out_of_time() from None

    async def _measure(self, prompt: Prompt, emit: Emit) -> Reply:
        forecast = self.foresight.expect(prompt) if self.foresight else None
        began, first_token, heard = self.clock(), 0.0, 0

        def listen(event: Event) -> None:
            nonlocal first_token, heard
            if isinstance(event, Delta):
                first_token = first_token or self.clock() - began
                heard += estimate_tokens(event.text)
            emit(event)

        called = Called(
            *(self.name, prompt.purpose, prompt.attempt),
            window=self.window,
            expected_s=round(forecast.mid_s, 3) if forecast else 0.0,
            strategy=prompt.strategy,
        )
        with Tab() as tab:
            try:
                reply = await self.model(prompt, listen)
            except BaseException as error:
                self._take_counts(bill_of(error), prompt, tab, emit)
                cancelled = isinstance(error, asyncio.CancelledError)
                timing = Timing(first_token_s=first_token, total_s=self.clock() - began)
                charge = self._lost(prompt, heard, timing, begun=cancelled or heard > 0)
                self._take(charge, tab)
                words = "cancelled" if cancelled else str(error) or repr(error)
                emit(replace(called, timing=timing, stop="error", error=words, usd=charge.usd))
                raise
            self._take_counts(reply.bill, prompt, tab, emit)
            timing = replace(
                reply.timing,
                first_token_s=reply.timing.first_token_s or first_token,
                total_s=reply.timing.total_s or self.clock() - began,
            )
            use = self.meter.take(prompt, reply, self.window, recounted=bool(reply.bill))
            usd = self.price(reply.model, reply.usage)
            called = replace(called, model=reply.model, usage=reply.usage, timing=timing, stop=reply.stop)
            called, slow = replace(called, cache=use, usd=usd), ""
            if self.foresight:
                called, slow = self.foresight.take(prompt, called, forecast)
            what = called.model, called.purpose, called.usage, called.evaluated, timing, reply.stop, usd
            self._take(Charge(*what), tab)
            emit(called)
            for words in filter(None, (self.meter.tell(use, timing.load_s), slow) if self.tells else ()):
                emit(Notice(words, "warning"))
            return replace(reply, timing=timing, bill=tab.bill)

    def _take(self, charge: Charge, tab: Tab) -> None:
        tab.add(charge)
        self.account.take(charge)

    def _take_counts(self, bill: Bill, prompt: Prompt, tab: Tab, emit: Emit) -> None:
        """Count and tell the calls that were made only to have the prompt's tokens counted."""
        for each in bill:
            charge = replace(each, usd=self.price(each.model, each.usage))
            self._take(charge, tab)
            what = charge.model, charge.purpose, 1, charge.usage, charge.timing, charge.stop
            emit(Called(*what, usd=charge.usd, strategy=prompt.strategy))

    def _lost(self, prompt: Prompt, heard: int, timing: Timing, *, begun: bool) -> Charge:
        """The charge of a call without a reply, of which `heard` tokens arrived."""
        usage, new, usd = Usage(), 0, 0.0 if not begun else None
        if begun:
            usage = Usage(self.count(prompt), heard)
            new = min(usage.input, self.foresight.unread(prompt) if self.foresight else usage.input)
            usd = self.price(self.name, usage)
        return Charge(self.name, prompt.purpose, usage, new, timing, "error", usd)
