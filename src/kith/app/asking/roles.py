"""Roles in the words of kith or of the user, and an opened model in one of them."""

from dataclasses import replace
from functools import cache
from importlib.resources import files
from pathlib import Path

from kith.app.project import Project
from kith.core.errors import UsageError
from kith.core.model import Model, Tool
from kith.models.stack import Opened
from kith.tools.repeats import watch_repeats
from kith.workflows.roles import Player, RoleSpec, is_small, make_role, read_role


@cache
def _shipped(name: str) -> RoleSpec:
    return read_role(name, files("kith.roles").joinpath(f"{name}.md").read_text(encoding="utf-8"))


def role_names() -> list[str]:
    """The roles that kith knows by itself."""
    found = (entry.name for entry in files("kith.roles").iterdir())
    return sorted(name.removesuffix(".md") for name in found if name.endswith(".md"))


def find_role(name: str, own: Path | None = None) -> RoleSpec:
    """A role as the user wrote it (`own` is the folder of their roles), else as kith has it.

    Raises UsageError for a role that is not well written.
    """
    path = own / f"{name}.md" if own else None
    if path is None or not path.is_file():
        return _shipped(name)
    try:
        return read_role(name, path.read_text(encoding="utf-8"), str(path))
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} cannot be read: {error}.") from error


def make_player(
    project: Project,
    spec: RoleSpec,
    opened: Opened,
    model: Model,
    tools: tuple[Tool, ...],
    *,
    small: bool = False,
) -> Player:
    """The role, played by `opened` as it is wrapped in `model`, with those of the tools that it names.

    `small`: a model that gets the short words, whatever its window.
    """
    chosen, small = project.settings, small or is_small(opened.window)
    sampling = replace(chosen.sampling, think=chosen.think, think_tokens=chosen.think_tokens)
    confined = project.tree.confined
    role = make_role(spec, model, watch_repeats(tools), sampling, confined=confined, small=small)
    return Player(role, opened.window, small)
