"""What a model in the cloud may hand to the local ones: who they are, and one of them opened for an errand."""

from collections.abc import Awaitable, Callable
from contextlib import aclosing
from dataclasses import replace

from kith.app.cast import find_role
from kith.app.project import Project
from kith.context.rooms import output_room
from kith.core.errors import KithError
from kith.core.model import Model, Tool
from kith.core.run import Run
from kith.core.workspace import ExecLimits
from kith.models.stack import Opened
from kith.tools import ReadLimits, standard_tools
from kith.tools.delegate import Errand, Returned, make_delegation
from kith.tools.repeats import watch_repeats
from kith.workflows.delegate import do_errand
from kith.workflows.roles import Player, is_small, make_role

# Dresses an opened model for the run: with its limits, and all that is measured.
Dress = Callable[[Run, Opened], Model]


def delegates(project: Project, opened: Opened) -> bool:
    """Whether a model is offered others to hand work to: it is in the cloud, and local ones were named."""
    return opened.facts.cloud and bool(project.settings.route.local)


def delegation_tools(
    project: Project, by: str, describe: Callable[[], Awaitable[str]], dress: Dress
) -> tuple[Tool, ...]:
    """The tools with which the model `by` asks local models; `describe` gives what was measured of them."""
    names = project.settings.route.local

    async def entrust(errand: Errand, run: Run) -> Returned:
        if errand.model not in names:
            there = f"There is no local model {errand.model!r}; there are: {', '.join(names)}."
            return Returned(False, there, "no such model")
        try:
            async with aclosing(await project.open_model(run.emit, errand.model)) as opened:
                player = _player(project, dress(run, opened), opened)
                limits = ExecLimits(seconds=project.settings.check_timeout)
                return await do_errand(run, by, errand, player, limits)
        except KithError as error:
            return Returned(False, f"{errand.model} cannot be asked: {error}", "it cannot be asked")

    return make_delegation(describe, entrust)


def _player(project: Project, model: Model, opened: Opened) -> Player:
    chosen, window = project.settings, opened.window
    role = make_role(
        find_role("worker"),
        model,
        watch_repeats(standard_tools(limits=ReadLimits(bytes=output_room(window, 24_000)))),
        replace(chosen.sampling, think=chosen.think, think_tokens=chosen.think_tokens),
        confined=project.tree.confined,
        small=is_small(window),
    )
    return Player(replace(role, purpose="delegated"), window, is_small(window))
