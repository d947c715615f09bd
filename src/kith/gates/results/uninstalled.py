"""Packages that a project's manifests require, that are not installed here, and that a change needs."""

from collections.abc import Collection, Mapping
from typing import Final

from msgspec import Struct

from kith.core.evidence import Blocked
from kith.core.values import Changes
from kith.core.workspace import Workspace
from kith.gates.packages import Declared, distribution_of, is_manifest, read_declared
from kith.gates.reports import SuiteReport
from kith.gates.results.missing_needs import NO_MODULE, NO_PACKAGE, PYPI, npm_install
from kith.gates.toolchain import PYTHON, read_text
from kith.gates.toolchains.manifests import NODE_CLUES, packages_in, parse_object
from kith.gates.toolchains.nested import project_folders, reader_in, split_by_folder
from kith.gates.toolchains.python import normal_name, own_modules, required_by, requirement_files

_ENDS: Final = 20_000  # characters of a command's output, from its end


class Required(Struct, frozen=True):
    """The packages that the manifests of a tree require, as their package indexes name them.

    `new` is what only the change's own manifests speak of, `own` are the project's top modules.
    """

    python: frozenset[str] = frozenset()
    npm: frozenset[str] = frozenset()
    new: Declared = Declared()
    own: frozenset[str] = frozenset()

    def lacks(self, text: str) -> Blocked | None:
        """The required package that is missing by a program's words; None where another thing is wrong."""
        if found := NO_MODULE.search(text):
            return self.module(found[1])
        found = NO_PACKAGE.search(text)
        return self.package(found[1]) if found and found[1] else None

    def module(self, name: str) -> Blocked | None:
        """The required package that a module of Python belongs to.

        A module that is missing in a package which is there is a mistake: `a.b` counts for `a-b` only.
        """
        top, _, inner = name.partition(".")
        if inner:
            required = any(f"{each}-".startswith(f"{normal_name(name)}-") for each in self.python)
        else:
            known = {normal_name(each) for each in (distribution_of(top), top, f"py{top}", f"python-{top}")}
            required = not known.isdisjoint(self.python) or self.new.names(top)
        if not required or top in self.own:
            return None
        return Blocked("import", name, f"{PYTHON} -m pip install {distribution_of(name)}", PYPI)

    def package(self, name: str) -> Blocked | None:
        """The required package of Node that an import names."""
        bare = "/".join(name.split("/")[: 2 if name.startswith("@") else 1])
        return npm_install(bare) if bare in self.npm else None


async def read_required(home: Workspace, changes: Changes) -> Required:
    """Read the requirements of a tree with a change in it."""
    there = await home.files()
    known = {*there} - {change.path for change in changes if change.after is None}
    files = known | {change.path for change in changes if change.after is not None}
    inside = split_by_folder(["", *project_folders(files)], files)
    paths = [
        f"{top}{path}"
        for top, own in inside.items()
        for path in (*requirement_files(own), *({*NODE_CLUES} & {*own}))
    ]
    texts: dict[str, bytes] = {**await home.read_many([path for path in paths if path in known])}
    texts |= {change.path: change.after for change in changes if change.after is not None}
    edited = [change for change in changes if is_manifest(change.path)]
    then, now = {each.path: each.before for each in edited}, {each.path: each.after for each in edited}
    words = read_declared(now, now.get).words - read_declared(then, then.get).words
    python, npm = set[str](), set[str]()
    for top, own in inside.items():
        python |= required_by(own, reader_in(top, texts.get))
        npm |= packages_in(parse_object(read_text(texts.get, f"{top}{NODE_CLUES[0]}")))
    modules = own_modules([*there, *(path for own in inside.values() for path in own)])
    return Required(frozenset(python), frozenset(npm), Declared(words), modules)


def find_uninstalled(
    after: SuiteReport, broken: Collection[str], required: Required
) -> Mapping[str, Blocked]:
    """The tests that a change breaks only because they lack a required package, by their ids.

    Where a whole file could not be loaded, its path (or module) replaces its tests.
    """
    if broken and not after.cases:  # nothing at all could be loaded
        missing = required.lacks(after.ran.output[-_ENDS:])
        return dict.fromkeys(broken, missing) if missing else {}
    said = {case.id: f"{case.error}: {case.message}" for case in after.failed if case.id in broken}
    known = {text: required.lacks(text) for text in {*said.values()}}
    return {id: missing for id, text in said.items() if (missing := known[text])}
