"""The variables of a command that only looks: nothing that a repository brings along starts beside it."""

import os
from pathlib import PurePath
from typing import Final

from kith.core.git import SAFE_ENVIRONMENT, SAFE_SETTINGS

# `diff.external=` would be run as a program without a name; patterns of paths mean what they say to git.
_NOT_HERE: Final = ("diff.external=",)
_SETTINGS: Final = (
    *(each for each in SAFE_SETTINGS if each not in _NOT_HERE),
    *("diff.ignoreSubmodules=all", "diff.autoRefreshIndex=false"),  # looking leaves the index as it is
)
_SHIMS: Final = "shims"  # version managers' programs, which a file in the current folder sends elsewhere


def safe_environment(path: str, root: str) -> dict[str, str]:
    """Variables for git's safe settings, and `path` without relative folders and those in the tree at `root`.

    Settings in variables win over those of every file (git-config, "GIT_CONFIG_COUNT").
    """
    named = {name: value for name, value in SAFE_ENVIRONMENT.items() if name != "GIT_LITERAL_PATHSPECS"}
    named["GIT_CONFIG_COUNT"] = str(len(_SETTINGS))
    for number, setting in enumerate(_SETTINGS):
        key, _, value = setting.partition("=")
        named |= {f"GIT_CONFIG_KEY_{number}": key, f"GIT_CONFIG_VALUE_{number}": value}
    return named | {"PATH": os.pathsep.join(each for each in path.split(os.pathsep) if _is_safe(each, root))}


def _is_safe(folder: str, root: str) -> bool:
    place = PurePath(folder)
    return place.is_absolute() and not place.is_relative_to(root) and _SHIMS not in place.parts
