"""Which of a CMake project's own options make it build its tests, and which build what no test needs."""

import re
from collections.abc import Mapping
from typing import Final

_OPTION: Final = re.compile(
    r"\b(?:cmake_dependent_)?option\s*\(\s*(\w+)\s+(?:\"[^\"]*\"|\w+)\s*(\"[^\"]*\"|[^\s)\"]*)", re.I
)
_CACHED: Final = re.compile(r"\bset\s*\(\s*(\w+)\s+(\w+)\s+CACHE\s+BOOL\b", re.I)
# PROJECT_BUILD_TESTS, PROJECT_TESTS, BUILD_UNIT_TESTS, ENABLE_TESTING, PROJECT_TEST; not PROJECT_FUZZ_TEST.
_BUILDS_TESTS: Final = re.compile(r"(?:\w+_)?(?:UNIT_?)?TEST(?:S|ING)?(?:_ENABLED?|_ON)?", re.I)
_SPECIAL: Final = re.compile(
    r"CUDA|GPU|HIP|SYCL|FUZZ|PERF|BENCH|COVER|SAN\b|SANITI|VALGRIND|INSTALL|PYTHON|JAVA|RUBY|MODULE|NETWORK|ONLINE|EXTERN"
    r"|SYSTEM|DOWNLOAD|LARGE|LONG|SLOW|STRESS|HEAVY|MPI|QT|WASM|ANDROID|IOS|NO_|DISABLE|SKIP|WITHOUT|INTERNAL|COMPILE_FAIL"
    r"|HUNTER|VCPKG|CONAN|MEMORY|LEAK",
    re.I,
)
_NEEDLESS: Final = re.compile(
    r"(?:\w+_)?(?:BUILD_|ENABLE_|WITH_|MAKE_)?(?:DOCS?|DOCUMENTATION|BENCHMARKS?|FUZZ(?:ERS?|ING)?)", re.I
)
_OFF: Final = ("OFF", "FALSE", "NO", "N", "0", "")


def test_options(text: str) -> Mapping[str, str]:
    """Values for the options whose defaults build no tests, or build what no test needs."""
    options = {name: default.strip('"') for name, default in (*_OPTION.findall(text), *_CACHED.findall(text))}
    chosen = {
        name: "ON"
        for name, default in options.items()
        if _BUILDS_TESTS.fullmatch(name) and not _SPECIAL.search(name) and default.upper() in _OFF
    }
    if chosen and "BUILD_TESTING" not in options and re.search(r"\bBUILD_TESTING\b", text):
        chosen = {"BUILD_TESTING": "ON", **chosen}
    if not (chosen or options):
        return chosen
    needless = [
        name for name, default in options.items() if _NEEDLESS.fullmatch(name) and default.upper() not in _OFF
    ]
    return {**chosen, **dict.fromkeys(needless, "OFF")}
