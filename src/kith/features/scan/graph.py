"""A project's modules and which of them depend on which: cycles, and what most others lean on."""

from collections import Counter, deque
from collections.abc import Iterator, Mapping, Sequence, Set
from typing import TypeAlias

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
    """How many modules depend directly on each, itself aside."""
    return Counter(target for node, targets in graph.items() for target in targets if target != node)
