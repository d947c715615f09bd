"""A failing command's output, shortened to the lines that the next message to a model needs."""

import re
from collections.abc import Iterator, Sequence
from functools import cache, cached_property
from typing import Final

from msgspec import Struct

from kith.context.budget import fit_middle
from kith.core.patterns import lazy_pattern

# What the outputs of test runners and compilers look like: which of their lines matter, and how much.

# Compiling all patterns takes 20 ms, and most tasks need none: each is compiled when it is first used.


class Signal(Struct, frozen=True, dict=True):
    """Lines that match weigh `weight`, and so do `after` lines below, one less."""

    line: str
    weight: int
    after: int = 0

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        return re.compile(self.line)


class OutputFormat(Struct, frozen=True, dict=True):
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
) -> OutputFormat:
    return OutputFormat(sign, begins, ends, tuple(Signal(*row) for row in signals))


# Frames of installed code; relative paths are the project's.
LIBRARY: Final = lazy_pattern(
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
    r"^[ \t]*--- FAIL: |^FAIL\b|\.go:\d+:\d+: ",
    r"^\s*--- FAIL: |^panic: ",
    (r"^\s*--- FAIL: ", 9, 5),
    (r"\.go:\d+(?::\d+)?: ", 9),
    (r"^panic: ", 9, 6),
    (r"^(?:FAIL|ok)\b", 7),
)
_NODE: Final = _dialect(
    r"^[ \t]*not ok \d|✖|✕|●|npm (?:ERR!|error)|^[ \t]+\d+ (?:failing|passing)",
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
TROUBLE: Final = lazy_pattern(
    r"\b(?:abort(?:ed)?|can't|cannot|denied|error|exception|fail(?:ed|ure|s)?|fatal|invalid|missing|no such"
    r"|not found|panic|undefined|unexpected|unresolved)\b",
    re.I,
)


@cache
def failed_tests() -> tuple[re.Pattern[str], ...]:
    """Return the patterns by which each tool names a failed test; the one group that matched is the name."""
    names = (
        r"^(?:FAILED|ERROR) (\S+?::.+?|\S+\.py)(?: - .*)?$",
        r"^(\S+::\S+) (?:FAILED|ERROR)\b",
        r"^(?:FAIL|ERROR): \w+ \(([\w.]+)\)",
        r"^\[  FAILED  \] ([\w/]+\.[\w/]+)",
        rf"^[ \t]*\d+ - (.+?) \((?:{_CTEST_ENDINGS})\)",
        r"^test (\S+)(?: - should panic)? \.\.\. FAILED",
        r"^[ \t]*--- FAIL: (\S+)",
        r"^[ \t]*not ok \d+ (?:- )?(.+?)(?: # .*)?$",
        r"^[ \t]*● (.+ › .+)$",
        r"^[ \t]*✖ (.+?)(?: \([\d.]+ ?ms\))?$",
    )
    return tuple(re.compile(name, re.M) for name in names)


_TERMINAL_CODES: Final = lazy_pattern(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\-_])")
_CONTROLS: Final = lazy_pattern(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
_LONGEST_LINE = 300
_TROUBLE, _TAIL, _INSIDE, _LIBRARY = 5, 4, 3, 1  # weights; signals have their own, 4 to 10
_TAIL_LINES = 12
_SUMMARY = 10  # weighs the same in every failure


def distil(output: str, command: str, limit_chars: int) -> str:
    """Keep the most important lines of `output`, in order, in at most `limit_chars` characters.

    Each line is weighed by the tool that wrote it (pytest, unittest, compilers, googletest, Catch2,
    ctest, cargo, go, node). For other tools, lines that look like errors and the end of the output are
    kept. The first failures keep more detail than later ones. A note marks each gap.
    """
    lines = [_clip(line) for line in clean_output(output).strip("\n").split("\n")]
    whole = "\n".join(lines)
    if len(whole) <= limit_chars:
        return whole
    weights = _weigh(lines, command)
    kept = _choose(lines, weights, limit_chars)
    return fit_middle("\n".join(_render(lines, kept)), limit_chars)


def failing_tests(output: str) -> frozenset[str]:
    """The names of the tests that failed, as the tool that ran them spells them; best effort."""
    text = clean_output(output)
    return frozenset(name for pattern in failed_tests() for name in pattern.findall(text))


def clean_output(output: str) -> str:
    """Without terminal codes and without what a progress bar drew over."""
    text = _TERMINAL_CODES.sub("", output).replace("\r\n", "\n")
    return _CONTROLS.sub("", re.sub(r"^[^\n]*\r(?=[^\n])", "", text, flags=re.M).replace("\r", ""))


def _clip(line: str) -> str:
    line = line.rstrip()
    return line if len(line) <= _LONGEST_LINE else fit_middle(line, _LONGEST_LINE).replace("\n", " ")


def _weigh(lines: Sequence[str], command: str) -> list[float]:
    """Weigh each line; 0 for a useless one."""
    text = "\n".join(lines)
    dialects = [dialect for dialect in DIALECTS if dialect.sign.search(text)]
    weights = [0.0] * len(lines)
    for dialect in dialects:
        _weigh_dialect(dialect, lines, weights)
    if PYTEST in dialects:
        _quiet_libraries(lines, weights)
    # A tool that nobody here knows is only known by its words.
    for at, line in enumerate(lines):
        if TROUBLE.search(line):
            weights[at] = max(weights[at], _TROUBLE - 2 * bool(dialects))
    for at in range(max(0, len(lines) - _TAIL_LINES), len(lines)):
        weights[at] = max(weights[at], _TAIL)
    _lower_repeats(lines, weights)
    return weights


def _weigh_dialect(dialect: OutputFormat, lines: Sequence[str], weights: list[float]) -> None:
    """Raise the weights of the lines that this dialect's signals mark; later failures count less."""
    failures, below, lent = 0, 0, 0
    for at, line in enumerate(lines):
        failures = 0 if dialect.ends.search(line) else failures + bool(dialect.begins.search(line))
        signal = next((signal for signal in dialect.signals if signal.pattern.search(line)), None)
        if signal:
            weight, below, lent = signal.weight, signal.after, signal.weight - 1
        elif below:
            weight, below = lent, below - 1
        else:
            weight = _INSIDE if failures and dialect is PYTEST else 0
        if LIBRARY.search(line):
            weight, lent = min(weight, _LIBRARY), min(lent, _LIBRARY)
        later = 0 if weight >= _SUMMARY else min(max(failures - 1, 0), 4)
        weights[at] = max(weights[at], weight - later)


def _quiet_libraries(lines: Sequence[str], weights: list[float]) -> None:
    """Source that pytest shows of installed code: its place is below it."""
    begins = 0
    for at, line in enumerate(lines):
        if line.startswith(("_ _ _", "___", "===")):
            begins = at + 1
        elif re.match(r"\S+\.py:\d+: ", line) and LIBRARY.search(line):
            for inner in range(begins, at + 1):
                if not lines[inner].startswith("E  "):
                    weights[inner] = min(weights[inner], _LIBRARY)


def _lower_repeats(lines: Sequence[str], weights: list[float]) -> None:
    seen: set[str] = set()
    for at, line in enumerate(lines):
        if not line.strip():
            weights[at] = min(weights[at], _LIBRARY)
        elif line in seen and weights[at] < _SUMMARY:
            weights[at] -= 3
        seen.add(line)


def _choose(lines: Sequence[str], weights: Sequence[float], limit: int) -> list[int]:
    """The heaviest lines that fit with the marks for the gaps between them, earlier ones first."""
    gap = len(_left_out(len(lines))) + 1
    room, kept = limit - 2 * gap, set[int]()
    for at in sorted(range(len(lines)), key=lambda at: (-weights[at], at)):
        alone = at - 1 not in kept and at + 1 not in kept
        cost = len(lines[at]) + 1 + gap * alone
        if weights[at] > 0 and cost <= room:
            kept.add(at)
            room -= cost
    return sorted(kept)


def _render(lines: Sequence[str], kept: Sequence[int]) -> Iterator[str]:
    """The kept lines; what lies between is shown too where that is no longer than saying that it is not."""
    before = -1
    for at in [*kept, len(lines)]:
        between = lines[before + 1 : at]
        mark = _left_out(len(between))
        yield from between if len("\n".join(between)) <= len(mark) else [mark]
        if at < len(lines):
            yield lines[at]
        before = at


def _left_out(number: int) -> str:
    return f"[... {number:,} line{'s' * (number != 1)} left out ...]"
