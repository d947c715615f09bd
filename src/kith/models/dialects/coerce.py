"""A call made to fit: the tool that is meant by its name, and arguments wherever one meaning is possible."""

import json
import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from kith.core.model import Tool
from kith.models.dialects.json_text import read_literal
from kith.models.dialects.pythonic import PLACE

# What other agents call the same thing, written as `plain` leaves it.
_SHELLS = "run shell exec execute terminal runcommand executecommand executebash runbash runshellcommand"
_ALSO_CALLED: Mapping[str, frozenset[str]] = {
    name: frozenset(others.split())
    for name, others in {
        "read": "readfile readfiles openfile viewfile view open cat getfilecontents",
        "list": "ls listfiles listdir listdirectory listfolder glob findfiles",
        "search": "grep rg ripgrep searchfiles grepsearch searchcode findinfiles",
        "edit": "editfile strreplace replace replaceinfile searchreplace applyedit",
        "write": "writefile writetofile createfile create savefile",
        "bash": f"{_SHELLS} sh applypatch",
        "powershell": f"{_SHELLS} pwsh",
        "todo": "todowrite updatetodo updateplan todolist",
        "done": "finish submit complete attemptcompletion taskcomplete",
    }.items()
}
# A tool of Anthropic's and OpenHands', whose `command` says which of ours is meant.
_EDITORS = frozenset(["strreplaceeditor", "strreplacebasededittool"])
_OF_EDITOR = {"view": "read", "create": "write", "str_replace": "edit"}
_LISTS = {"list", *_ALSO_CALLED["list"]}  # without a tool of that name, `read` lists folders
_SPACE = re.compile(r".*(?:\.|::|/|:)")  # functions.read, default_api:read


def plain(name: str) -> str:
    """A name without its spaces, capitals and joints: `functions.Read_File` is `readfile`."""
    return re.sub(r"[\s_-]", "", _SPACE.sub("", name)).lower()


def translate(name: str, args: Mapping[str, Any], tools: Sequence[Tool]) -> tuple[str, Mapping[str, Any]]:
    """A call of an editor that does several things as one of ours; any other call as it is."""
    meant = _OF_EDITOR.get(str(args.get("command")))
    if not meant or plain(name) not in _EDITORS or any(tool.name == name for tool in tools):
        return name, args
    asked = _parsed(args.get("view_range"), list)
    first, last = [*(asked if isinstance(asked, list) else ()), None, None][:2]
    lines = {"start_line": first, "end_line": last if last != -1 else None}
    given = {name: value for name, value in args.items() if name not in ("command", "view_range")}
    return meant, {**given, **{name: line for name, line in lines.items() if line is not None}}


def find_tool(name: str, tools: Sequence[Tool]) -> Tool | None:
    """The tool of this name, or the only one that goes by it elsewhere."""
    exact = next((tool for tool in tools if tool.name == name), None)
    if exact or not name:
        return exact
    found = _only(tool for tool in tools if plain(tool.name) == plain(name)) or _only(
        tool for tool in tools if plain(name) in _ALSO_CALLED.get(tool.name, ())
    )
    if found or plain(name) not in _LISTS:
        return found
    return next((tool for tool in tools if tool.name == "read"), None)


def nearest_tool(name: str, tools: Sequence[Tool]) -> Tool | None:
    """The only tool whose name is one slip away: a letter too many, missing, wrong or swapped."""
    from rapidfuzz.distance import OSA

    if len(name) < 4:
        return None
    return _only(tool for tool in tools if OSA.distance(plain(name), plain(tool.name), score_cutoff=1) <= 1)


def _only(tools: Iterable[Tool]) -> Tool | None:
    found = list(tools)
    return found[0] if len(found) == 1 else None


# --- arguments -----------------------------------------------------------------------------------


Schema = Mapping[str, Any]

_FILE = "path file filepath filename targetfile"
# What other agents call the same argument, written as `plain` leaves it.
_ALSO: Mapping[str, frozenset[str]] = {
    name: frozenset(others.split())
    for name, others in {
        "path": f"{_FILE} paths files dir directory folder",
        "paths": f"{_FILE} files filepaths filenames dir directory folder",
        "command": "cmd script shellcommand commandline patch patchtext input",
        "old": "oldstring oldstr oldtext oldcode search find",
        "new": "newstring newstr newtext newcode replace replacement replacewith",
        "all": "replaceall everywhere",
        "content": "contents text filetext filecontent body code",
        "pattern": "query regex regexp",
        "folder": "cwd workdir workingdirectory",
        "timeout": "timeouts timeoutseconds",
        "message": "commitmessage msg",
        "items": "todos tasks steps",
        "summary": "message text answer result response",
    }.items()
}
# The lines of a file as other agents ask for them; here they are written behind its path.
_FIRST = frozenset(["start", "startline", "linestart", "fromline", "offset"])
_LAST = frozenset(["end", "endline", "lineend", "toline"])
# What other agents have a model say beside a call, and nothing here needs.
_SAID_BESIDE = "description explanation instruction isinput justification reason securityrisk thought"
_REASONS = frozenset(_SAID_BESIDE.split())
_WRAPPERS = ("arguments", "parameters", "args", "input", "kwargs")
_PLACED = re.compile(rf"{PLACE}(\d{{1,3}})")
_WHOLE = re.compile(r"\s*-?\d{1,18}(?:\.0+)?\s*")


def coerce(args: Mapping[str, Any], schema: Schema) -> dict[str, Any]:
    """The arguments under the schema's names and in its types; what does not fit is left as it is.

    A name is changed only where the schema has no such argument and the one that is meant was not given. A
    text becomes a number, a truth, a list or an object where the schema wants that and the text says one.
    """
    known: Schema = schema.get("properties", {})
    args = _unwrapped(args, known)
    named: dict[str, Any] = {name: value for name, value in args.items() if name in known}
    for name, value in args.items():
        meant = name if name in known else _meant(name, known, named)
        if meant or plain(name) not in _REASONS:
            named[meant or name] = value
    fitted = {name: fit(value, known.get(name, {})) for name, value in named.items()}
    return _with_lines(fitted, known)


def fit_args(args: Mapping[str, Any], tool: Tool) -> dict[str, Any]:
    """The arguments as the tool takes them; who reads without saying what means the whole project."""
    fitted, line = coerce(args, tool.schema), tool.schema.get("properties", {}).get("command", {})
    words = fitted.get("command")
    if (
        line.get("type") == "string"
        and isinstance(words, list)
        and all(isinstance(word, str) for word in words)
    ):
        fitted["command"] = _line_of(words)
    return {"paths": ["."]} if not fitted and tool.name == "read" else fitted


def _line_of(words: Sequence[str]) -> str:
    """A command in words as one line: `["bash", "-lc", LINE]` is the line."""
    if len(words) == 3 and words[0].rpartition("/")[2] in ("bash", "sh", "zsh") and words[1] in ("-c", "-lc"):
        return words[2]
    return words[1] if len(words) == 2 and plain(words[0]) == "applypatch" else shlex.join(words)


def _with_lines(args: dict[str, Any], known: Schema) -> dict[str, Any]:
    """The arguments, with the lines that are wanted of the only one of several `paths` behind it."""
    paths = args.get("paths")
    wanted = {name: fit(args[name], {"type": "integer"}) for name in args if plain(name) in _FIRST | _LAST}
    if not wanted or known.keys() & wanted.keys() or not isinstance(paths, list) or len(paths) != 1:
        return args
    if not all(isinstance(line, int) for line in wanted.values()):
        return args
    first = next((line for name, line in wanted.items() if plain(name) in _FIRST), 1)
    last = next((line for name, line in wanted.items() if plain(name) in _LAST), "")
    kept = {name: value for name, value in args.items() if name not in wanted}
    return {**kept, "paths": [f"{paths[0]}:{max(first, 1)}-{last}"]}


def fits(args: Mapping[str, Any], schema: Schema) -> bool:
    """True if all arguments are in the schema, and no required one is missing."""
    known: Schema = schema.get("properties", {})
    return args.keys() <= known.keys() and args.keys() >= set(schema.get("required", ()))


def _unwrapped(args: Mapping[str, Any], known: Schema) -> Mapping[str, Any]:
    """The inner arguments of `{"arguments": {...}}`, unless the tool has such an argument itself."""
    if len(args) == 1:
        ((name, value),) = args.items()
        if name in _WRAPPERS and name not in known and isinstance(value, Mapping):
            return value
    return args


def _meant(name: str, known: Schema, given: Mapping[str, Any]) -> str:
    """The argument that an unknown name means, "" when none does or several may."""
    free = [each for each in known if each not in given]
    if placed := _PLACED.fullmatch(name):
        place, names = int(placed[1]), list(known)
        return names[place] if place < len(names) and names[place] in free else ""
    same = [each for each in free if plain(each) == plain(name)]
    meant = same or [each for each in free if plain(name) in _ALSO.get(each, ())]
    return meant[0] if len(meant) == 1 else ""


def fit(value: Any, schema: Schema) -> Any:
    """One value in the schema's type, or as it was."""
    kind = schema.get("type")
    if kind == "array":
        listed = _parsed(value, list)
        items: Schema = schema.get("items", {})
        return [fit(each, items) for each in (listed if isinstance(listed, list) else [listed])]
    if kind == "object":
        value = _parsed(value, dict)
        known: Schema = schema.get("properties", {})
        return (
            {name: fit(each, known.get(name, {})) for name, each in value.items()}
            if isinstance(value, dict)
            else value
        )
    if isinstance(value, str):
        return _from_text(value, kind, schema.get("enum"))
    if kind == "integer" and isinstance(value, float) and value.is_integer():
        return int(value)
    if kind == "string" and isinstance(value, int | float) and not isinstance(value, bool):
        return json.dumps(value)
    return value


def _from_text(text: str, kind: Any, choices: Any) -> Any:
    if kind == "integer" and _WHOLE.fullmatch(text):
        return int(float(text)) if "." in text else int(text)
    if kind == "number":
        try:
            return json.loads(text, parse_constant=str) if not text.strip().isalpha() else text
        except ValueError:
            return text
    if kind == "boolean" and text.strip().lower() in ("true", "false"):
        return text.strip().lower() == "true"
    if isinstance(choices, list) and text not in choices:
        same = [each for each in choices if isinstance(each, str) and each.lower() == text.strip().lower()]
        return same[0] if len(same) == 1 else text
    return text


def _parsed(value: Any, kind: type) -> Any:
    """The list or object that a text is the JSON (or Python) of; the text itself if it is none."""
    opening = "[" if kind is list else "{"
    if not isinstance(value, str) or not value.lstrip().startswith(opening):
        return value
    try:
        parsed = json.loads(value)
    except (ValueError, RecursionError):
        parsed = read_literal(value)
    return parsed if isinstance(parsed, kind) else value
