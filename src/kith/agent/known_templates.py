"""The templates of kith, of a trusted project and of the user, and the tasks they become."""

from collections.abc import Sequence
from difflib import get_close_matches
from importlib.resources import files
from pathlib import Path

from kith.agent.templates import Parameter as Parameter
from kith.agent.templates import Template as Template
from kith.agent.templates import fill, read_template
from kith.core.errors import UsageError
from kith.settings import find_folders, load_settings


def list_templates(root: Path | None = None) -> list[Template]:
    """All templates by name: the person's own before those of a project that they trust, then kith's.

    Without a `root` there is no project. Raises UsageError.
    """
    shipped = {
        entry.name.removesuffix(".md"): entry.read_text(encoding="utf-8")
        for entry in files("kith.templates").iterdir()
        if entry.name.endswith(".md")
    }
    found = {name: read_template(name, text) for name, text in shipped.items()}
    if root:
        brought = load_settings(root, {}).brought
        for each in brought.templates if brought.standing == "trusted" else ():
            found[Path(each).stem] = read_template(Path(each).stem, brought.text(each), each)
    for path in sorted((find_folders()[0] / "templates").glob("*.md")):
        found[path.stem] = read_template(path.stem, _read(path), str(path))
    return [found[name] for name in sorted(found)]


def fill_template(name: str, words: Sequence[str], root: Path) -> str:
    """The task that template `name` becomes with these `parameter=value` words. Raises UsageError."""
    templates = {each.name: each for each in list_templates(root)}
    if name not in templates:
        close = get_close_matches(name, templates, 1)
        hint = f"did you mean {close[0]}?" if close else f"there are: {', '.join(templates)}."
        raise UsageError(f"There is no template {name!r}; {hint}")

    def exists(path: str) -> bool:
        place = (root / path).resolve()
        return place.is_relative_to(root) and place.exists()

    return fill(templates[name], words, exists, lambda path: _read(Path(path)))


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is no text"
        raise UsageError(f"{path} cannot be read: {reason}.") from error
