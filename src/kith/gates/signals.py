"""What the outputs of test runners and compilers look like: which of their lines matter, and how much."""

import re
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Final

# Compiling all patterns takes 20 ms, and most tasks need none: each is compiled when it is first used.


@dataclass(frozen=True)
class Signal:
    """Lines that match weigh `weight`, and so do `after` lines below, one less."""

    line: str
    weight: int
    after: int = 0

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        return re.compile(self.line)


@dataclass(frozen=True)
class Dialect:
    """One tool's way of speaking.

    `sign` tells that it spoke; a line like `begins` is the first of a failure, one like `ends` comes after
    all failures.
    """

    signs: str
    beginnings: str
    endings: str
    signals: tuple[Signal, ...]

    @cached_property
    def sign(self) -> re.Pattern[str]:
        return re.compile(self.signs, re.M)

    @cached_property
    def begins(self) -> re.Pattern[str]:
        return re.compile(self.beginnings)

    @cached_property
    def ends(self) -> re.Pattern[str]:
        return re.compile(self.endings)


_NEVER = r"(?!)"


def _dialect(
    sign: str, begins: str, *signals: tuple[str, int] | tuple[str, int, int], ends: str = _NEVER
) -> Dialect:
    return Dialect(sign, begins, ends, tuple(Signal(*row) for row in signals))


# Frames of installed code; relative paths are the project's.
LIBRARY: Final = re.compile(
    r"site-packages|dist-packages|/lib/python\d|node_modules|\bnode:|/rustc/|/usr/(?:include|lib)/"
)

PYTEST: Final = _dialect(
    r"^=+ (?:FAILURES|ERRORS|short test summary info) =+$",
    r"^_{3,} \S.* _{3,}$",
    (r"^_{3,} \S.* _{3,}$", 9),
    (r"^E  ", 9),
    (r"^> ", 8),
    (r"^\S+\.py:\d+: \w*(?:Error|Exception|Failed)\b", 8),
    (r"^\S+\.py:\d+: ", 7, 1),
    (r"^(?:FAILED|ERROR) \S", 7),
    (r"^(?:=+ )?(?:\d+ \w+, )*\d+ (?:failed|passed|errors?|skipped)\b", 10),
    (r"^-+ Captured .* -+$", 4, 3),
    ends=r"^=+ short test summary info =+$",
)
_PYTHON: Final = _dialect(
    r"^(?:Traceback \(most recent call last\)|(?:FAIL|ERROR): )",
    r"^(?:FAIL|ERROR): |^Traceback ",
    (r"^(?:FAIL|ERROR): ", 9),
    (r"^[A-Za-z_][\w.]*(?:Error|Exception|Interrupt|Exit|Warning)\b", 9),
    (r'^\s+File "[^"]+", line \d+', 7, 1),
    (r"^[-+?] ", 6),
    (r"^(?:Ran \d+ tests?|FAILED \(|OK\b)", 10),
)
_COMPILER: Final = _dialect(
    r"(?:^|\s)(?:fatal )?error: |undefined reference|^CMake Error|error (?:C|TS|LNK)\d+",
    r"^\S.*?:\d+(?::\d+)?: (?:fatal )?error: |^CMake Error|error (?:C|TS|LNK)\d+",
    (r"^\S.*?:\d+(?::\d+)?: (?:fatal )?error: ", 9, 3),
    (r"\berror (?:C|TS|LNK)\d+", 9, 2),
    (r"^(?:clang|gcc|g\+\+|cc|c\+\+|ld|collect2)\S*: (?:fatal )?error: ", 7),
    (r"undefined reference|multiple definition|cannot find -l|No rule to make", 9),
    (r"^CMake Error", 9, 6),
    (r": note: ", 5, 1),
    (r"^\S+: In (?:member )?(?:function|constructor|instantiation)", 5),
    (r"\brequired from\b", 4),
)
_CTEST_ENDINGS = r"Failed|SEGFAULT|Timeout|Not Run|Subprocess aborted|ILLEGAL|NUMERICAL"
_CPP_TESTS: Final = _dialect(
    r"^\[  FAILED  \]|: FAILED:|\*\*\*(?:Failed|Exception|Timeout)|Assertion .* failed|==\d+==ERROR"
    r"|runtime error:",
    r": Failure$|: FAILED:$|: ERROR: (?:CHECK|REQUIRE)|Assertion .* failed|==\d+==ERROR",
    (r": Failure$", 9, 7),
    (r"^\[  FAILED  \]", 9),
    (r": FAILED:", 9, 7),
    (r": ERROR: (?:CHECK|REQUIRE)", 9, 3),
    (rf"\*\*\*(?:{_CTEST_ENDINGS}|Exception)|\((?:{_CTEST_ENDINGS})\)\s*$", 9),
    (r"\d+% tests passed|^test cases:|^assertions:|\[  PASSED  \]", 10),
    (r"Assertion .* failed|Segmentation fault|terminate called", 9, 2),
    (r"==\d+==ERROR|runtime error:", 9, 8),
)
_CARGO: Final = _dialect(
    r"^test result: |^error(?:\[E\d+\])?: |panicked at",
    r"^error(?:\[E\d+\])?: |^---- .* stdout ----$",
    (r"^error(?:\[E\d+\])?: ", 9, 8),
    (r"^---- .* stdout ----$", 9, 6),
    (r"panicked at ", 9, 3),
    (r"^test .* \.\.\. FAILED", 8),
    (r"^test result: ", 10),
)
_GO: Final = _dialect(
    r"^\s*--- FAIL: |^FAIL\b|\.go:\d+:\d+: ",
    r"^\s*--- FAIL: |^panic: ",
    (r"^\s*--- FAIL: ", 9, 5),
    (r"\.go:\d+(?::\d+)?: ", 9),
    (r"^panic: ", 9, 6),
    (r"^(?:FAIL|ok)\b", 7),
)
_NODE: Final = _dialect(
    r"^\s*not ok \d|✖|✕|●|npm (?:ERR!|error)|^\s+\d+ (?:failing|passing)",
    r"^\s*not ok \d|^\s*✖ \S|^\s*● \S|^\s+\d+\) \S",
    (r"^\s*not ok \d", 9, 9),
    (r"^\s*✖ \S", 9, 6),
    (r"^\s*● \S", 9, 14),
    (r"^\s+\d+\) \S", 8, 6),
    (r"^\s*(?:\w*Error|error)\b.*:", 8, 2),
    (r"^\s+at ", 4),
    (r"^(?:# (?:pass|fail) |Tests: |\s+\d+ (?:failing|passing))", 10),
)
DIALECTS: Final = (PYTEST, _PYTHON, _COMPILER, _CPP_TESTS, _CARGO, _GO, _NODE)
# What looks like trouble in any tool's words.
TROUBLE: Final = re.compile(
    r"\b(?:abort(?:ed)?|can't|cannot|denied|error|exception|fail(?:ed|ure|s)?|fatal|invalid|missing|no such"
    r"|not found|panic|undefined|unexpected|unresolved)\b",
    re.I,
)


@cache
def failed_tests() -> tuple[re.Pattern[str], ...]:
    """How each tool names a test that failed; the one group that matched is the name."""
    names = (
        r"^(?:FAILED|ERROR) (\S+?::.+?|\S+\.py)(?: - .*)?$",
        r"^(\S+::\S+) (?:FAILED|ERROR)\b",
        r"^(?:FAIL|ERROR): \w+ \(([\w.]+)\)",
        r"^\[  FAILED  \] ([\w/]+\.[\w/]+)",
        rf"^\s*\d+ - (.+?) \((?:{_CTEST_ENDINGS})\)",
        r"^test (\S+)(?: - should panic)? \.\.\. FAILED",
        r"^\s*--- FAIL: (\S+)",
        r"^\s*not ok \d+ (?:- )?(.+?)(?: # .*)?$",
        r"^\s*● (.+ › .+)$",
        r"^\s*✖ (.+?)(?: \([\d.]+ ?ms\))?$",
    )
    return tuple(re.compile(name, re.M) for name in names)
