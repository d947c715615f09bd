"""Find which modules depend on which: imports, cycles, and what most others lean on."""

import hashlib
import zlib
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from typing import TypeAlias

from kith.context.imports import Resolver
from kith.features.scan.facts import FileFacts, ScanCache, keep, recall
from kith.features.scan.report import Survey

Graph: TypeAlias = Mapping[str, Set[str]]  # each module, and the modules it depends on


def find_knots(graph: Graph) -> tuple[tuple[str, ...], ...]:
    """The groups of modules that all depend on each other, the largest first; names sorted.

    Strongly connected components (Tarjan 1972) of more than one module, and modules that depend on
    themselves; without recursion, in linear time.
    """
    knots = [
        tuple(sorted(group))
        for group in _components(graph)
        if len(group) > 1 or group[0] in graph.get(group[0], ())
    ]
    return tuple(sorted(knots, key=lambda knot: (-len(knot), knot)))


def _components(graph: Graph) -> Iterator[list[str]]:
    order: dict[str, int] = {}
    lowest: dict[str, int] = {}
    path: list[str] = []
    place: dict[str, int] = {}  # where on the path a module stands

    def enter(node: str) -> tuple[str, Iterator[str]]:
        order[node] = lowest[node] = len(order)
        place[node] = len(path)
        path.append(node)
        return node, iter(graph.get(node, ()))

    for start in graph:
        work = [enter(start)] if start not in order else []
        while work:
            node, following = work[-1]
            for target in following:
                if target not in order:
                    work.append(enter(target))
                    break
                if target in place:
                    lowest[node] = min(lowest[node], order[target])
            else:
                work.pop()
                if work:
                    above = work[-1][0]
                    lowest[above] = min(lowest[above], lowest[node])
                if lowest[node] == order[node]:
                    group = path[place[node] :]
                    del path[place[node] :]
                    for member in group:
                        del place[member]
                    yield group


def shortest_cycle(graph: Graph, knot: Sequence[str]) -> tuple[str, ...]:
    """A shortest way round through a knot's first module: `a, b, c` where c depends on a again."""
    start, inside = knot[0], frozenset(knot)
    if start in graph.get(start, ()):
        return (start,)
    before: dict[str, str] = {}
    waiting = deque([start])
    while waiting:
        node = waiting.popleft()
        for target in sorted(inside.intersection(graph.get(node, ()))):
            if target == start:
                way = [node]
                while way[-1] != start:
                    way.append(before[way[-1]])
                return tuple(reversed(way))
            if target not in before:
                before[target] = node
                waiting.append(target)
    return tuple(knot)  # no knot


def count_dependents(graph: Graph) -> Counter[str]:
    """Count the modules that depend directly on each, itself aside."""
    return Counter(target for node, targets in graph.items() for target in targets if target != node)


# --- links between files ---------------------------------------------------------------------


# A file's imports in the project: those that are carried out with it, and those that are later.
Links = tuple[list[str], list[str]]


def find_links(survey: Survey, notes: ScanCache, folder: str = "") -> dict[str, Links]:
    """Find what each file of a survey imports of the project; files that import nothing of it are left out.

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
    """A digest of what resolved imports rest on: the files, and the names of Go's modules."""
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
