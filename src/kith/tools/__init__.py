"""List a model's tools: few, briefly described, all through the run's workspace."""

from collections.abc import Sequence

from kith.core.model import Tool
from kith.core.values import TodoItem
from kith.tools.edit import EDIT, WRITE
from kith.tools.files import LIST, READ_LIMITS, ReadLimits, make_read
from kith.tools.git import GIT
from kith.tools.search import SEARCH
from kith.tools.shell import BASH, make_powershell, powershell_program
from kith.tools.symbols import Look, make_symbols
from kith.tools.todo import DONE, make_todo

__all__ = ["ReadLimits", "standard_tools"]


def standard_tools(
    todo: Sequence[TodoItem] = (),
    *,
    repository: bool = True,
    powershell: str | None = None,
    look: Look | None = None,
    limits: ReadLimits = READ_LIMITS,
) -> tuple[Tool, ...]:
    """Return the tools of one thread, always in the same order, as they are part of the cached prompt.

    `todo` is the list from the thread's log. `repository` is False outside a git repository. `powershell`
    is its program ("" for none); None searches for it. `look` asks the index if there is one.
    """
    program = powershell_program() if powershell is None else powershell
    shells = (BASH, make_powershell(program)) if program else (BASH,)
    git = (GIT,) if repository else ()
    symbols = (make_symbols(look),) if look else ()
    return (make_read(limits), LIST, SEARCH, *symbols, EDIT, WRITE, *shells, *git, make_todo(todo), DONE)
