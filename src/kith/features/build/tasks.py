"""The tasks of a build: read from the architect's words or a person's text, checked, put in order."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from kith.core.values import BuildTask
from kith.models.dialects.json_text import load_json

MOST_TASKS: Final = 20
# What steers a terminal, turns the order of letters around, or cannot stand in a commit's message.
_UNSEEN: Final = re.compile(r"[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
# An id names threads and checkpoints too.
_ID: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,23}")
_KEYS: Final = ("id", "title", "text", "criteria", "after", "files")

# --- from a model ----------------------------------------------------------------------------


def parse_tasks(words: str, most: int = MOST_TASKS) -> tuple[tuple[BuildTask, ...], str]:
    """The tasks that a reply holds as JSON, or none and what is wrong with them in words for the model."""
    data = load_json(words)
    items = data.get("tasks") if isinstance(data, dict) else data
    if not isinstance(items, list):
        return (), 'Your reply holds no JSON object with a list of "tasks".'
    tasks: list[BuildTask] = []
    for number, item in enumerate(items, 1):
        task, fault = _read_task(item, number)
        if task is None:
            return (), f"Task {number}: {fault}."
        tasks.append(task)
    fault = find_fault(tasks, most)
    return ((), fault) if fault else (tuple(tasks), "")


def _read_task(item: Any, number: int) -> tuple[BuildTask | None, str]:
    """One task of the list, or what is wrong with it."""
    if not isinstance(item, Mapping):
        return None, "it must be an object"
    unknown = [key for key in item if key not in _KEYS]
    if unknown:
        return None, f"unknown key {unknown[0]!r}; there are: {', '.join(_KEYS)}"
    lists: dict[str, tuple[str, ...]] = {}
    for key in ("criteria", "after", "files"):
        values = item.get(key) or []
        values = values if isinstance(values, list) else [values]
        if not all(isinstance(value, (str, int)) for value in values):
            return None, f'"{key}" must be a list of texts'
        lists[key] = tuple(line for value in values if (line := _one_line(str(value))))
    for key in ("title", "text"):
        if not isinstance(item.get(key) or "", str):
            return None, f'"{key}" must be a text'
    id, title = _one_line(str(item.get("id") or number)), _one_line(item.get("title") or "")
    return BuildTask(id, title, text=_paragraphs(item.get("text") or ""), **lists), ""


def _one_line(text: str) -> str:
    return " ".join(_UNSEEN.sub("", text).split())


def _paragraphs(text: str) -> str:
    lines = re.split(r"\r\n|[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]", text)
    return "\n".join(_UNSEEN.sub("", line).rstrip() for line in lines).strip()


# --- what a list of tasks must be ------------------------------------------------------------


def find_fault(tasks: Sequence[BuildTask], most: int = MOST_TASKS) -> str:
    """Explain the fault of these tasks in one sentence that says how to fix it; "" when there is none."""
    if not tasks:
        return "There are no tasks; there must be at least one."
    if len(tasks) > most:
        return (
            f"There are {len(tasks)} tasks; {most} are allowed. Merge some, or drop what was not asked for."
        )
    ids = [task.id for task in tasks]
    for task in tasks:
        if fault := _fault_of(task, ids):
            return fault
    if cycle := _find_cycle(tasks):
        return f"These tasks wait for each other: {' -> '.join(cycle)}. Drop one of these dependencies."
    return ""


def _fault_of(task: BuildTask, ids: Sequence[str]) -> str:
    if not _ID.fullmatch(task.id):
        return f"{task.id!r} cannot be an id: it may have letters, digits, - and _, 24 at most."
    if ids.count(task.id) > 1:
        return f"Two tasks have the id {task.id!r}; each needs one of its own."
    if not task.title:
        return f"Task {task.id} has no title."
    if not task.criteria:
        return f"Task {task.id} has no criteria; say what a test can observe when it is done."
    if odd := [path for path in task.files if "`" in path]:
        return f"Task {task.id}: {odd[0]!r} is no path."
    unknown = [id for id in task.after if id not in ids]
    if unknown:
        known = ", ".join(ids)
        return f"Task {task.id} comes after {unknown[0]!r}, but there is no such task; there are: {known}."
    return ""


def _find_cycle(tasks: Sequence[BuildTask]) -> tuple[str, ...]:
    """The ids of tasks that wait for each other, the first one again at the end; () when none do."""
    done = {task.id for task in in_order(tasks)}
    waiting = {task.id: task.after for task in tasks if task.id not in done}
    if not waiting:
        return ()
    trail = [next(iter(waiting))]
    while trail[-1] not in trail[:-1]:
        trail.append(next(id for id in waiting[trail[-1]] if id in waiting))
    return tuple(trail[trail.index(trail[-1]) :])


def in_order(tasks: Sequence[BuildTask]) -> tuple[BuildTask, ...]:
    """The tasks that can be done, each after those it depends on, otherwise in the given order."""
    done: dict[str, BuildTask] = {}
    while ready := [each for each in tasks if each.id not in done and done.keys() >= set(each.after)]:
        done[ready[0].id] = ready[0]
    return tuple(done.values())


def dependents(tasks: Sequence[BuildTask], id: str) -> frozenset[str]:
    """The ids of all tasks that cannot be done without task `id`, however far away."""
    lost = {id}
    for task in in_order(tasks):
        if lost.intersection(task.after):
            lost.add(task.id)
    return frozenset(lost - {id})


# --- for a person ----------------------------------------------------------------------------

_TITLE: Final = re.compile(r"##\s+(\S+?)[.:]\s+(\S.*)")
_FIELD: Final = re.compile(r"(After|Files):\s*(.*)", re.I)
_CRITERIA: Final = re.compile(r"Done when:\s*", re.I)
# A line of a task's own text that reads like one of ours gets a backslash in front.
_MARKED: Final = re.compile(r"\\*(?:##|After:|Files:|Done when:)", re.I)


def render_tasks(tasks: Sequence[BuildTask]) -> str:
    """The tasks as Markdown that a person can edit and `read_tasks` understands."""
    return "\n\n".join(_render_task(task) for task in tasks) + "\n"


def _render_task(task: BuildTask) -> str:
    fields = [f"After: {', '.join(task.after)}"] if task.after else []
    fields += [f"Files: {', '.join(f'`{path}`' for path in task.files)}"] if task.files else []
    text = "\n".join(f"\\{line}" if _MARKED.match(line) else line for line in task.text.split("\n"))
    criteria = "\n".join(["Done when:", *(f"- {criterion}" for criterion in task.criteria)])
    parts = (f"## {task.id}. {task.title}", "\n".join(fields), text, criteria)
    return "\n\n".join(part for part in parts if part)


def read_tasks(text: str, most: int = MOST_TASKS) -> tuple[tuple[BuildTask, ...], str]:
    """The tasks as a person left them, or none and what is wrong with them."""
    sections: list[list[str]] = []
    for line in text.replace("\r\n", "\n").split("\n"):
        if line.startswith("## "):
            sections.append([line])
        elif sections:
            sections[-1].append(line)
    tasks: list[BuildTask] = []
    for title, *lines in sections:
        named = _TITLE.fullmatch(title.strip())
        if named is None:
            return (), f"{title.strip()!r} is no heading of a task; one looks like `## 1. Its title`."
        tasks.append(_read_section(named[1], _one_line(named[2]), lines))
    fault = find_fault(tasks, most)
    return ((), fault) if fault else (tuple(tasks), "")


def _read_section(id: str, title: str, lines: Sequence[str]) -> BuildTask:
    fields: dict[str, str] = {}
    words: list[str] = []
    criteria: list[str] = []
    part = "fields"
    for line in lines:
        field = _FIELD.fullmatch(line.strip()) if part == "fields" else None
        if field:
            fields[field[1].lower()] = field[2]
        elif part != "criteria" and _CRITERIA.fullmatch(line.strip()):
            part = "criteria"
        elif part == "criteria":
            _add_criterion(criteria, line)
        elif line.strip() or part == "text":
            part = "text"
            words.append(line.removeprefix("\\") if _MARKED.match(line) else line)
    after = tuple(re.split(r"[,\s]+", fields["after"].strip())) if fields.get("after", "").strip() else ()
    return BuildTask(
        id, title, tuple(criteria), _paragraphs("\n".join(words)), after, _paths(fields.get("files", ""))
    )


def _add_criterion(criteria: list[str], line: str) -> None:
    """A line that begins with a dash is a new criterion, any other continues the last one."""
    item = re.fullmatch(r"\s{0,3}[-*]\s+(\S.*)", line.rstrip())
    if item:
        criteria.append(_one_line(item[1]))
    elif line.strip():
        criteria[-1:] = [_one_line(" ".join([*criteria[-1:], line]))]


def _paths(text: str) -> tuple[str, ...]:
    quoted = re.findall(r"`([^`]+)`", text)
    return tuple(quoted or (path for part in text.split(",") if (path := part.strip())))
