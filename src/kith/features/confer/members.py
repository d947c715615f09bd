"""Define a council's members and budget, and one round that asks all of them."""

import asyncio
import random
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from functools import partial
from typing import Any, Final, Generic, TypeVar
from urllib.parse import urlsplit

from msgspec import Struct, field
from msgspec.structs import replace

from kith.context.budget import estimate_tokens
from kith.core.decisions import Claimed, council_thread
from kith.core.errors import KithError
from kith.core.event_loop import leave
from kith.core.events import Delta, Event, Notice
from kith.core.model import Billed, Prompt, Role
from kith.core.run import Run, Thread
from kith.core.values import Charge, Message, Text, say
from kith.features.confer.council_rules import UNTIL, Proposal, Round, Seat, make_lanes
from kith.models.stack import Opened

T = TypeVar("T")
LEAST: Final = 160  # tokens of a reply; with less room nobody is asked


class Member(Struct, frozen=True):
    """One of a council: where its model runs, who it is, and how often its work was good so far (0 to 1)."""

    seat: Seat
    role: Role
    cloud: bool = False
    ability: float = 0.5
    host: str = ""  # tells members apart whose models have the same name

    @property
    def label(self) -> str:
        return self.seat.label

    @property
    def name(self) -> str:
        """The model's name, `model@host` where another's is the same: for people, never for members."""
        return name_at(self.role.model.name, self.host)


class Ledger(Struct):
    """The token budget of a council (new ones read, and written), and each member's use of it."""

    tokens: int
    spent: int = 0
    usd: float = 0.0
    costs: dict[str, tuple[float, float]] = field(default_factory=dict)  # by label
    first: dict[str, int] = field(default_factory=dict)  # by label: tokens of its first call

    def left(self, round: Round) -> int:
        """Tokens that may be used until the round's end."""
        return max(0, int(self.tokens * UNTIL[round]) - self.spent)

    def cost(self, label: str) -> tuple[float, float]:
        """US dollars and seconds of a member's calls."""
        return self.costs.get(label, (0.0, 0.0))

    def bill(self, label: str, role: Role) -> Role:
        """The role as a member plays it, whose calls are taken down here."""
        return replace(role, model=Billed(role.model, partial(self._take, label)))

    def _take(self, label: str, charge: Charge) -> None:
        used = charge.computed
        self.spent += used
        self.usd += charge.usd or 0.0
        self.first.setdefault(label, used)
        usd, seconds = self.cost(label)
        self.costs[label] = (usd + (charge.usd or 0.0), seconds + charge.timing.total_s)


class Council(Struct, frozen=True):
    """One council at work: first the constant fields, then those that its rounds fill in.

    `facts` is shown to all members: the relevant part of the project, and the question. `tested`: plans
    will be carried out, and tests decide. `hurry` is set when the person wants a decision at once. `work`
    is the cost of carrying plans out. `silent` gives the reason why a member is no longer asked, and
    `short` names rounds that ran out of tokens.
    """

    id: str
    kind: str
    question: str
    facts: str
    members: dict[str, Member]
    ledger: Ledger
    tested: bool = False
    hurry: asyncio.Event = field(default_factory=asyncio.Event)
    work: Ledger = field(default_factory=lambda: Ledger(0))
    threads: dict[str, Thread] = field(default_factory=dict)
    proposals: dict[str, Proposal] = field(default_factory=dict)
    claims: list[Claimed] = field(default_factory=list)
    silent: dict[str, str] = field(default_factory=dict)
    revised: list[str] = field(default_factory=list)
    short: list[Round] = field(default_factory=list)

    def thread(self, label: str) -> Thread:
        """The conversation with a member."""
        return self.threads.setdefault(label, Thread(council_thread(self.id, label)))


def tell_apart(models: Sequence[Opened]) -> tuple[str, ...]:
    """The host of each model whose name another one has too, "" for the others."""
    names = [each.facts.name for each in models]
    return tuple(_host(each) if names.count(each.facts.name) > 1 else "" for each in models)


def name_at(name: str, host: str) -> str:
    """`model@host`, without the kind of server that the name begins with; just the name without a host."""
    return f"{name.partition('/')[2] or name}@{host}" if host else name


def _host(opened: Opened) -> str:
    """The name of the endpoint by which it was asked for, else the server's address."""
    place, _, model = opened.asked_as.partition("/")
    named = bool(model) and opened.facts.name.endswith(f"/{model}")
    return place if named else urlsplit(opened.facts.server).netloc


def draw_labels(number: int) -> list[str]:
    """A, B, C ... in an order that nobody chose."""
    labels = [chr(ord("A") + at) for at in range(number)]
    return random.sample(labels, number)


async def unless_hurried(hurry: asyncio.Event, work: Coroutine[Any, Any, T]) -> T | None:
    """Return the work's result; None when a person's hurry cut it short."""
    task, waiter = asyncio.ensure_future(work), asyncio.ensure_future(hurry.wait())
    try:
        await asyncio.wait({task, waiter}, return_when=asyncio.FIRST_COMPLETED)
        return task.result() if task.done() else None
    finally:
        await leave(waiter, task)


# One round of a council: whom to ask in which order, within its tokens; who fails is asked no more.

# What a reply says, or None and what is wrong with it in words for the model.
Read = Callable[[str], tuple[T | None, str]]
TRIES: Final = 2
AUTHOR: Final = "kith"
_TURN: Final[Mapping[Round, int]] = {"propose": 0, "criticise": 1, "revise": 2, "check": 3}


class Nonsense(KithError):
    """A member's replies cannot be read."""


class Agenda(Struct, Generic[T], frozen=True):
    """The agenda of one round: a message to each member, a reader of answers, and their use."""

    round: Round
    letters: Mapping[str, str]
    read: Read[T]
    then: Callable[[str, T], Awaitable[None]]


async def hold_round(run: Run, council: Council, agenda: Agenda[T]) -> None:
    """Send each member its message, and handle each answer as it comes.

    Members on one server are asked one after the other, others side by side. It ends early when the person is
    in a hurry, and asks nobody for whom the tokens do not last.
    """
    seats = [council.members[label].seat for label in agenda.letters if label not in council.silent]
    waiting = len(seats)

    async def ask_lane(lane: Sequence[Seat]) -> None:
        nonlocal waiting
        for seat in lane:
            room = council.ledger.left(agenda.round) // max(1, waiting)
            waiting -= 1
            await _ask_member(step, council, council.members[seat.label], room, agenda)

    with run.step(agenda.round) as step:
        lanes = make_lanes(seats, _TURN[agenda.round])
        await unless_hurried(council.hurry, _side_by_side([ask_lane(lane) for lane in lanes]))


async def _side_by_side(works: Sequence[Coroutine[Any, Any, None]]) -> None:
    """All of them at once; the first that fails (a bug, a cancellation) ends the others."""
    async with asyncio.TaskGroup() as group:
        for work in works:
            group.create_task(work)


async def _ask_member(run: Run, council: Council, member: Member, room: int, agenda: Agenda[T]) -> None:
    """Ask one member; what goes wrong with it is said, and the others go on without it."""
    label, letter = member.label, agenda.letters[member.label]
    try:
        with run.step(label) as step:
            answer = await ask(step, member, council.thread(label), letter, room, agenda.read)
    except KithError as error:
        council.silent[label] = str(error)
        run.emit(Notice(f"{label} ({member.name}) drops out: {error}", "warning"))
        return
    if answer is None:
        council.short.append(agenda.round)
        run.emit(Notice(f"{label} is not asked to {agenda.round}: the council's tokens are spent."))
        return
    await agenda.then(label, answer)


async def ask(run: Run, member: Member, thread: Thread, letter: str, room: int, read: Read[T]) -> T | None:
    """Ask a member, once more if the answer cannot be read; None without room for it.

    `room`: tokens for the new part of the prompt, and the reply. Raises Nonsense, and its model's errors.
    """
    fault = ""
    for attempt in range(1, TRIES + 1):
        new = letter if thread.messages else member.role.system + letter
        room -= estimate_tokens(new)
        if room < LEAST:
            break
        thread.add(run, say(letter, AUTHOR))
        words = await _speak(run, member, thread, room, attempt)
        answer, fault = read(words)
        if answer is not None:
            return answer
        letter = f"{fault} Send the whole reply again."
        room -= estimate_tokens(words)
    if not fault:
        return None
    raise Nonsense(f"its reply cannot be read: {fault}")


async def _speak(run: Run, member: Member, thread: Thread, room: int, attempt: int) -> str:
    """Add one reply to the thread; an interrupted one is kept as far as it came."""
    role, heard = member.role, list[str]()

    def listen(event: Event) -> None:
        if isinstance(event, Delta) and event.kind == "text":
            heard.append(event.text)
        run.emit(event)

    sampling = replace(role.sampling, max_tokens=min(room, role.sampling.max_tokens or room))
    prompt = Prompt(role.system, thread.messages, (), role.purpose, attempt, sampling, thread.name)
    try:
        reply = await role.model(prompt, listen)
    except asyncio.CancelledError:
        if heard:
            thread.add(run, Message("assistant", (Text("".join(heard)),), member.name, complete=False))
        raise
    thread.add(run, replace(reply.message, author=member.name, complete=reply.stop != "length"))
    return reply.message.text
