"""Do a task on the files themselves, where a container that is thrown away confines kith."""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from msgspec.structs import replace

from kith.agent.project import Project, Result
from kith.agent.tasks import DoTask, Task, run_task
from kith.core.errors import UsageError
from kith.core.run import Answerer
from kith.core.values import Answer, Question
from kith.core.workspace import SizeLimits
from kith.features.in_place.tree import open_in_place
from kith.memory.session import Listener
from kith.settings import Settings

_WORDS: Final = Path(__file__).with_name("words.md")
_KEYS: Final = ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY")
# Options that need a change on the side, by their names in the namespace.
_NEED_A_TRIAL: Final = {
    "read_only": "--read-only",
    "check": "--check",
    "no_worse": "--no-worse",
    "also": "--also",
    "resume": "--resume",
}


def find_way(args: argparse.Namespace) -> DoTask | None:
    """Work in place, where the option asks for it. Raises UsageError for options that need a trial."""
    if not getattr(args, "in_place", False):  # of `kith run` alone
        return None
    wrong = [option for name, option in _NEED_A_TRIAL.items() if getattr(args, name, None)]
    wrong += ["--best-of"] if getattr(args, "best_of", 1) > 1 else []
    wrong += ["--plan"] if args.plan != "no" else []
    if wrong:
        raise UsageError(f"--in-place has no trial; leave {wrong[0]} out.")
    return run_in_place


async def run_in_place(
    project: Project, task: Task, answerer: Answerer, listeners: Sequence[Listener], id: str
) -> Result:
    """Do a task on the files of `project` themselves. Raises UsageError outside of a container."""
    chosen = project.settings
    if chosen.sandbox != "outside":
        raise UsageError(
            "--in-place changes files without a trial and runs commands without a question. Use it only in a "
            "container that you throw away; there, set KITH_SANDBOX=outside."
        )
    tree = open_in_place(
        project.root,
        chosen.state,
        limits=SizeLimits(chosen.max_file_bytes, chosen.max_change_bytes),
        own=(chosen.cache, chosen.config),
        private=_keys_of(chosen),
    )
    done = await run_task(
        replace(project, tree=tree, settings=_without_trial(chosen)), task, _agreeing(answerer), listeners, id
    )
    return replace(done, report={**done.report, "in_place": True})


def _keys_of(chosen: Settings) -> frozenset[str]:
    """The variables that hold keys for models, which are no business of a command."""
    return frozenset((*_KEYS, *(name for each in chosen.endpoints.values() for name in each.key_variables)))


def _without_trial(chosen: Settings) -> Settings:
    """The settings without what runs on the files before a change, or judges it at the end."""
    system = chosen.system or str(_WORDS)
    return replace(chosen, check=("none",), no_worse=(), lint="off", review=False, system=system)


def _agreeing(answerer: Answerer) -> Answerer:
    """Commands may do anything here, whatever hosts they name; the rest is asked as ever."""

    async def answer(question: Question) -> Answer:
        if question.kind == "tool" and question.effect in ("exec", "net"):
            return Answer("yes", by="--in-place")
        return await answerer(question)

    return answer
