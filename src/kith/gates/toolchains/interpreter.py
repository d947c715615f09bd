"""What a stated command asks Python to run, and what in the tree its words name."""

import re
from collections.abc import Collection


def of_python(words: list[str]) -> list[str]:
    """What Python is asked to run: the words after its own, past what only measures coverage."""
    if words and words[0] == "coverage":
        words = ["python", "-m", *words]
    if not words or not re.fullmatch(r"python[\d.]*|py", words[0].rpartition("/")[2]):
        return []
    rest = words[1:]
    while rest and rest[0].startswith("-") and rest[0] not in ("-m", "-c", "-O", "-OO"):
        rest = rest[2 if rest[0] in ("-W", "-X") else 1 :]
    if rest[:3] == ["-m", "coverage", "run"]:
        rest = rest[3:]
        while rest and rest[0].startswith("-") and rest[0] != "-m":
            rest = rest[1:]
    return rest


def in_tree(word: str, files: Collection[str]) -> str:
    """A folder or file of the tree that a word names, also as something installed; "" for anything else."""
    path = re.sub(r"^\{env_?site_packages_dir\}/", "", word).removeprefix("./").rstrip("/")
    for name in (path, f"src/{path}"):
        if name and (name in files or any(each.startswith(f"{name}/") for each in files)):
            return name
    return ""


def plain_env(env: tuple[tuple[str, str], ...]) -> tuple[tuple[str, str], ...]:
    return tuple(pair for pair in env if pair[0] not in ("PYTHONPATH", "PATH", "HOME", "COVERAGE_FILE"))
