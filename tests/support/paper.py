"""A page as a browser would hold it, as far as patches reach: elements, their ids, their texts."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser

from kith.features.web.html.patches import Patch

VOID = {"br", "hr", "img", "input", "link", "meta"}


@dataclass(slots=True)
class Node:
    """An element; its children are elements and texts."""

    tag: str
    attributes: dict[str, str | None] = field(default_factory=dict)
    children: list["Node | str"] = field(default_factory=list)

    def __iter__(self) -> Iterator["Node"]:
        """This element and all within it."""
        yield self
        for child in self.children:
            if isinstance(child, Node):
                yield from child

    @property
    def text(self) -> str:
        return "".join(child.text if isinstance(child, Node) else child for child in self.children)

    def of_class(self, name: str) -> list["Node"]:
        return [node for node in self if name in (node.attributes.get("class") or "").split()]

    def skeleton(self) -> tuple[object, ...]:
        """Elements, their attributes' names, their classes and ids, without texts."""
        kept = {key: value for key, value in self.attributes.items() if key in ("class", "id")}
        inside = [child for child in self.children if isinstance(child, Node)]
        names = tuple(sorted(self.attributes))
        return self.tag, names, tuple(kept.items()), tuple(child.skeleton() for child in inside)

    def add(self, words: str) -> None:
        """Text at the end, one with the text that stands there."""
        if self.children and isinstance(self.children[-1], str):
            self.children[-1] += words
        elif words:
            self.children.append(words)


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.open = [Node("page")]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        node = Node(tag, dict(attrs))
        assert len(node.attributes) == len(attrs), f"an attribute twice in {attrs}"
        self.open[-1].children.append(node)
        if tag not in VOID:
            self.open.append(node)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop().tag == tag, f"</{tag}> closes nothing"

    def handle_data(self, data: str) -> None:
        self.open[-1].add(data)

    def handle_comment(self, data: str) -> None:
        raise AssertionError(f"a comment: {data}")

    handle_decl = handle_pi = unknown_decl = handle_comment


def read_page(html: str) -> Node:
    """What the HTML holds; it must be whole."""
    reader = _Reader()
    reader.feed(html)
    reader.close()
    assert len(reader.open) == 1, f"<{reader.open[-1].tag}> is not closed"
    return reader.open[0]


def carry_out(page: Node, patches: Iterable[Patch]) -> None:
    """Patches, as the page's script carries them out. What they hit must be there."""
    for patch in patches:
        found = [
            (node, place)
            for node in page
            for place, child in enumerate(node.children)
            if isinstance(child, Node) and child.attributes.get("id") == patch.target
        ]
        assert len(found) == 1, f"{patch.target} is there {len(found)} times, for {patch}"
        parent, place = found[0]
        target = parent.children[place]
        assert isinstance(target, Node)
        new = [] if patch.op in ("text", "remove") else read_page(patch.html).children
        if patch.op == "text":
            target.add(patch.html)
        elif patch.op == "append":
            target.children += new
        else:
            parent.children[place : place + 1] = new
