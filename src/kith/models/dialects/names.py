"""Which of the offered tools a model means, by the name it was given, or by one it learnt elsewhere."""

import re
from collections.abc import Iterable, Mapping, Sequence

from kith.core.model import Tool

# What other agents call the same thing, written as `plain` leaves it.
_SHELLS = "run shell exec execute terminal runcommand executecommand runshellcommand"
_ALSO: Mapping[str, frozenset[str]] = {
    name: frozenset(others.split())
    for name, others in {
        "read": "readfile readfiles openfile viewfile view open cat getfilecontents",
        "list": "ls listfiles listdir listdirectory listfolder glob findfiles",
        "search": "grep rg ripgrep searchfiles grepsearch searchcode findinfiles",
        "edit": "editfile strreplace replace replaceinfile searchreplace applyedit",
        "write": "writefile writetofile createfile create savefile",
        "bash": f"{_SHELLS} sh",
        "powershell": f"{_SHELLS} pwsh",
        "todo": "todowrite updatetodo updateplan todolist",
        "done": "finish submit complete attemptcompletion taskcomplete",
    }.items()
}
_SPACE = re.compile(r".*(?:\.|::|/|:)")  # functions.read, default_api:read


def plain(name: str) -> str:
    """A name without its spaces, capitals and joints: `functions.Read_File` is `readfile`."""
    return re.sub(r"[\s_-]", "", _SPACE.sub("", name)).lower()


def find_tool(name: str, tools: Sequence[Tool]) -> Tool | None:
    """The tool of this name, or the only one that goes by it elsewhere."""
    exact = next((tool for tool in tools if tool.name == name), None)
    if exact or not name:
        return exact
    return _only(tool for tool in tools if plain(tool.name) == plain(name)) or _only(
        tool for tool in tools if plain(name) in _ALSO.get(tool.name, ())
    )


def nearest_tool(name: str, tools: Sequence[Tool]) -> Tool | None:
    """The only tool whose name is one slip away: a letter too many, missing, wrong or swapped."""
    from rapidfuzz.distance import OSA

    if len(name) < 4:
        return None
    return _only(tool for tool in tools if OSA.distance(plain(name), plain(tool.name), score_cutoff=1) <= 1)


def _only(tools: Iterable[Tool]) -> Tool | None:
    found = list(tools)
    return found[0] if len(found) == 1 else None
