"""Draw docs/images/architecture.svg from the code: each package on the lowest row that its imports allow.

python tools/architecture_picture.py            # writes the picture
python tools/architecture_picture.py --check    # exit code 1 where it is not the one that the code gives
"""

import ast
import re
import sys
from collections import defaultdict
from html import escape
from pathlib import Path
from textwrap import wrap
from typing import Final

ROOT: Final = Path(__file__).parent.parent
SOURCE: Final = ROOT / "src" / "kith"
OUT: Final = ROOT / "docs" / "images" / "architecture.svg"
WIDTH, ROW, GAP, MARGIN = 880, 80, 10, 16
STYLE: Final = """\
text { font: 13px system-ui, sans-serif; fill: #1f2328 } .small { font-size: 10.5px; fill: #57606a }
rect { fill: #f6f8fa; stroke: #8c959f } .feature { fill: #ddf4ff } .core { fill: #fff8c5 }
.back { fill: #ffffff; stroke: none }"""


_IMPORTED = re.compile(r"^[ \t]*from kith\.(\w+)[\w.]* import ", re.MULTILINE)


def packages() -> list[str]:
    """The packages of the kernel that hold code; `features` stands for all features."""
    kernel = (each.name for each in SOURCE.iterdir() if len(list(each.glob("*.py"))) > 1)
    return [*sorted(kernel), "features"]


def imports() -> dict[str, set[str]]:
    """Package -> the packages that it imports, wherever in a file that stands."""
    known, found = {*packages()}, defaultdict[str, set[str]](set)
    for file in SOURCE.rglob("*.py"):
        package = file.relative_to(SOURCE).parts[0]
        found[package] |= {*_IMPORTED.findall(file.read_text(encoding="utf-8"))}
    return {name: (found[name] & known) - {name} for name in known}


def rows(graph: dict[str, set[str]]) -> list[list[str]]:
    """The packages from the bottom up: each above all that it imports."""
    height: dict[str, int] = {}

    def climb(name: str, above: tuple[str, ...] = ()) -> int:
        if name in above:
            raise SystemExit(f"{' -> '.join((*above, name))}: a circle of packages")
        if name not in height:
            height[name] = max((climb(each, (*above, name)) + 1 for each in graph[name]), default=0)
        return height[name]

    for name in graph:
        climb(name)
    return [sorted(name for name in graph if height[name] == n) for n in range(max(height.values()) + 1)]


def sentence(folder: Path) -> str:
    """What a package is, in the words of its docstring."""
    docstring = ast.get_docstring(ast.parse((folder / "__init__.py").read_text(encoding="utf-8"))) or ""
    return docstring.partition("\n\n")[0].replace("\n", " ")


def box(x: float, y: float, width: float, name: str, folder: Path, kind: str = "") -> str:
    about = sentence(folder)
    shown = [escape(line) for line in wrap(about, int(width / 5.9))][:4]
    text = "".join(
        f'<text class="small" x="{x + 8:.0f}" y="{y + 30 + 12 * n:.0f}">{each}</text>'
        for n, each in enumerate(shown)
    )
    return (
        f"<g><title>{escape(about)}</title>"
        f'<rect class="{kind}" x="{x:.0f}" y="{y:.0f}" rx="5" width="{width:.0f}" '
        f'height="{ROW - GAP}"/><text x="{x + 8:.0f}" y="{y + 16:.0f}">{escape(name)}</text>{text}</g>'
    )


def draw() -> str:
    """The picture."""
    graph = imports()
    stack = rows(graph)[::-1]
    names = sorted(each.name for each in (SOURCE / "features").iterdir() if (each / "__init__.py").exists())
    parts, y = list[str](), float(MARGIN)
    for row in stack:
        shown = (
            [(name, SOURCE / "features" / name, "feature") for name in names] if row == ["features"] else []
        )
        shown = shown or [(name, SOURCE / name, "core" if name == "core" else "") for name in row]
        for begin in range(0, len(shown), 4):
            line = shown[begin : begin + 4]
            width = (WIDTH - 2 * MARGIN - GAP * (len(line) - 1)) / len(line)
            for at, (name, folder, kind) in enumerate(line):
                label = f"features/{name}" if kind == "feature" else name
                parts.append(box(MARGIN + at * (width + GAP), y, width, label, folder, kind))
            y += ROW
    height = y + MARGIN - GAP
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height:.0f}" role="img">'
        f"<title>The packages of kith: each imports only what stands below it</title><style>{STYLE}</style>"
        f'<rect class="back" width="{WIDTH}" height="{height:.0f}"/>' + "\n".join(parts) + "</svg>\n"
    )


if __name__ == "__main__":
    if "--check" in sys.argv:
        raise SystemExit(0 if OUT.exists() and OUT.read_text(encoding="utf-8") == draw() else 1)
    OUT.write_text(draw(), encoding="utf-8")
    print(f"Wrote {OUT}.")
