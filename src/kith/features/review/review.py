"""Review a change: tools first, then the model part by part, then a check of what it claims."""

from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, closing, suppress
from typing import Any, Final

from msgspec import Struct, field
from msgspec.structs import replace

from kith.agent.asking.cast import open_cast
from kith.agent.attempt import Outcome, adopt_ready
from kith.agent.failed_runs import end_of
from kith.agent.project import Project, Result
from kith.agent.roles import Cast, Player
from kith.context.budget import ASSUMED_WINDOW, estimate_tokens
from kith.context.outline import Definition, find_references, last_part
from kith.context.rank_files import kind_of
from kith.context.symbols import Symbol, find_symbols
from kith.core.errors import KithError, LimitError, ModelError, TreeError
from kith.core.events import Notice, Reviewed
from kith.core.loop import begin_turn
from kith.core.model import Prompt, Role
from kith.core.run import Answerer, Run, Thread, new_id
from kith.core.values import Finding, say
from kith.core.workspace import ExecLimits, read_readable
from kith.edits import Hunk
from kith.features.review.changed_files import (
    ReviewRequest,
    ReviewSubject,
    Sheet,
    Sheets,
    find_subject,
    find_unreadable,
    make_sheets,
)
from kith.features.review.checks import find_by_tools
from kith.features.review.evidence import ThrownOut, as_changes, as_thrown_out, check_claim
from kith.features.review.findings import QUOTED, SHAPE, TRIES, Claim, merge, read_claims
from kith.memory.index import Damaged, Index, open_index, refresh
from kith.memory.session import Listener
from kith.models.dialects.json_text import load_json
from kith.trees.files import read_file
from kith.view.lines import shortened

# Cut a change into parts for prompts: hunks with line numbers, and the definitions that they name.


_LARGEST_ROOM: Final = 4_000  # tokens of one request; a model sees more in less
_SMALL_ROOM: Final = 1_500
_LONGEST_LINE: Final = 400  # characters; what is longer is data
_EXCERPT: Final = 40  # lines of one definition
_NAMES: Final = 12  # of a part that are looked up beyond the changed files
_GAP: Final = "..."

# Where a name is defined in the tree, outside the change.
Lookup = Callable[[str], Sequence[tuple[Definition, str]]]


class PromptPart(Struct, frozen=True):
    """Some hunks of one file as the model reads them, and the first and last line they hold."""

    path: str
    first: int
    last: int
    text: str


def room_of(window: int, small: bool) -> int:
    """Tokens for the hunks of one request, and as many again for what they name: together half the window."""
    return min((window or ASSUMED_WINDOW) // 4, _SMALL_ROOM if small else _LARGEST_ROOM)


def is_for_models(sheet: Sheet) -> bool:
    """True if a model should read a file: code and its tests, never one that may hold secrets."""
    return kind_of(sheet.path) in ("source", "test") and bool(sheet.hunks)


def make_parts(sheets: Mapping[str, Sheet], room: int, *, one_by_one: bool = False) -> tuple[PromptPart, ...]:
    """The change in parts of at most `room` tokens: whole files where they fit, hunks, or pieces of these."""
    return tuple(
        part for sheet in sheets.values() if is_for_models(sheet) for part in _parts(sheet, room, one_by_one)
    )


def _parts(sheet: Sheet, room: int, one_by_one: bool) -> Iterator[PromptPart]:
    pending: list[list[_Row]] = []
    for rows in (piece for hunk in sheet.hunks for piece in _pieces(_rows(hunk), room)):
        if pending and (one_by_one or estimate_tokens(_show([*pending, rows])) > room):
            yield _part(sheet, pending)
            pending = []
        pending.append(rows)
    if pending:
        yield _part(sheet, pending)


class _Row(Struct, frozen=True):
    """One line of a hunk: its number in the new side, 0 when it is gone, and as the model sees it."""

    number: int
    text: str


def _rows(hunk: Hunk) -> list[_Row]:
    """The lines as `12\t text`: number, sign, text. A removed line has no number."""
    rows, number = list[_Row](), hunk.new_start or 1
    for line in hunk.lines:
        sign, words = line[:1], line[1 : 1 + _LONGEST_LINE]
        if sign == "-":
            rows.append(_Row(0, f"\t-{words}"))
        elif sign in ("+", " "):
            rows.append(_Row(number, f"{number}\t{sign}{words}"))
            number += 1
    return rows


def _pieces(rows: list[_Row], room: int) -> Iterator[list[_Row]]:
    """A hunk, or as many pieces of it as it takes."""
    piece, cost = list[_Row](), 0
    for row in rows:
        price = estimate_tokens(row.text + "\n")
        if piece and cost + price > room:
            yield piece
            piece, cost = [], 0
        piece.append(row)
        cost += price
    yield piece


def _show(hunks: Sequence[Sequence[_Row]]) -> str:
    return f"\n{_GAP}\n".join("\n".join(row.text for row in rows) for rows in hunks)


def _part(sheet: Sheet, hunks: Sequence[Sequence[_Row]]) -> PromptPart:
    numbers = [row.number for rows in hunks for row in rows if row.number]
    return PromptPart(sheet.path, min(numbers, default=1), max(numbers, default=1), _show(hunks))


# --- what the lines speak of -----------------------------------------------------------------


def define_names(part: PromptPart, sheets: Mapping[str, Sheet], lookup: Lookup, room: int) -> str:
    """The definitions around and behind a part, numbered, in at most `room` tokens; the nearest first."""
    blocks, left = list[str](), room
    for path, first, text in _definitions(part, sheets, lookup):
        block = f"{path}\n" + "\n".join(
            f"{number}\t {line[:_LONGEST_LINE]}" for number, line in enumerate(text.split("\n"), first)
        )
        cost = estimate_tokens(block + "\n\n")
        if cost <= left:
            blocks.append(block)
            left -= cost
    return "\n\n".join(blocks)


def _definitions(
    part: PromptPart, sheets: Mapping[str, Sheet], lookup: Lookup
) -> Iterator[tuple[str, int, str]]:
    """Path, first line and text: what encloses the part, then what it names, here, nearby and in the tree."""
    names = find_references(part.path, _without_numbers(part.text))
    known = set[str]()
    for sheet in sorted(sheets.values(), key=lambda each: each.path != part.path):
        symbols = find_symbols(sheet.path, sheet.after)
        wanted = [each for each in symbols if _speaks_of(part, sheet, each, names)]
        known |= {last_part(each.name) for each in symbols}
        for symbol in sorted(wanted, key=lambda each: not _encloses(each, part)):
            last = min(symbol.last, symbol.first + _EXCERPT - 1)
            yield sheet.path, symbol.first, sheet.text(symbol.first, last)
    unknown = [name for name, _ in names.most_common() if name not in known][:_NAMES]
    for name in unknown:
        for definition, text in lookup(name):
            yield definition.path, definition.first, text


def _without_numbers(text: str) -> str:
    return "\n".join(line.partition("\t")[2][1:] for line in text.split("\n"))


def _encloses(symbol: Symbol, part: PromptPart) -> bool:
    return symbol.first <= part.first and part.last <= symbol.last


def _speaks_of(part: PromptPart, sheet: Sheet, symbol: Symbol, names: Mapping[str, int]) -> bool:
    """True if a definition should be shown beside a part: not one that the part contains."""
    if symbol.sort == "namespace" or symbol.last - symbol.first > 10 * _EXCERPT:
        return False
    if sheet.path == part.path:
        inside = part.first <= symbol.first and symbol.last <= part.last
        touches = symbol.first <= part.last and part.first <= symbol.last
        if inside:
            return False
        if touches:
            return symbol.sort != "class"
    return last_part(symbol.name) in names


# Asking the model about one part of a change, and once more about what it finds most serious.

_DEFINED: Final = "For reference, as it stands after the change; not itself to be reviewed:"
_AGAIN: Final = (
    "Look at one of your findings again, as somebody who doubts it:\n\n{path}, line {line}: {why}\n\n"
    "Is there an input that can occur for which the code, as shown, really goes wrong? Trace it. Answer with "
    'one JSON object and nothing else: {{"input": "...", "real": true or false}}'
)
_VERDICT: Final[Mapping[str, Any]] = {
    "type": "object",
    "properties": {"input": {"type": "string"}, "real": {"type": "boolean"}},
    "required": ["input", "real"],
}


async def ask_about(
    run: Run, role: Role, thread: Thread, part: PromptPart, context: str
) -> tuple[Claim, ...]:
    """Ask the model for claims on a part. Raises ModelError, LimitError; also for an unreadable reply."""
    begin_turn(run, thread, say(_letter(part, context), "kith"))
    words = ""
    for attempt in range(1, TRIES + 1):
        words = await _answer(run, role, thread, SHAPE, attempt)
        claims, fault = read_claims(words)
        if not fault:
            return claims
        if attempt < TRIES:
            thread.add(run, say(f"{fault} Send the whole object again.", "kith"))
    wrote = shortened(" ".join(words.split()), QUOTED)
    raise ModelError(f"{role.model.name} answered without JSON, also when asked again. It wrote: {wrote}")


async def is_confirmed(run: Run, role: Role, thread: Thread, finding: Finding) -> bool:
    """Ask the model again about a finding; all but a no is a yes.

    `thread` is the one that asked about the part: its prompt is in the server's cache.
    """
    words = _AGAIN.format(path=finding.path, line=finding.line, why=finding.text)
    begin_turn(run, thread, say(words, "kith"))
    try:
        return not _denies(await _answer(run, role, thread, _VERDICT, 1))
    except (ModelError, LimitError) as error:
        run.emit(Notice(f"There was no second look at {finding.path}, line {finding.line}: {error}"))
        return True


def _letter(part: PromptPart, context: str) -> str:
    head = f"Review this part of the change, in {part.path}:\n\n{part.text}"
    return f"{head}\n\n{_DEFINED}\n\n{context}" if context else head


async def _answer(run: Run, role: Role, thread: Thread, shape: Mapping[str, Any], attempt: int) -> str:
    """One reply, added to the thread. A review looks at what it was shown, so it has no tools."""
    prompt = Prompt(
        role.system, thread.messages, (), role.purpose, attempt, role.sampling, thread.name, shape
    )
    reply = await role.model(prompt, run.emit)
    thread.add(run, replace(reply.message, complete=reply.stop != "length"))
    return reply.message.text


def _denies(words: str) -> bool:
    data = load_json(words)
    return isinstance(data, dict) and data.get("real") is False


ROLE: Final = "finder"
DENIED: Final = "not confirmed on a second look"
REPEATED: Final = "said by another finding already"


class Review(Struct, frozen=True):
    """The result of a review: findings, rejected claims, and the share that the model reviewed.

    `parts` is 0 when no model was asked; `unanswered` of them got no answer, for the reason `trouble`.
    """

    findings: tuple[Finding, ...] = ()
    thrown_out: tuple[ThrownOut, ...] = ()
    parts: int = 0
    unanswered: int = 0
    trouble: KithError | None = None


class Reviewing(Struct, frozen=True):
    """The options of a review: limits of one linter, second look at errors, lookup of definitions."""

    limits: ExecLimits
    second_look: bool = False
    lookup: Lookup = lambda name: ()


async def review(run: Run, subject: ReviewSubject, cast: Cast | None, how: Reviewing) -> Review:
    """Review a change; without a `cast` no model is asked.

    A model that fails on one part loses no other part, and nothing that the tools found. Raises what opening
    the model raises, and TreeError.
    """
    sheets = make_sheets(subject.changes)
    player = await cast(ROLE) if cast else None
    with run.step("linters") as step:
        by_tools = await find_by_tools(step, subject, sheets, how.limits)
    asked = await _ask_all(run, sheets, cast, player, how) if cast and player else Review()
    findings, repeated = merge((*by_tools, *asked.findings))
    told_twice = (as_thrown_out(each, REPEATED) for each in repeated if each in asked.findings)
    thrown_out = (*asked.thrown_out, *told_twice)
    run.emit(Reviewed(findings, dict(Counter(each.reason for each in thrown_out))))
    return replace(asked, findings=findings, thrown_out=thrown_out)


async def _ask_all(run: Run, sheets: Sheets, cast: Cast, player: Player, how: Reviewing) -> Review:
    """Review each part by the model and check its claims; one part after the other."""
    parts = make_parts(sheets, room_of(player.window, player.small), one_by_one=player.small)
    done = Review(parts=len(parts), unanswered=len(parts))
    trouble: KithError | None = None
    for number, part in enumerate(parts, 1):
        try:
            player = await cast(ROLE) if number > 1 else player
            with run.step(f"part {number} of {len(parts)}") as step:
                found, out = await _ask_part(step, player, Thread(f"part {number}"), part, sheets, how)
        except LimitError as error:
            trouble = error
            break
        except ModelError as error:
            trouble = error
            where = f"{part.path}, lines {part.first} to {part.last}"
            run.emit(Notice(f"{where}, was not reviewed by the model: {error}", "warning"))
        else:
            findings, thrown_out = (*done.findings, *found), (*done.thrown_out, *out)
            done = replace(done, findings=findings, thrown_out=thrown_out, unanswered=done.unanswered - 1)
    return replace(done, trouble=trouble)


async def _ask_part(
    run: Run, player: Player, thread: Thread, part: PromptPart, sheets: Sheets, how: Reviewing
) -> tuple[list[Finding], list[ThrownOut]]:
    """Review one part by the model; return confirmed findings and rejected claims."""
    role = player.role
    context = define_names(part, sheets, how.lookup, room_of(player.window, player.small))
    claims = await ask_about(run, role, thread, part, context)
    checked = [check_claim(claim, sheets, role.model.name) for claim in claims]
    findings = [each for each in checked if isinstance(each, Finding)]
    out = [each for each in checked if isinstance(each, ThrownOut)]
    for finding in [each for each in findings if how.second_look and each.severity == "error"]:
        if not await is_confirmed(run, role, thread, finding):
            findings.remove(finding)
            out.append(as_thrown_out(finding, DENIED))
    return findings, out


# Reviews: from what should be looked at to findings that hold, and to a change that mends some of them.

_LINTER_S = 300.0  # seconds of one linter
_FEW_FILES = 5_000  # an index of a tree of this size is made in passing


class FinishedReview(Struct, frozen=True):
    """A review that is over: how its session ended, what was reviewed, and what was found.

    `applied` are the findings whose suggestions are in the tree now.
    """

    result: Result
    subject: ReviewSubject
    review: Review
    applied: tuple[Finding, ...] = ()

    @property
    def left(self) -> tuple[Finding, ...]:
        """The findings that remain."""
        return tuple(each for each in self.review.findings if each not in self.applied)


class _Found(Struct):
    """The result of the work inside a session."""

    review: Review = field(default_factory=Review)
    applied: tuple[Finding, ...] = ()


async def run_review(
    project: Project,
    wish: ReviewRequest,
    answerer: Answerer,
    listeners: Sequence[Listener] = (),
    *,
    model: bool = True,
    second_look: bool = False,
    apply: bool = False,
    id: str = "",
) -> FinishedReview:
    """Review what is wished for, in a session of its own (called `id` if given).

    With `apply`, what was suggested is proposed. Raises UsageError where there is nothing of that name.
    """
    if apply:
        project.check_writable()
    subject, id, found = await find_subject(project, wish), id or new_id(), _Found()
    subject = replace(subject, left_out=(*subject.left_out, *find_unreadable(subject.changes)))

    async def do(run: Run) -> Outcome:
        if not subject.changes:
            return Outcome("done", f"There is nothing to review in {subject.words}.")
        async with _opened(project, run, id, model) as (cast, lookup):
            how = Reviewing(ExecLimits(_LINTER_S), second_look, lookup)
            found.review = await review(run, subject, cast, how)
        if found.review.trouble and found.review.parts == found.review.unanswered:
            end = end_of(found.review.trouble)
            return Outcome(end.status, end.text)
        return await _apply(project, run, subject, found) if apply else Outcome("done", "")

    result = await project.perform(f"review {subject.words}", "review", do, answerer, listeners, id)
    return FinishedReview(result, subject, found.review, found.applied)


@asynccontextmanager
async def _opened(
    project: Project, run: Run, id: str, model: bool
) -> AsyncIterator[tuple[Cast | None, Lookup]]:
    """A cast and what knows the tree's definitions, as long as the review lasts."""
    if not model:
        yield None, lambda name: ()
        return
    async with open_cast(project, run, id) as cast, _indexed(project, run) as lookup:
        yield cast, lookup


@asynccontextmanager
async def _indexed(project: Project, run: Run) -> AsyncIterator[Lookup]:
    """The tree's definitions by name, with their text; nothing where there is no index to rely on."""
    index = await _open_index(project, run)
    if index is None:
        yield lambda name: ()
        return

    def lookup(name: str) -> list[tuple[Definition, str]]:
        with suppress(KithError, Damaged):
            return [(each, _text_of(project, each)) for each in index.defining(name)[:1]]
        return []

    with closing(index):
        yield lookup


async def _open_index(project: Project, run: Run) -> Index | None:
    """The index as the tree is now; None where making it would take long, or fails, which is said."""
    try:
        index = open_index(project.settings.cache, project.root)
        if index.complete or len(await project.tree.files()) <= _FEW_FILES:
            await refresh(index, project.tree)
            return index
        index.close()
    except (KithError, Damaged) as error:
        run.emit(Notice(f"The model is shown no definitions from outside the change: {error}"))
    return None


def _text_of(project: Project, definition: Definition) -> str:
    """The lines of a definition as they are in the tree, "" when it cannot be read."""
    with suppress(TreeError, OSError):
        rows = read_file(project.root, definition.path).decode("utf-8", "replace").split("\n")
        last = min(definition.last, definition.first + _EXCERPT - 1)
        return "\n".join(rows[definition.first - 1 : last])
    return ""


async def _apply(project: Project, run: Run, subject: ReviewSubject, found: _Found) -> Outcome:
    """Propose the suggestions as one change, judged like any other."""
    suggested = [each for each in found.review.findings if each.replacement is not None]
    before = await read_readable(run.workspace, sorted({each.path for each in suggested}))
    changes, fitting = as_changes(suggested, make_sheets(subject.changes), before)
    for each in suggested:  # who is asked should know why
        why = each.text if each in fitting else "The suggestion does not fit the file."
        run.emit(Notice(f"{each.path}:{each.line}: {why}"))
    if not changes:
        return Outcome("done", "There is no suggestion to apply.")
    outcome = await adopt_ready(run, changes, project.judges(run), "The suggestions are applied.")
    after = await read_readable(run.workspace, sorted(change.path for change in changes))
    whole = {change.path for change in changes if change.after == after.get(change.path)}
    found.applied = tuple(each for each in fitting if each.path in whole)
    return outcome
