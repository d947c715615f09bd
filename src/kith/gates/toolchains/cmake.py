"""CMake's toolchain: built out of the sources, in a folder that is kept between attempts; CTest runs it."""

import os
import re
from collections.abc import Collection
from typing import Final

from kith.gates.toolchains.toolchain import BUILD_FOLDER, Read, Toolchain

CMAKE_CLUES: Final = ("CMakeLists.txt",)
COVERAGE_FOLDER: Final = f"{BUILD_FOLDER}/coverage"  # built on its own: its objects count what runs


def find_cmake(files: Collection[str], read: Read) -> Toolchain | None:
    """A top CMakeLists.txt that speaks of tests."""
    if "CMakeLists.txt" not in files:
        return None
    script = re.sub(r"#.*", "", (read("CMakeLists.txt") or b"").decode("utf-8", "replace"))
    told = re.search(r"\b(enable_testing|add_test|include\s*\(\s*CTest)\b", script, re.I)
    if not told:
        return None
    return Toolchain(
        "ctest",
        "C++" if any(path.endswith((".cpp", ".cc", ".cxx", ".hpp")) for path in files) else "C",
        f"CMakeLists.txt has {told[1].split('(')[0].strip()}",
        ctest_line(BUILD_FOLDER),
        "ctest",
        configure_line(BUILD_FOLDER),
        build_line(BUILD_FOLDER),
        coverage="--coverage",
    )


def configure_line(folder: str, options: str = "") -> str:
    """Configuring once is enough: CMake sees by itself when a later build has to do it again."""
    configure = f"cmake -S . -B {folder} -DCMAKE_EXPORT_COMPILE_COMMANDS=ON{options}"
    return f'{configure} && cmake -E echo "*" > {folder}/.gitignore'


def build_line(folder: str) -> str:
    return f"cmake --build {folder} --parallel {os.cpu_count() or 2}"


def ctest_line(folder: str) -> str:
    """Before CMake 3.20 CTest had no `--test-dir` and would find no tests, which is no failure to it."""
    return f"cmake -E chdir {folder} ctest --output-on-failure"
