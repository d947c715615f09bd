"""Relative imports of JavaScript and TypeScript that lead to no file."""

import re
from collections.abc import Iterator
from posixpath import dirname, normpath, splitext
from typing import Final

from kith.gates.soundness.view import View

SCRIPTS: Final = frozenset({".cjs", ".cts", ".js", ".jsx", ".mjs", ".mts", ".ts", ".tsx"})
_TRIED: Final = (
    *("", ".ts", ".tsx", ".d.ts", ".js", ".jsx", ".mjs", ".cjs", ".mts", ".cts", ".json", ".vue", ".svelte"),
    *(
        ".node",
        ".css",
        ".native.js",
        ".native.ts",
        ".native.tsx",
        ".ios.js",
        ".web.js",
        ".web.ts",
        ".web.tsx",
    ),
    *("/index.ts", "/index.tsx", "/index.d.ts", "/index.js", "/index.jsx", "/index.mjs", "/index.cjs"),
    *("/index.vue", "/index.json", "/package.json"),
)
# A path that ends so may be written for what the compiler makes of another file.
_MADE_FROM: Final = {".js": (".ts", ".tsx", ".jsx"), ".jsx": (".tsx",), ".mjs": (".mts",), ".cjs": (".cts",)}
# What a build makes is there later.
_MADE: Final = frozenset(
    (
        "__generated__",
        "_generated",
        "build",
        "codegen",
        "dist",
        "gen",
        "generated",
        "lib",
        "out",
        "pkg",
        "wasm",
    )
)
_COMMENT: Final = re.compile(r"/\*.*?\*/", re.S)
_IMPORT: Final = re.compile(
    r"""^[ \t]*(?:(?:import|export)\b[^"'`;()\n]*\bfrom|import|\}[ \t]*from
        |(?:const|let|var)\b[^"'`;\n]*=[ \t]*require[ \t]*\()[ \t]*(["'])(\.{1,2}/[^"'\n?#!]{1,300})\1""",
    re.M | re.X,
)


def find_lost_scripts(view: View, path: str) -> Iterator[tuple[int, str]]:
    """The line and the path of each relative import of a script that no file answers."""
    content = view.content(path)
    if content is None or not any(word in content for word in (b"import", b"export", b"require")):
        return
    # Behind the first backtick may be a text that holds code; imports stand before it.
    head = content.decode("utf-8", "replace").partition("`")[0]
    text = _COMMENT.sub(lambda found: "\n" * found[0].count("\n"), head)
    for found in _IMPORT.finditer(text):
        target = normpath(f"{dirname(path)}/{found[2]}" if dirname(path) else found[2])
        if not target.startswith("..") and not _is_there(view, target):
            yield text.count("\n", 0, found.start(2)) + 1, found[2]


def _is_there(view: View, target: str) -> bool:
    if not _MADE.isdisjoint(target.split("/")) or target == "." or target in view.folders:
        return True
    stem, ending = splitext(target)
    others = (stem + each for each in _MADE_FROM.get(ending, ()))
    listed = (*(target + each for each in _TRIED), *others)
    if any(each in view.paths for each in listed) or any(
        each.startswith(f"{target}.") for each in view.paths
    ):
        return True
    return any(view.content(each) is not None for each in listed)
