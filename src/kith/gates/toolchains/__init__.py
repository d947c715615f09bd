"""How a project says it is configured, built and tested; one module per ecosystem."""

from kith.gates.toolchains.find import choose_clues, find_candidates, find_toolchains
from kith.gates.toolchains.toolchain import BUILD_FOLDER, PYTHON, Read, Toolchain

__all__ = [
    "BUILD_FOLDER",
    "PYTHON",
    "Read",
    "Toolchain",
    "choose_clues",
    "find_candidates",
    "find_toolchains",
]
