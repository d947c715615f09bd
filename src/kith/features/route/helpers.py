"""What a model in the cloud may hand to the local ones: who they are, and one of them does an errand."""

from collections.abc import Mapping, Sequence
from contextlib import aclosing
from dataclasses import replace
from typing import Any

from kith.agent.asking.roles import find_role, make_player
from kith.agent.asking.terms import Terms
from kith.agent.models import measured_name
from kith.agent.roles import Player
from kith.core.errors import KithError
from kith.core.model import Tool
from kith.core.run import Run
from kith.core.workspace import ExecLimits
from kith.features.measure.measured import read_measured
from kith.features.measure.successes import describe_models
from kith.features.route.delegate_tool import Errand, Returned, make_delegation
from kith.features.route.errand import do_errand
from kith.models.account import Budget
from kith.models.stack import Opened
from kith.tools import ReadLimits, standard_tools


def delegation_tools(terms: Terms, giver: Opened) -> tuple[Tool, ...]:
    """The tools with which `giver` asks local models; what it must not see, they do not see for it."""
    project = terms.project
    names = project.settings.route.local
    logged = {name: measured_name(project.settings, name) for name in names}

    async def describe() -> str:
        measured = read_measured(project.log, cache=project.settings.cache)
        return tell_models(logged, describe_models(measured))

    async def entrust(errand: Errand, run: Run) -> Returned:
        if errand.model not in names:
            there = f"There is no local model {errand.model!r}; there are: {', '.join(names)}."
            return Returned(False, there, "no such model")
        try:
            async with aclosing(await terms.open(errand.model)) as opened:
                player = _player(terms, opened, giver)
                limits = ExecLimits(seconds=project.settings.check_timeout)
                return await do_errand(run, giver.facts.name, errand, player, limits)
        except KithError as error:
            return Returned(False, f"{errand.model} cannot be asked: {error}", "it cannot be asked")

    return make_delegation(describe, entrust)


def _player(terms: Terms, opened: Opened, giver: Opened) -> Player:
    step, limits = terms.project.settings.build, ReadLimits.of_window(opened.window)
    model = terms.wrap(opened, budget=Budget(step.step_tokens, step.step_seconds), tells=False)
    tools = terms.show(giver, standard_tools(limits=limits))
    spec, veiled = find_role("worker", terms.project.settings), terms.veils(giver)
    player = make_player(terms.project, spec, opened, model, tools, veiled=veiled)
    return replace(player, role=replace(player.role, purpose="delegated"))


def tell_models(logged: Mapping[str, str], rows: Sequence[Mapping[str, Any]]) -> str:
    """Each model that may be asked, with what it was measured to do, a line for each kind of work.

    `logged` is the name that each has in the log.
    """
    lines = []
    for name, known in logged.items():
        own = [row for row in rows if row["model"] in (known, name.partition("/")[2])]
        lines += [f"{name}: {_measured(row)}" for row in own] or [f"{name}: not measured yet"]
    return "\n".join(("The local models, and how their tasks went here:", *lines))


def _measured(row: Mapping[str, Any]) -> str:
    """`edit-small: 7 of 9 solved (45 to 94 %), 12 s, 2,100 tokens`."""
    words = [f"{row['tasks']} tasks"]
    if row["judged"]:
        low, high = round(100 * row["solved_low"]), round(100 * row["solved_high"])
        words = [f"{row['solved']:.0%} of {row['judged']} solved ({low} to {high} %)"]
    if row["p50_s"] is not None:
        words.append(f"{row['p50_s']:.0f} s")
    if row["tokens"]:
        words.append(f"{row['tokens']:,.0f} tokens")
    return f"{row['kind']}: {', '.join(words)}"
