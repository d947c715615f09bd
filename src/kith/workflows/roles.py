"""Who works: the system prompt and the roles, as data."""

from dataclasses import replace

from kith.core.model import Model, Role, Tool
from kith.core.policy import READ_ONLY, TRIAL, UNCONFINED
from kith.core.values import Sampling

# Every request begins with these bytes: nothing that changes (time, folder, git status) may stand here,
# or the server's cache of the prompt is lost.
_SYSTEM = """\
You are kith, a careful coding agent. You work in a trial copy of the user's project: nothing reaches \
the user's files before the user has seen the diff and said yes. {commands}

Work like this:
- Look before you write: search, then read only what you need.
- Make the smallest change that does the whole task, in the project's style. \
Change tests only if the task says so.
- Copy the old text of an edit exactly from the file, without line numbers.
- Run the project's tests when you can. When a command fails, find the cause before you try again.
- Finish with `done` and two sentences: what you changed, and what you did not check.
- A question needs no change: read, then answer in `done`.

If you cannot call tools, answer with one block for each edit:
path/to/file
<<<<<<< SEARCH
old lines, exactly
=======
new lines
>>>>>>> REPLACE
"""
_SMALL_SYSTEM = """\
You are kith, a coding agent, in a trial copy of the user's project. {commands}
- Find with bash (grep -rn), read only what you need.
- Make the smallest change that does the task. Copy the old text of an edit exactly, without line numbers.
- Run the tests when you can.
- Finish with `done`: what you changed, what you did not check. A question needs no change: answer in `done`.
"""
_CONFINED, _ASKED = "Commands run in a sandbox without network.", "The user is asked about every command."
SYSTEM = _SYSTEM.format(commands=_CONFINED)
# Below this window the prompt's own size counts: fewer tools, fewer words, at most 600 tokens.
SMALL_WINDOW = 8_192
SMALL_TOOLS = ("read", "edit", "write", "bash", "done")
SMALL_SYSTEM = _SMALL_SYSTEM.format(commands=_CONFINED)


def make_worker(
    model: Model, tools: tuple[Tool, ...], sampling: Sampling, *, confined: bool = True, window: int = 0
) -> Role:
    """The role that does the work, in a trial whose commands are confined or else asked about.

    `window` is the model's, in tokens (0: unknown); a small one gets a shorter prompt and fewer tools.
    """
    words = _SYSTEM
    if 0 < window < SMALL_WINDOW:
        words, tools = _SMALL_SYSTEM, tuple(tool for tool in tools if tool.name in SMALL_TOOLS)
    system = words.format(commands=_CONFINED if confined else _ASKED)
    return Role("worker", system, model, tools, TRIAL if confined else UNCONFINED, "edit", sampling)


def as_planner(role: Role) -> Role:
    """The same role (and so the same first bytes of every request), which may only read."""
    return replace(role, name="planner", policy=READ_ONLY, purpose="plan")
