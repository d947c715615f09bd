"""Find the real target of a path of the tree, and programs that git would start there."""

import glob as globbing
import os
import re
import stat
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final, Literal

from kith.core.git import SAFE_ENVIRONMENT
from kith.trees.environment import path_variable
from kith.trees.walk import walk

_MOST: Final = 20_000  # entries below a folder that are looked at
_GIT_S: Final = 10.0
# A repository's own settings that start nothing and reach nowhere; whatever else stands there is a reason.
_HARMLESS: Final = re.compile(
    r"core\.(repositoryformatversion|filemode|bare|logallrefupdates|ignorecase|precomposeunicode|symlinks"
    r"|autocrlf|eol|safecrlf|abbrev|quotepath|compression|untrackedcache|preloadindex|longpaths|protecthfs"
    r"|protectntfs|hidedotfiles|whitespace|commentchar)"
    r"|user\.(name|email|signingkey)|author\.(name|email)|committer\.(name|email)|init\.defaultbranch"
    r"|remote\..+\.(url|pushurl|fetch|push|tagopt|prune|skipdefaultupdate|gh-resolved)"
    r"|branch\..+\.(remote|merge|rebase|pushremote|description|vscode-merge-base|gh-merge-base|github-pr-.+)"
    r"|(pull|push|fetch|rebase|rerere|advice|color|column|status|commit|tag|gc|maintenance|index|pack)\.[a-z.]+"
    r"|merge\.(conflictstyle|ff|renames|stat|log)|log\.(date|decorate|abbrevcommit|follow)"
    r"|diff\.(renames|algorithm|mnemonicprefix|noprefix|colormoved|context|statgraphwidth)"
    r"|extensions\.(objectformat|worktreeconfig|refstorage)"
)

_MOST_SETTINGS: Final = 1 << 20  # bytes
_PASSWORD: Final = re.compile(rb"https?://[^\s/@]+@|extraheader", re.I)

# A path -> whether its name says that it holds secrets.
Tells = Callable[[str], bool]


def why_private(
    root: Path, path: str, tells: Tells, *, glob: bool = False, below: Literal["", "seen", "all"] = ""
) -> str:
    """Return the reason why a path below `root` may lead to private data; "" when it does not.

    `glob`: it means all names that match. `below`: what is in its folders counts, too.
    """
    root = root.resolve()
    for name in _names(root, path) if glob else [path]:
        if name.startswith("-"):
            return f"{name} is the name of a file, and looks like a flag"
        if why := _why(root, root / name, tells):
            return why
        if below and (root / name).is_dir():
            for place in _below(root / name, hidden=below == "all"):
                if place is None:
                    return f"{name} holds more files than can be looked at"
                if why := _why(root, place, tells):
                    return why
    return ""


def _names(root: Path, pattern: str) -> list[str]:
    """Expand a pattern as the shell does: names with a dot only where the pattern has it."""
    return globbing.glob(pattern, root_dir=root)  # noqa: PTH207  (Path.glob means hidden names, too)


def _why(root: Path, place: Path, tells: Tells) -> str:
    named = os.path.relpath(place, root)
    try:
        real, mode = place.resolve(), place.stat().st_mode
    except FileNotFoundError:
        return ""
    except (OSError, RuntimeError, ValueError):
        return f"the target of {named} is not known"
    if not real.is_relative_to(root):
        return f"{named} is a link that leads out of this folder"
    inner = real.relative_to(root)
    if inner.parts[:1] == (".git",) and Path(named).parts[0] != ".git":
        return f"{named} is a link to git's own files"
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
        return f"{named} is no ordinary file"
    private = tells(inner.as_posix()) or tells(Path(named).as_posix()) or _holds_password(real)
    return f"{named} may hold secrets" if private else ""


def _holds_password(place: Path) -> bool:
    """True if a git configuration holds a password or token, as after a clone with a token."""
    if ".git" not in place.parts or place.name != "config":
        return False
    try:
        with place.open("rb") as file:
            return bool(_PASSWORD.search(file.read(_MOST_SETTINGS)))
    except OSError:
        return False


def _below(folder: Path, hidden: bool) -> Iterator[Path | None]:
    """Every file and link below a folder; None, at last, where there are too many."""
    seen = 0
    for visit in walk(folder):
        place = folder / visit.path
        if hidden and ".git" in visit.folders:
            inside = (each for each in walk(place / ".git") if "config" in each.files)
            yield from (place / ".git" / each.path / "config" for each in inside)
        visit.folders = [
            name for name in visit.folders if name != ".git" and (hidden or not name.startswith("."))
        ]
        seen += len(visit.folders) + len(visit.files)
        if seen > _MOST:
            yield None
            return
        for name in visit.files:
            if hidden or not name.startswith("."):
                yield place / name


def why_git_may_run(root: Path) -> str:
    """Return what a repository's own settings may start when git reads its files; "" for nothing.

    Submodules are repositories of their own, with settings of their own.
    """
    if not any((folder / ".git").exists() for folder in (root, *root.parents)):
        return "there is no repository, so that it would compare any two files"
    if (root / ".gitmodules").exists():
        return "there are submodules, whose settings may name programs"
    names = _settings(root)
    if names is None:
        return "the repository's own settings cannot be read"
    strange = next((name for name in names if not _HARMLESS.fullmatch(name.lower())), "")
    return f"the repository's own settings hold {strange}, which may start a program" if strange else ""


def _settings(root: Path) -> list[str] | None:
    """The names of the settings of the repository alone, and of what they include."""
    environment = {"PATH": path_variable(root)} | SAFE_ENVIRONMENT
    command = ["git", "config", "--list", "--includes", "--name-only", "-z"]
    try:
        ran = subprocess.run(
            command,
            cwd=root,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_GIT_S,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return ran.stdout.decode("utf-8", "replace").split("\0")[:-1]
