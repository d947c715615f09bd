"""Which files a project's files import: found once for each file, and again when it or the tree changes."""

import hashlib
import zlib
from collections.abc import Iterable, Mapping

from kith.context.resolve import Resolver
from kith.features.scan.facts import FileFacts
from kith.features.scan.notes import Notes, keep, recall
from kith.features.scan.report import Survey

# A file's imports in the project: those that are carried out with it, and those that are later.
Links = tuple[list[str], list[str]]


def find_links(survey: Survey, notes: Notes, folder: str = "") -> dict[str, Links]:
    """What each file of a survey imports of the project; files that import nothing of it are left out.

    What was found before for this folder holds as long as the same files are in the tree, and a file's
    imports are the same.
    """
    facts, name = survey.facts, f"links {folder}"
    modules = _go_modules(facts)
    rests_on = _digest(survey.files, modules)
    known = recall(notes, name, rests_on) or {}
    told: dict[str, tuple[int, list[str], list[str]]] = {}
    resolver: Resolver | None = None
    for path, each in facts.items():
        if not each.imports:
            continue
        mark = zlib.crc32("\n".join(each.imports).encode("utf-8", "surrogatepass"))
        before = known.get(path)
        if before is not None and before[0] == mark:
            told[path] = before
        else:
            resolver = resolver or Resolver(survey.files, modules)
            early, late = _part(resolver.resolve(path, each.imports))
            told[path] = (mark, early, late)
    if resolver is not None:
        keep(notes, name, rests_on, told)
    return {path: (early, late) for path, (_, early, late) in told.items() if early or late}


def _part(targets: Iterable[tuple[str, bool]]) -> Links:
    found = sorted(set(targets))
    early = [path for path, late in found if not late]
    return early, [path for path, late in found if late and path not in early]


def _digest(files: Iterable[str], modules: Mapping[str, str]) -> str:
    """What a resolved import rests on: which files there are, and what Go's modules are called."""
    hashed = hashlib.sha256("\0".join(files).encode("utf-8", "surrogatepass"))
    hashed.update(repr(sorted(modules.items())).encode("utf-8", "surrogatepass"))
    return hashed.hexdigest()


def _go_modules(facts: Mapping[str, FileFacts]) -> dict[str, str]:
    """The folder of each `go.mod`, and the name it gives to its module."""
    return {
        path.removesuffix("go.mod"): name.removeprefix("module ")
        for path, each in facts.items()
        if path.endswith("go.mod") and path.rpartition("/")[2] == "go.mod"
        for name in each.imports
    }
