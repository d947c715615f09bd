"""Make's toolchain: a target of the Makefile that tests."""

import re
from collections.abc import Collection
from typing import Final

from kith.gates.toolchains.toolchain import Read, Toolchain

MAKEFILES: Final = ("GNUmakefile", "makefile", "Makefile")


def find_make(files: Collection[str], read: Read, found: tuple[Toolchain, ...]) -> Toolchain | None:
    """`make test` or `make check`, unless it only starts what was `found` already."""
    path = next((name for name in MAKEFILES if name in files), "")
    script = (read(path) or b"").decode("utf-8", "replace") if path else ""
    for target in ("test", "check"):
        rule = re.search(rf"^{target}\s*:(?![:=])[^\n]*\n((?:\t[^\n]*(?:\n|$))*)", script + "\n", re.M)
        if rule and not any(toolchain.name in rule[1] for toolchain in found):
            return Toolchain(f"make {target}", "", f"{path} has a target {target}", f"make {target}")
    return None
