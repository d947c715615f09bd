"""Look up definitions and uses of a name, in the project's index as the trial has it now."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from kith.context.outline import (
    Definition,
    SymbolReferences,
    choose_named,
    find_definitions,
    find_references,
    is_readable,
    last_part,
)
from kith.core.line_ranges import Passage
from kith.core.model import Tool
from kith.core.run import Run
from kith.core.values import ToolResult
from kith.core.workspace import Trial
from kith.tools.answers import clip, count, in_words, left_out, lines_of, refused, told
from kith.tools.paths import inner_path, path_of, visible

SHOWN = 12  # definitions of one answer
USERS = 8  # files that use a name
BODY = 60  # lines of a definition that is shown whole
WIDTH = 200  # characters of a line

Look = Callable[[str], SymbolReferences]


def make_symbols(look: Look) -> Tool:
    """Look a name up; `look` knows the tree as it was when it was last indexed."""

    @in_words
    async def symbols(args: Mapping[str, Any], run: Run) -> ToolResult:
        name = args["name"].strip().removesuffix("()")
        if not last_part(name):
            return refused("name is a class, function or constant: send one.")
        place = inner_path(run, args.get("path", "."))
        found = await _look_again(look(name), name, run)
        inside = [each for each in found.definitions if _lies_in(each.path, place)]
        if not inside:
            return _not_defined(name, place, found)
        rows = [_row(each) for each in inside[:SHOWN]]
        if len(inside) > SHOWN:
            rows.append(left_out(len(inside) - SHOWN, "definition", f"give Class.{name}, or a path"))
        rows += await _body(inside[0], run) if len(inside) == 1 else ()
        return told("\n".join((*rows, *_users(found, inside))), f"{name}: {count(len(inside), 'definition')}")

    properties = {"name": {"type": "string"}, "path": {"type": "string"}}
    schema = {"type": "object", "properties": properties, "required": ["name"]}
    words = "Show where a class, function or constant is defined, its code, and the files that use it."
    return Tool("symbols", words, schema, "read", symbols, path_of)


async def _look_again(found: SymbolReferences, name: str, run: Run) -> SymbolReferences:
    """The same with the files that the trial changed as they are now."""
    if not isinstance(run.workspace, Trial):
        return found
    changed = {each.path: each.after for each in await run.workspace.changes()}
    texts = {
        path: "\n".join(lines_of(data)) for path, data in changed.items() if data and is_readable(path, data)
    }
    definitions = [each for each in found.definitions if each.path not in changed]
    for path, text in texts.items():
        definitions += find_definitions(path, text)
    own = last_part(name)
    users = [(path, times) for path, times in found.users if path not in changed]
    users += [(path, times) for path, text in texts.items() if (times := find_references(path, text)[own])]
    return replace(
        found,
        definitions=choose_named(definitions, name),
        users=tuple(sorted(users, key=lambda each: (-each[1], each[0]))),
    )


def _lies_in(path: str, place: str) -> bool:
    return place in (".", path) or path.startswith(f"{place}/")


def _not_defined(name: str, place: str, found: SymbolReferences) -> ToolResult:
    where = "" if place == "." else f" in {visible(place)}"
    elsewhere = [_row(each) for each in found.definitions[:SHOWN]]
    near = [f"Names like it: {', '.join(found.near)}."] if found.near else []
    text = "\n".join((f"{name} is not defined{where}.", *elsewhere, *near, *_users(found, ())))
    return told(text, f"{name} is not defined{where}")


def _row(each: Definition) -> str:
    lines = f"{each.first}-{each.last}" if each.last > each.first else str(each.first)
    return f"{visible(each.path)}:{lines} {each.sort} {each.name}: {each.signature}"


async def _body(each: Definition, run: Run) -> list[str]:
    """A short definition's own lines; of a long one the place to read."""
    length = each.last - each.first + 1
    if length > BODY:
        return [f"[{length} lines: read {Passage(visible(each.path), each.first, each.last)}]"]
    lines = lines_of(await run.workspace.read(each.path))[each.first - 1 : each.last]
    return [clip(line, WIDTH) for line in lines]


def _users(found: SymbolReferences, defined: Sequence[Definition]) -> list[str]:
    """The files that use a name, without those that only define it."""
    homes = [each.path for each in defined]
    users = [(path, times) for path, times in found.users if times > homes.count(path)]
    if not users:
        return ["No other use of it."] if defined else []
    shown = ", ".join(f"{visible(path)} ({times})" for path, times in users[:USERS])
    more = [left_out(len(users) - USERS, "file")] if len(users) > USERS else []
    return [f"Used in {shown}.", *more]
