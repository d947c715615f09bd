"""Find lines in the tree's files, with the quickest engine the machine has."""

import re
import shlex
from collections.abc import Iterator, Sequence
from typing import Final

from msgspec import Struct

from kith.core.errors import TreeError
from kith.core.generated import GENERATED
from kith.core.git import git_command, list_paths
from kith.core.patterns import lazy_pattern
from kith.core.run import Run
from kith.core.workspace import ExecLimits, ShellCommand

_FOUND, _NOTHING = 0, 1  # exit codes; any other: the engine is missing, or does not take the pattern
# rg: path NUL line ":" text; git: path NUL line NUL text
_HIT: Final = lazy_pattern(r"(?:\./)?([^\0]+)\0(\d+)[:\0](.*?)\r?")


class Hit(Struct, frozen=True):
    """A line that matches, without its end."""

    path: str
    line: int
    text: str


class Query(Struct, frozen=True):
    """The query of a search, in a file or folder, and there in files that match `globs` (if any).

    `in_order`: the matches come by path, which keeps ripgrep to one core.
    """

    pattern: str
    place: str = "."
    globs: Sequence[str] = ()
    literal: bool = False
    ignore_case: bool = False
    in_order: bool = True

    def compile(self) -> re.Pattern[str]:
        """Raises re.error."""
        pattern = re.escape(self.pattern) if self.literal else self.pattern
        return re.compile(pattern, re.IGNORECASE if self.ignore_case else 0)


async def find_lines(
    run: Run, query: Query, chosen: Sequence[str], limits: ExecLimits
) -> tuple[list[Hit], bool]:
    """The matches in the chosen files, and whether these are all. Raises re.error."""
    without = _without(chosen)
    for command in (_ripgrep(query, without), _git_grep(query, without)):
        ran = await run.workspace.exec(command, limits)
        hits = _among([*_parse(ran.output)], chosen)
        if hits or ran.timed_out or ran.code in (_FOUND, _NOTHING):
            return hits, not (ran.timed_out or ran.cut)
    return await _look_through(run, query.compile(), chosen), True


def _among(hits: Sequence[Hit], chosen: Sequence[str]) -> list[Hit]:
    paths = {hit.path for hit in hits}.intersection(chosen)
    return [hit for hit in hits if hit.path in paths]


def _without(chosen: Sequence[str]) -> list[str]:
    """The generated folders that none of the files lies in."""
    text = "".join(f"/{folder}/\0" for folder in {path.rpartition("/")[0] for path in chosen})
    return sorted(name for name in GENERATED if f"/{name}/" not in text)


def _ripgrep(query: Query, without: Sequence[str]) -> ShellCommand:
    words = ["rg", "--no-config", "--hidden", "--no-require-git", "--no-messages", "--crlf"]
    words += ["--no-heading", "--with-filename", "--line-number", "--null", "--color=never"]
    words += ["--sort=path"] * query.in_order
    words += ["--max-columns=400", "--max-columns-preview", *_options(query)]
    for glob in query.globs:
        words += ["--glob", glob, "--glob", f"{glob}/**"]
    for name in (".git", *without):
        words += ["--glob", f"!{name}/"]
    words += ["-e", query.pattern, "--", query.place if query.place == "." else f"./{query.place}"]
    return ShellCommand(shlex.join(words))


def _git_grep(query: Query, without: Sequence[str]) -> ShellCommand:
    dialect = [] if query.literal else ["--perl-regexp"]
    words = ["grep", "-nzI", "--untracked", "--no-color", *dialect, *_options(query)]
    excluded = [f":(exclude,glob)**/{name}/**" for name in without]
    return git_command(*words, "-e", query.pattern, "--", query.place, *excluded)


def _options(query: Query) -> list[str]:
    return ["--fixed-strings"] * query.literal + ["--ignore-case"] * query.ignore_case


def _parse(output: str) -> Iterator[Hit]:
    for line in output.split("\n"):
        if found := _HIT.fullmatch(line):
            yield Hit(found[1], int(found[2]), found[3])


async def _look_through(run: Run, pattern: re.Pattern[str], chosen: Sequence[str]) -> list[Hit]:
    """The engine for machines that have neither ripgrep nor git."""
    hits: list[Hit] = []
    for path in chosen:
        try:
            data = await run.workspace.read(path)
        except TreeError:
            continue  # gone since it was listed, or a link that leads nowhere
        if b"\0" not in data:
            text = data.decode("utf-8-sig", "replace").removesuffix("\n")
            lines = enumerate((line.removesuffix("\r") for line in text.split("\n")), 1)
            hits += [Hit(path, number, line) for number, line in lines if pattern.search(line)]
    return hits


_GREP_LIMITS = ExecLimits(seconds=20.0, output=8_000_000)
_WORTH_GREP = 100  # files; fewer are read sooner than git starts


async def files_holding(run: Run, word: str, paths: Sequence[str]) -> Sequence[str]:
    """Those of the files that may hold the word."""
    if len(paths) < _WORTH_GREP or not run.workspace.confined:
        return paths
    holding = await list_paths(run, ["grep", "-lazF", "--untracked", "-e", word], _GREP_LIMITS)
    return paths if holding is None else sorted(frozenset(holding).intersection(paths))
