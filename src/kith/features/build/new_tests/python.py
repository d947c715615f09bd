"""Python tests before the code: which there are, which assert nothing, and why they fail."""

import ast
import builtins
import re
from collections.abc import Iterator, Sequence
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from kith.context.symbols import parse_python
from kith.features.build.new_tests.names import KnownNames
from kith.gates.reports import CaseResult, SuiteReport
from kith.gates.soundness.bindings import bound_inside

_Function = ast.FunctionDef | ast.AsyncFunctionDef
_ASSERTS: Final = re.compile(
    r"_*(?:assert|expect|check|verify|fail|raises|warns|deprecated_call|should|ensure|compare)", re.I
)
_PLAIN_METHODS: Final = frozenset(
    {"addCleanup", "doCleanups", "enterContext", "id", "setUp", "skipTest", "subTest", "tearDown"}
)
_CATCHES_ALL: Final = frozenset({"Exception", "BaseException", "AssertionError"})


def tests_of(path: str, text: str) -> dict[str, str]:
    """The tests of a file by pytest's ids, each with its source; a class is one when pytest collects it."""
    tree = parse_python(text)
    if tree is None:
        names = re.findall(r"^\s*(?:async )?def (test\w*)\(", text, re.M)
        return {f"{path}::{name}": name for name in names}
    return {id: ast.unparse(function) for id, function in _functions(path, tree.body)}


def vacuous_tests(path: str, text: str) -> dict[str, str]:
    """Tests that cannot fail for what the code does, and why."""
    tree = parse_python(text)
    if tree is None:
        return {}
    asserting = _asserting(tree)
    reasons = ((id, _why_vacuous(function, asserting)) for id, function in _functions(path, tree.body))
    return {id: why for id, why in reasons if why}


def forgotten_names(text: str) -> tuple[str, ...]:
    """Names that a file uses and nowhere imports or defines, as far as that can be known."""
    tree = parse_python(text)
    if tree is None:
        return ()
    nodes = list(ast.walk(tree))
    used = {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}
    bound = {name for node in nodes for name in bound_inside(node)}
    if "*" in bound or used & {"exec", "globals", "vars"}:
        return ()
    unknown = used - bound - set(dir(builtins))
    return tuple(sorted(name for name in unknown if not re.fullmatch(r"__\w+__", name)))


def defined_names(text: str) -> frozenset[str]:
    """The functions and classes that a file defines, methods too."""
    tree = parse_python(text)
    nodes = ast.walk(tree) if tree else ()
    return frozenset(node.name for node in nodes if isinstance(node, _Function | ast.ClassDef))


def _functions(prefix: str, body: Sequence[ast.stmt]) -> Iterator[tuple[str, _Function]]:
    for node in body:
        if isinstance(node, _Function) and node.name.startswith("test"):
            yield f"{prefix}::{node.name}", node
        elif isinstance(node, ast.ClassDef) and _is_collected(node):
            yield from _functions(f"{prefix}::{node.name}", node.body)


def _is_collected(node: ast.ClassDef) -> bool:
    bases = [_last_name(base) for base in node.bases]
    return node.name.startswith("Test") or any(base.endswith(("TestCase", "Tests")) for base in bases)


# --- tests that say nothing ------------------------------------------------------------------


class _Asserting(Struct, frozen=True):
    """The calls that count as assertions: those named like one, and helpers that assert, by their `names`.

    `inherited`: classes have base classes outside the file, so methods that the file does not define
    (`own` are those it does) may assert as well.
    """

    names: frozenset[str]
    own: frozenset[str]
    inherited: bool

    def is_one(self, call: ast.Call) -> bool:
        name = _last_name(call.func)
        if name in self.names or _ASSERTS.match(name):
            return True
        of_self = isinstance(call.func, ast.Attribute) and _last_name(call.func.value) in ("self", "cls")
        return self.inherited and of_self and name not in self.own | _PLAIN_METHODS


def _asserting(tree: ast.Module) -> _Asserting:
    """As the file has it, helpers that call helpers among it."""
    nodes = list(ast.walk(tree))
    functions = [node for node in nodes if isinstance(node, _Function)]
    own = frozenset(node.name for node in functions)
    asserting = _Asserting(_test_helpers(nodes), own, _has_foreign_bases(nodes))
    while True:
        found = {node.name for node in functions if any(_assertions(node.body, asserting))}
        if found <= asserting.names:
            return asserting
        asserting = replace(asserting, names=asserting.names | found)


def _test_helpers(nodes: Sequence[ast.AST]) -> frozenset[str]:
    """Functions from the project's own test modules: what they do is not seen from here."""
    imports = [node for node in nodes if isinstance(node, ast.ImportFrom)]
    helpers = [node for node in imports if node.level or "test" in (node.module or "")]
    return frozenset(alias.asname or alias.name for node in helpers for alias in node.names)


def _has_foreign_bases(nodes: Sequence[ast.AST]) -> bool:
    """True if a class inherits from a class outside the file, other than unittest's own."""
    known = {node.name for node in nodes if isinstance(node, ast.ClassDef)} | {"object"}
    for node in nodes:
        if isinstance(node, ast.ImportFrom) and node.module == "unittest":
            known |= {alias.asname or alias.name for alias in node.names}
    bases = (base for node in nodes if isinstance(node, ast.ClassDef) for base in node.bases)
    return any(
        ast.unparse(base) not in known and not ast.unparse(base).startswith("unittest.") for base in bases
    )


def _why_vacuous(function: _Function, asserting: _Asserting) -> str:
    assertions = list(_assertions(function.body, asserting))
    if not assertions:
        return "asserts nothing"
    if all(map(_is_trivial, assertions)):
        return f"only asserts what always holds: `{ast.unparse(assertions[0])[:80]}`"
    return ""


def _assertions(body: Sequence[ast.AST], asserting: _Asserting) -> Iterator[ast.AST]:
    """Yield the nodes that can fail a test on purpose; not those in a block that swallows failures."""
    for node in body:
        if isinstance(node, ast.Try) and any(_swallows(each, asserting) for each in node.handlers):
            yield from _assertions([*node.handlers, *node.orelse, *node.finalbody], asserting)
            continue
        if isinstance(node, (ast.Assert, ast.Raise)) or (
            isinstance(node, ast.Call) and asserting.is_one(node)
        ):
            yield node
        yield from _assertions(list(ast.iter_child_nodes(node)), asserting)


def _swallows(handler: ast.ExceptHandler, asserting: _Asserting) -> bool:
    caught = handler.type
    kinds = caught.elts if isinstance(caught, ast.Tuple) else [caught] if caught else []
    everything = not kinds or any(_last_name(kind) in _CATCHES_ALL for kind in kinds)
    return everything and not any(_assertions(handler.body, asserting))


def _is_trivial(node: ast.AST) -> bool:
    if isinstance(node, ast.Assert):
        return _always_holds(node.test)
    if isinstance(node, ast.Call) and _last_name(node.func).startswith("assert"):
        return bool(node.args) and (
            all(isinstance(each, ast.Constant) for each in node.args)
            or (len(node.args) == 2 and _are_same(node.args[0], node.args[1]))
        )
    return False


def _always_holds(test: ast.expr) -> bool:
    match test:
        case ast.Constant(value=value):
            return bool(value)
        case ast.Tuple(elts=elements):
            return bool(elements)
        case ast.Compare(left=left, ops=[ast.Eq() | ast.Is() | ast.LtE() | ast.GtE()], comparators=[right]):
            constant = isinstance(left, ast.Constant) and isinstance(right, ast.Constant)
            return constant or _are_same(left, right)
        case ast.BoolOp(op=ast.Or(), values=values):
            return any(map(_always_holds, values))
    return False


def _are_same(left: ast.expr, right: ast.expr) -> bool:
    """The same plain name twice; two calls may well differ."""
    return isinstance(left, (ast.Name, ast.Attribute)) and ast.dump(left) == ast.dump(right)


def _last_name(node: ast.expr) -> str:
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case ast.Call(func=function) | ast.Subscript(value=function):
            return _last_name(function)
    return ""


# How Python tests fail: because something is not written yet, or because the test itself is wrong.

# pytest marks the lines of an error with an E.
_ERROR: Final = re.compile(r"^(?:E {2,})?((?:[A-Za-z_][\w.]*\.)?\w*(?:Error|Exception|Failed)): ?(.*)$", re.M)
_NO_FIXTURE: Final = re.compile(r"fixture '([^']+)' not found")
_NO_MARK: Final = re.compile(r"'(\w+)' not found in `markers`")
_NO_MODULE: Final = re.compile(r"No module named '([^']+)'")
_NO_NAME: Final = re.compile(r"cannot import name '([^']+)' from (?:partially initialized module )?'([^']+)'")
_NO_ATTRIBUTE_OF_MODULE: Final = re.compile(r"module '([\w.]+)' has no attribute '(\w+)'")
_NO_ATTRIBUTE: Final = re.compile(r"'(\w+)' object has no attribute '(\w+)'")
_CALLED: Final = re.compile(r"(?:\w+\.)*(\w+)\(\) ")
_COLLECTING: Final = "ERROR collecting "


def source_faults(path: str, text: str) -> Iterator[str]:
    """Yield the faults of the file that do not depend on a run."""
    for name in forgotten_names(text):
        yield f"{path} uses `{name}` and nowhere imports or defines it"


def is_of(case: CaseResult, path: str) -> bool:
    """True if a case, by pytest's or unittest's name for it, is in the file or is its failed import."""
    if "::" in case.id:
        return case.id.startswith(f"{path}::")
    module, stem = _module(path)
    return _is_import(case, path) or case.id.startswith((f"{module}.", f"{stem}."))


def case_fault(case: CaseResult, path: str, text: str, names: KnownNames) -> str:
    """Explain why a failed case is wrong; "" when it fails because the requested code is missing."""
    return _fault(case.message, path, text, names, at_import=_is_import(case, path))


def collection_faults(report: SuiteReport, path: str, text: str, names: KnownNames) -> list[str] | None:
    """List the faults that stopped a file's collection; None when pytest reports nothing of it."""
    sections = re.split(r"^_{3,} (?=ERROR )|^={3,} .*={3,}$", report.ran.output, flags=re.M)
    mine = [each for each in sections if each.startswith(f"{_COLLECTING}{path}")]
    if not mine:
        return None
    faults = [_fault(section, path, text, names, at_import=True) for section in mine]
    return [fault for fault in faults if fault]


def _fault(words: str, path: str, text: str, names: KnownNames, *, at_import: bool) -> str:
    if missing := _NO_FIXTURE.search(words):
        return f"{path} asks for a fixture `{missing[1]}`, and there is none"
    if missing := _NO_MARK.search(words):
        return f"{path} uses a mark `{missing[1]}` that this project does not have"
    errors = _ERROR.findall(words)
    if not errors:
        return ""
    # What a test compares may look like errors too; of a chain that kept a file from loading the last counts.
    name, told = errors[-1 if at_import else 0]
    kind, told = name.rpartition(".")[2], told.strip()
    if kind in ("SyntaxError", "IndentationError", "TabError"):
        return f"{path} is not valid Python: {told}" if parse_python(text) is None or path in words else ""
    if kind in ("ModuleNotFoundError", "ImportError"):
        return _import_fault(told, path, names)
    fault = _own_fault(kind, told, path, defined_names(text), names)
    if not fault and at_import and kind != "AttributeError":
        return f"{path} fails while it is imported ({kind}: {told:.200}); only the tests in it may fail"
    return fault


def _import_fault(told: str, path: str, names: KnownNames) -> str:
    missing = _NO_MODULE.search(told)
    if missing and not names.is_own_module(missing[1]):
        return f"{path} needs the module `{missing[1]}`, which is neither installed nor part of the task"
    missing = _NO_NAME.search(told)
    if missing and not names.is_own_module(missing[2]):
        return f"{path} imports `{missing[1]}` from `{missing[2]}`, which has no such name"
    return ""


def _own_fault(kind: str, told: str, path: str, own: frozenset[str], names: KnownNames) -> str:
    """Mistakes in what the test file itself uses or defines (`own`), by the error they end in."""
    missing = _NO_ATTRIBUTE_OF_MODULE.search(told)
    if missing and not names.is_own_module(missing[1]):
        return f"{path} uses `{missing[1]}.{missing[2]}`, which does not exist"
    missing = _NO_ATTRIBUTE.search(told)
    if missing and missing[1] in own:
        return f"{path} uses `{missing[2]}` of its own class `{missing[1]}`, which does not have it"
    called = _CALLED.match(told)
    if kind == "TypeError" and called and called[1] in own:
        return f"{path} calls its own `{called[1]}` wrongly: {told}"
    return ""


def _is_import(case: CaseResult, path: str) -> bool:
    """True if the case is the failed import of the whole file."""
    module, stem = _module(path)
    failed = case.id.rpartition("_FailedTest.")[2]  # what unittest's loader calls it
    return case.id == path or failed in (module, stem)


def _module(path: str) -> tuple[str, str]:
    """A file as a dotted module, and the last part of that."""
    module = path.removesuffix(".py").replace("/", ".")
    return module, module.rpartition(".")[2]
