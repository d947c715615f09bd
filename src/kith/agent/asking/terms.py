"""On which terms a session asks models: told in the log, with consent, without secrets, within its money."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Final, Literal

from kith import __version__
from kith.agent.asking.hidden import Hidden, find_hidden
from kith.agent.hooks import hooks_of
from kith.agent.known_secrets import keys_of, known_values
from kith.agent.project import Project
from kith.core.errors import ModelError, NoModelError
from kith.core.events import Answered, Compacted, Notice, RunEnded, RunStarted
from kith.core.model import Model, Tool
from kith.core.numbers import dollars
from kith.core.run import Run, new_id
from kith.core.values import Answer, Consent, Question
from kith.memory.log import Log
from kith.memory.permits import ALWAYS, ASK_AGAIN, agreed
from kith.memory.queries import paid_today, usual_cost
from kith.memory.session import Session
from kith.models.account import Account, Budget
from kith.models.stack import Opened
from kith.models.wrappers.gate import RejectedError, Sending
from kith.settings import Settings
from kith.tools.veiled import Veil, hide, veil_tools
from kith.tools.wrappers import show_calls

_PLACES: Final = ("anthropic", "gemini", "ollama", "llama-server", "lmstudio", "vllm")
_FILES_NAMED: Final = 4  # in a question; the rest is counted
_FOR: Final = {
    "work": "for this task",
    "review": "to review",
    "coach": "to coach other models",
    "confer": "to confer",
    "measure": "to be measured",
}


class Terms:
    """The terms of one session, the same for all the models that it asks.

    `account` counts the session's payments, starting with those that its task made before. All steps pay
    from it, though they may have tokens and seconds of their own. A consent holds for the session, per
    model and group of purposes.
    """

    def __init__(self, project: Project, run: Run, session: str) -> None:
        self.project, self.run = project, run
        self.session = session
        paid = project.log.paid_in(session)
        self.account = Account(budget_of(project.settings), paid=paid, today=lambda: paid_today(project.log))
        self._agreed: set[Consent] = set()
        self._one_by_one = asyncio.Lock()
        self._told: set[tuple[str, str]] = set()
        self._hidden: Hidden | None = None
        self._known = known_values(project.root, project.settings)

    async def open(self, name: str = "") -> Opened:
        """The model called `name` (or the chosen one), admitted. Raises NoModelError, ModelError."""
        opened = await self.project.open_model(self.run.emit, name)
        await self.admit(opened)
        return opened

    async def admit(self, opened: Opened) -> None:
        """Say in the log what runs, where and on which machine, and keep back what it must not see."""
        facts = opened.facts
        if (facts.name, facts.server) not in self._told:
            self._told.add((facts.name, facts.server))
            self.run.emit(opened.engaged())
        if facts.cloud:  # each opening has a gate of its own
            self._hidden = self._hidden or await find_hidden(self.project)
            opened.gate.keep_back(self._hidden.values)
        elif self.project.in_place:  # a task may be about the container's secrets
            opened.gate.keep_back(keys_of(self.project.settings), forms=False)
        else:
            opened.gate.keep_back(self._known)

    def show(self, opened: Opened, tools: tuple[Tool, ...], *others: Opened) -> tuple[Tool, ...]:
        """The tools as an admitted model gets them: hooks see its calls; no private files in the cloud.

        `others` read along; so one of them in the cloud is enough.
        """
        veil = self._veil(opened, *others)
        if veil is not None:
            tools = veil_tools(tools, veil)
        return self.hook(tools, opened, *others)

    def hook(self, tools: tuple[Tool, ...], *opened: Opened) -> tuple[Tool, ...]:
        """The tools, whose calls are shown to the hooks there are; these see no more than the models may."""
        if not self.project.settings.hooks:
            return tools
        hooks = hooks_of(self.project, self.session, self._veil(*opened))
        return show_calls(tools, hooks) if hooks else tools

    def veils(self, *opened: Opened) -> bool:
        """True if private files are hidden from the admitted models: one of them is in the cloud."""
        return self._veil(*opened) is not None

    def hide(self, run: Run, *opened: Opened) -> Run:
        """The run as it may be told of to these models: with a tree without private files."""
        veil = self._veil(*opened)
        if veil is None:
            return run
        return run.inside(hide(run.workspace, veil))

    def wrap(
        self,
        opened: Opened,
        earlier: Sequence[Compacted] = (),
        *,
        budget: Budget | None = None,
        tells: bool = True,
    ) -> Model:
        """An admitted model, within the limits of the task.

        With a `budget` a step begins that has its own tokens and seconds; the money is still the task's.
        """
        account = self.account if budget is None else self.account.step(budget)
        return opened.wrap(account, earlier, tells=tells, permit=self.permit, agree=self.agree_to_wait)

    async def agree_to_wait(self, error: ModelError) -> bool:
        """True if the person wants to wait as long as a server asks for.

        Where kith chooses the models, another one takes over instead.
        """
        left = self.account.seconds_left
        if self.project.settings.is_routed or (left is not None and (error.after_s or 0.0) >= left):
            return False
        async with self._one_by_one:
            question = Question(new_id(), "plan", f"{error}. Wait for it?", ("yes", "no"))
            return (await self.run.ask(question)).choice == "yes"

    async def permit(self, sending: Sending) -> None:
        """Let a first call pass, asking the person where the settings want it.

        Raises RejectedError when they say no; NoModelError where nobody can be asked or a setting forbids it.
        """
        consent = Consent(sending.model, sending.server, sending.group)
        async with self._one_by_one:
            if consent in self._agreed:
                return
            await self._agree(sending, consent)
            self._agreed.add(consent)

    def is_agreed(self, consent: Consent) -> bool:
        """True if the person agreed in advance, to this or to everything."""
        held = agreed(self.project.log, self.project.root, self.session)
        return self.project.settings.cloud == "allow" or consent in held

    async def _agree(self, sending: Sending, consent: Consent) -> None:
        chosen, where = self.project.settings, f"{sending.model} at {sending.server}"
        if chosen.cloud == "never":
            raise NoModelError(f'{sending.model} is in the cloud, and cloud = "never" is set.')
        if chosen.offline:  # also a feature's own model, which no list of servers knows
            raise NoModelError(f"{sending.model} is in the cloud, and --offline is set.")
        if self.is_agreed(consent):
            self.run.emit(Notice(f"{where} gets {_content(sending)}; {_money(sending)}."))
            return
        # A model that stands on this command line was chosen for this; --yes answers then, as for a plan.
        kind: Literal["plan", "trust"] = "plan" if _is_named(sending, chosen) else "trust"
        usual = usual_cost(self.project.log, sending.model)
        so_far = f" Sessions with it cost {dollars(usual.usd)} (median of {usual.sessions})." if usual else ""
        words = f"Ask {where} {_FOR[sending.group]}? It gets {_content(sending)}; {_money(sending)}.{so_far}"
        answer = await self.run.ask(Question(new_id(), kind, words, ("yes", "no", ALWAYS), subject=consent))
        if answer.choice in ("yes", ALWAYS):
            return
        if answer.unasked:
            raise NoModelError(
                f"{sending.model} is in the cloud and needs your consent: use -m and --yes, or "
                'cloud = "allow".'
            )
        raise RejectedError(f"Nothing was sent to {sending.model}.")

    def _veil(self, *opened: Opened) -> Veil | None:
        """Return what is hidden from these models; None where none of them is in the cloud."""
        if not any(each.facts.cloud for each in opened):
            return None
        if self._hidden is None:
            raise RuntimeError("a model in the cloud was not admitted")
        return self._hidden.veil


def budget_of(chosen: Settings) -> Budget:
    """Return the limits of one task."""
    return Budget(chosen.max_task_tokens, chosen.max_task_seconds, chosen.max_task_usd, chosen.max_day_usd)


def ask_again(log: Log, root: Path) -> tuple[Consent, ...]:
    """Revoke the permanent consents in a project; returns them."""
    held = agreed(log, root)
    if held:
        with Session(log, new_id()) as session:
            session.emit(RunStarted("ask again about models in the cloud", str(root), "", __version__))
            for consent in held:
                session.emit(Answered(new_id(), Answer(ASK_AGAIN), consent))
            session.emit(RunEnded("done", "kith asks again before it uses models in the cloud."))
    return held


# --- what is asked, in words ----------------------------------------------------------------


def _content(sending: Sending) -> str:
    """`3 messages, about 12,400 tokens, with the contents of a.py, b.py and 2 more files`."""
    messages = "1 message" if sending.messages == 1 else f"{sending.messages:,} messages"
    words = f"{messages}, about {sending.tokens:,} tokens"
    named, more = sending.files[:_FILES_NAMED], len(sending.files) - _FILES_NAMED
    if not named:
        return words
    rest = f" and {more:,} more {'file' if more == 1 else 'files'}" if more > 0 else ""
    return f"{words}, with the contents of {', '.join(named)}{rest}"


def _money(sending: Sending) -> str:
    if sending.usd is None:
        return "the cost is not known"
    least, most = map(dollars, sending.usd)
    return f"the first call costs {least} to {most}"


def _is_named(sending: Sending, chosen: Settings) -> bool:
    """True if the person named this very model and its place on the command line.

    A bare name tells no place, and may turn out to be in the cloud.
    """
    place, slash, _ = chosen.model.partition("/")
    says_where = slash and place in (*chosen.endpoints, *_PLACES, "openai" * bool(chosen.openai_base_url))
    return chosen.origin.get("model") == "flag" and bool(says_where) and sending.asked_as == chosen.model
