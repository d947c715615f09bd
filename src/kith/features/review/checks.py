"""Find problems of a change without a model: linters, patterns of secrets, kith's own rules."""

import ast
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from posixpath import splitext
from typing import Final

from kith.agent.linters import project_linters
from kith.context.secrets import find_secrets
from kith.context.symbols import find_symbols, parse_python
from kith.core.events import Notice
from kith.core.run import Run
from kith.core.values import Changes, Finding, Severity
from kith.core.workspace import ExecLimits
from kith.edits.hunks import is_text
from kith.edits.rows import decode
from kith.features.review.changed_files import ReviewSubject, Sheet, Sheets
from kith.features.review.syntax import CPP, fault_of_python, is_cpp, is_python
from kith.gates.linters import Linter, allowed_linters, fresh_findings, run_linter

BY: Final = "kith"
_SCRIPT: Final = (".js", ".jsx", ".mjs", ".cjs", ".ts", ".tsx", ".mts", ".cts")
_CONFLICT: Final = re.compile(r"^<{7} .*\n(?:.*\n)*?={7}\n(?:.*\n)*?>{7} ", re.M)
_DEBUGGERS: Final = ("pdb", "ipdb", "pudb", "debugpy", "remote_pdb")
_MUTABLE: Final = ("list", "dict", "set", "bytearray")
_TEST_FILE: Final = re.compile(r"test|spec", re.I)
# Endings, a pattern for one line, a rule, what is said; a rule about tests looks at test files only.
_LINES: Final = (
    (_SCRIPT, re.compile(r"^\s*debugger;?\s*$"), "debugger", "A debugger statement was left in."),
    (
        _SCRIPT,
        re.compile(r"\b(?:it|test|describe)\.(?:skip|only)\(|^\s*x(?:it|describe)\("),
        "test-skipped",
        "This leaves tests out.",
    ),
    (
        CPP,
        re.compile(r"\b(?:GTEST_SKIP|SKIP)\(|^\s*TEST(?:_[FP])?\([^)]*\bDISABLED_"),
        "test-skipped",
        "This leaves a test out.",
    ),
)
_CPP_TEST: Final = re.compile(r"^[ \t]*(?:TEST(?:_[FP])?|TEST_CASE)\(([^)\n]+)\)", re.M)


def find_slips(changes: Changes, sheets: Mapping[str, Sheet]) -> tuple[Finding, ...]:
    """Find slips that the change introduced on its own lines, by syntax where the language is known."""
    found = [each for sheet in sheets.values() for each in _in_sheet(sheet)]
    return (*found, *_lost_tests(changes, sheets))


def _in_sheet(sheet: Sheet) -> Iterator[Finding]:
    ending = splitext(sheet.path)[1].lower()
    tree = parse_python(sheet.after) if is_python(sheet.path) else None
    if tree is None:
        yield from _conflicts(sheet) or _broken(sheet)
    else:
        yield from (each for each in _in_python(sheet.path, tree) if each.line in sheet.added)
    for endings, pattern, rule, text in _LINES:
        if ending in endings and (rule != "test-skipped" or _TEST_FILE.search(sheet.path)):
            lines = (line for line in sorted(sheet.added) if pattern.search(sheet.rows[line - 1]))
            yield from (_finding(sheet.path, line, rule, text) for line in lines)


def _finding(path: str, line: int, rule: str, text: str, severity: Severity = "warning") -> Finding:
    return Finding(path, line, severity, rule, text, BY)


def _conflicts(sheet: Sheet) -> tuple[Finding, ...]:
    found = list[Finding]()
    for match in _CONFLICT.finditer(sheet.after):
        line, end = (sheet.after.count("\n", 0, at) + 1 for at in match.span())
        if sheet.added.intersection(range(line, end + 1)):
            text = "A merge conflict was not resolved: its markers are in the file."
            found.append(Finding(sheet.path, line, "error", "conflict-marker", text, BY, end=end))
    return tuple(found)


# --- Python ----------------------------------------------------------------------------------


def _broken(sheet: Sheet) -> Iterator[Finding]:
    """A syntax error that the change introduced."""
    fault = fault_of_python(sheet.after) if is_python(sheet.path) else None
    if fault and (sheet.before is None or fault_of_python(sheet.before) is None):
        line, reason = fault
        yield _finding(sheet.path, line, "syntax-error", f"This does not parse: {reason}.", "error")


def _in_python(path: str, tree: ast.Module) -> Iterator[Finding]:
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=func) if _is_debugger(func):
                yield _finding(path, node.lineno, "debugger", "A call of the debugger was left in.")
            case ast.ExceptHandler(type=kind, body=body) if _is_broad(kind) and _is_nothing(body):
                yield _finding(path, node.lineno, "swallowed-error", "Every error is silently ignored here.")
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.Lambda():
                yield from _mutable_defaults(path, node.args)
            case ast.Attribute(attr="skip" | "xfail" | "skipTest" | "skipIf" | "skipUnless"):
                if _dotted(node).startswith(("pytest.", "unittest.", "self.skipTest")):
                    yield _finding(path, node.lineno, "test-skipped", f"{_dotted(node)} leaves a test out.")


def _dotted(node: ast.expr) -> str:
    """`a.b.c` as it is written; "" for anything else."""
    if isinstance(node, ast.Attribute):
        outer = _dotted(node.value)
        return f"{outer}.{node.attr}" if outer else ""
    return node.id if isinstance(node, ast.Name) else ""


def _is_debugger(func: ast.expr) -> bool:
    name = _dotted(func)
    return name == "breakpoint" or (
        name.partition(".")[0] in _DEBUGGERS and name.endswith((".set_trace", ".breakpoint"))
    )


def _is_broad(kind: ast.expr | None) -> bool:
    return kind is None or (isinstance(kind, ast.Name) and kind.id in ("Exception", "BaseException"))


def _is_nothing(body: Sequence[ast.stmt]) -> bool:
    return all(
        isinstance(each, ast.Pass) or (isinstance(each, ast.Expr) and isinstance(each.value, ast.Constant))
        for each in body
    )


def _mutable_defaults(path: str, args: ast.arguments) -> Iterator[Finding]:
    for default in (*args.defaults, *filter(None, args.kw_defaults)):
        made = isinstance(default, ast.Call) and _dotted(default.func) in _MUTABLE
        if made or isinstance(default, ast.List | ast.Dict | ast.Set):
            text = f"The default `{ast.unparse(default)}` is one object that all calls share."
            yield _finding(path, default.lineno, "mutable-default", text)


# --- tests that are gone ---------------------------------------------------------------------


def _lost_tests(changes: Changes, sheets: Mapping[str, Sheet]) -> Iterator[Finding]:
    """Tests that the old side has and the new side has nowhere; as many new ones count as renamed."""
    now = {path: _test_names(path, sheet.after) for path, sheet in sheets.items()}
    kept = {name for names in now.values() for name in names}
    for change in changes:
        if change.before is None or not is_text(change):
            continue
        before = _test_names(change.path, decode(change.before))
        lost = [name for name in before if name not in kept]
        if lost and len(now.get(change.path, ())) < len(before):
            names = ", ".join(lost[:5]) + (f" and {len(lost) - 5} more" if len(lost) > 5 else "")
            text = f"Removed here: {names}. What they tested is not tested any more."
            yield _finding(change.path, _gap(sheets.get(change.path), lost[0]), "test-removed", text)


def _test_names(path: str, text: str) -> list[str]:
    """The tests in a file, in their order; a suite's name belongs to each."""
    if is_cpp(path):
        return _CPP_TEST.findall(text)
    symbols = find_symbols(path, text) if is_python(path) and _TEST_FILE.search(path) else ()
    functions = (each.name for each in symbols if each.sort in ("function", "method"))
    return [name for name in functions if name.rpartition(".")[2].startswith("test")]


def _gap(sheet: Sheet | None, name: str) -> int:
    """The line of the new side at which a definition was taken out; 1 when the file is gone."""
    last = re.split(r"\W+", name)[-1]
    own = re.compile(rf"\b{re.escape(last)}\b")
    for hunk in sheet.hunks if sheet else ():
        line = hunk.new_start or 1
        for signed in hunk.lines:
            if signed[:1] == "-" and own.search(signed):
                return max(1, min(line, len(sheet.rows) if sheet else 1))
            line += signed[:1] in ("+", " ")
    return 1


# What can be found in a change without a model: by linters, by patterns of secrets, by kith's own
# rules.


async def find_by_tools(
    run: Run, subject: ReviewSubject, sheets: Sheets, limits: ExecLimits
) -> tuple[Finding, ...]:
    """Find problems on the lines of the change, and elsewhere because of it."""
    async with run.workspace.trial() as trial:
        if subject.overlay:
            await trial.apply(subject.overlay)
        by_linters = await _lint(run.inside(trial), subject.changes, sheets, limits)
    return (*by_linters, *find_by_looking(subject.changes, sheets))


def find_by_looking(changes: Changes, sheets: Sheets) -> tuple[Finding, ...]:
    """Find problems without another program: secrets and slips."""
    secrets = (
        Finding(sheet.path, line, "error", "secret", f"{what} in the clear.", BY)
        for sheet in sheets.values()
        for line, what in find_secrets(sheet.after)
        if line in sheet.added
    )
    return (*secrets, *find_slips(changes, sheets))


async def _lint(run: Run, changes: Changes, sheets: Sheets, limits: ExecLimits) -> list[Finding]:
    """Return linter findings on the new side that the old side did not have.

    The old side is made in the same trial, and only for linters with findings on untouched lines.
    """
    linters = await _allowed(run)
    found, problems = await _ask(run, linters, list(sheets), limits)
    for problem in problems:
        run.emit(Notice(problem))
    touched = [each for each in found if _is_touched(each, sheets)]
    elsewhere = {each.by for each in found if not _is_touched(each, sheets)}
    if not elsewhere:
        return touched
    earlier = [change.path for change in changes if change.before is not None and change.path in sheets]
    await run.workspace.apply(tuple(change.inverse for change in changes))
    before, problems = await _ask(run, [each for each in linters if each.name in elsewhere], earlier, limits)
    if problems:  # what they would have said is not known
        return touched
    new = fresh_findings([each for each in found if each.by in elsewhere], before, touched)
    return [*(each for each in touched if each.by not in elsewhere), *new]


def _is_touched(finding: Finding, sheets: Sheets) -> bool:
    return finding.path in sheets and finding.line in sheets[finding.path].added


async def _allowed(run: Run) -> Sequence[Linter]:
    """The project's linters; without a sandbox, those that run nothing of its own."""
    linters, refused = allowed_linters(run, await project_linters(run))
    for why in refused:
        run.emit(Notice(why))
    return linters


async def _ask(
    run: Run, linters: Sequence[Linter], paths: Collection[str], limits: ExecLimits
) -> tuple[list[Finding], list[str]]:
    """Run the linters on these files; also return why some have no result."""
    every = [await run_linter(run, linter, sorted(paths), limits) for linter in linters]
    found = dict.fromkeys(finding for linted in every for finding in linted.findings)
    return [*found], [linted.problem for linted in every if linted.problem]
