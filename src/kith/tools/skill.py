"""Read how something is done: a skill of the person or of a project that they trust."""

from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from typing import Any

from kith.context.budget import fit_middle
from kith.context.notes import Skill
from kith.core.model import Tool
from kith.core.run import Run
from kith.core.values import CallTarget, ToolResult
from kith.tools.answers import count, decode, in_words, left_out, refused, told
from kith.tools.paths import clean_path, inside, visible

ALL = "all"  # in place of a name: every skill with what it is for
LISTED = 30  # files beside a skill that are named
# A file of a skill that is apart from the tree: its bytes. Raises TreeError.
ReadApart = Callable[[Skill, str], bytes]


def make_skill(skills: Sequence[Skill], read_apart: ReadApart, room: int) -> Tool:
    """Answers with a skill's words and the files beside it, or with one of these, in `room` characters."""

    @in_words
    async def use(args: Mapping[str, Any], run: Run) -> ToolResult:
        found = {skill.name: skill for skill in skills}.get(args["name"])
        if found is None and args["name"] == ALL:
            listed = "\n".join(f"{skill.name}: {skill.about}" for skill in skills)
            return told(fit_middle(listed, room), count(len(skills), "skill"))
        if found is None:
            return refused(_unknown(args["name"], skills))
        file = clean_path(args["file"]) if args.get("file") else ""
        if not file:
            beside = await _files_of(found, run)
            return told(fit_middle(f"{found.words}{_name(beside)}", room), found.name)
        if file.startswith(("/", "..")):
            return refused(f"{visible(file)} is outside of the skill: name a file in its folder.")
        data = read_apart(found, file) if found.apart else await run.workspace.read(f"{found.folder}/{file}")
        if b"\0" in data:
            return refused(f"{visible(file)} is not text.")
        return told(fit_middle(decode(data)[0], room), f"{visible(file)} of skill {found.name}")

    texts = {name: {"type": "string"} for name in ("name", "file")}
    schema = {"type": "object", "properties": texts, "required": ["name"]}
    about = "Read a skill, or a file that lies in its folder."
    return Tool("skill", about, schema, "read", use, lambda args: CallTarget(str(args.get("name", ""))))


async def _files_of(skill: Skill, run: Run) -> Sequence[str]:
    """The files beside the words: as the skill tool takes them."""
    if skill.apart:
        return skill.files
    below = inside(await run.workspace.files(), skill.folder)
    return [path.removeprefix(f"{skill.folder}/") for path in below if not path.endswith("/SKILL.md")]


def _name(files: Sequence[str]) -> str:
    if not files:
        return ""
    more = f"\n{left_out(len(files) - LISTED, 'file')}" if len(files) > LISTED else ""
    return f"\n\nFiles in its folder: {', '.join(map(visible, files[:LISTED]))}.{more}"


def _unknown(name: str, skills: Sequence[Skill]) -> str:
    names = [skill.name for skill in skills]
    if not names:
        return "There are no skills any more."
    close = get_close_matches(name, names, 1)
    hint = f"Did you mean {close[0]}? " if close else ""
    return f"There is no skill {name!r}. {hint}There are: {', '.join(names)}."
