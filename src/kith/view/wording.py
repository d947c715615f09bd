"""Items, questions and answers in words: calm lines and longer texts, the same on every surface."""

from collections.abc import Mapping, Sequence
from typing import Final

from kith.core.check_names import name_check
from kith.core.decisions import Coached, Compared, Delegated, Routed
from kith.core.events import (
    Advanced,
    Applied,
    Committed,
    Compacted,
    Delta,
    Engaged,
    Event,
    Judged,
    Locked,
    Named,
    Notice,
    Progress,
    Proposed,
    Reviewed,
    RunEnded,
    Stepped,
    ToolBegan,
    ToolEnded,
)
from kith.core.evidence import CheckEvidence, Standing
from kith.core.numbers import dollars
from kith.core.policy import bare_call
from kith.core.values import Answer, BuildTask, CallTarget, FileChange, Finding, Plan, Question, Ran, TodoItem
from kith.memory.applied import short_commit, short_id
from kith.view.items import (
    AppliedChange,
    GateVerdict,
    Item,
    Note,
    RunResult,
    TaskList,
    TodoList,
    ToolUse,
    WorkPlan,
)
from kith.view.lines import count, first_line, shortened
from kith.view.printing import printable

STYLES: Final = {"tool": "dim", "note": "yellow", "bad": "red", "good": "green", "plain": ""}
_BAR: Final = 16  # columns
_FINDINGS: Final = 10  # of a review, shown beside a diff
_PLACES: Final = 3  # that a command reached, on its line
_STEPS: Final = {
    ("plan", "faulty"): ("bad", "  ✗ the architect's tasks are sent back: {why}"),
    ("next", "task"): ("plain", "Task {task}"),
    ("lock", "locked"): ("good", "  ✓ its tests fail as they should, and are locked now"),
    ("lock", "wrong"): ("tool", "  · the tests are sent back"),
    ("review", "advised"): ("tool", "  · reviewer: {why}"),
    ("weigh", "kept"): ("good", "  ✓ the refiner's change is kept"),
    ("weigh", "discarded"): ("tool", "  · the refiner's change is discarded: {why}"),
}
_STATUS: Final = {"plan": "planning"} | dict.fromkeys(
    ("measure", "lock", "check", "weigh", "finish"), "running tests and gates"
)
_STATIC: Final = ("lint", "types")  # gates that run no test
_PLURAL: Final = ("tests", "types", "secrets", "limits")  # gates
_MARKS: Final = {"pending": "[ ]", "active": "[>]", "done": "[x]"}
_RESULTS: Final = {
    "done": "Done",
    "failed": "Not done",
    "rejected": "Nothing was applied",
    "held": "Held back",
    "limit": "Stopped at a limit",
    "unavailable": "No model could be asked",
    "interrupted": "Interrupted",
    "unfinished": "Not finished",
}


def line_of(item: Item, undo: str = "kith undo") -> tuple[str, str]:
    """An item as (a key of STYLES, line); the line is "" for what a person need not see, or not yet.

    Lines hold foreign text as it is: who shows one makes it `printable` first.
    """
    match item:
        case ToolUse(ended=ToolEnded() as ended, result=None):
            return _tool_line(ended)
        case GateVerdict(judged=judged):
            return _judged_line(judged)
        case WorkPlan(plan=plan):
            return ("plain", plan_text(plan))
        case TaskList(tasks=tasks):
            return ("plain", tasks_text(tasks))
        case TodoList(entries=entries):
            return ("tool", todo_text(entries))
        case AppliedChange(applied=applied):
            files = count(len(applied.files), "file")
            return (
                "good",
                f"{word_applied(applied)} {files}.  Undo: {undo} {short_id(applied.change_id)}",
            )
        case RunResult(ended=RunEnded("interrupted", text)):
            return ("bad", text)
        case Note(event=event):
            return note_line(event)
        case _:
            return ("", "")


def note_line(event: Event) -> tuple[str, str]:
    """The line of an event that is a note, as `line_of` gives it."""
    match event:
        case Notice(text, level):
            return ("note", f"  ! {text}") if level == "warning" else ("tool", f"  · {text}")
        case Committed(commit=commit):
            return ("tool", f"  · Committed as {short_commit(commit)}.")
        case Advanced():
            return _advanced_line(event)
        case Reviewed(findings):
            return ("note", findings_text(findings))
        case Delegated():
            return _delegated_line(event)
        case Routed():
            return _routed_line(event)
        case _:
            return ("", "")


def fact_line(event: Event) -> str:
    """The line of an event that only a whole record tells; "" for other events."""
    match event:
        case Engaged(model=model, server=server, window=window, cloud=cloud):
            where = "in the cloud" if cloud else f"at {server}" if server else "here"
            return f"{model} {where}" + (f", window {window:,}" if window else "")
        case Routed(plan=[_, *others] as plan, why=why, by=by, after="") if others or by != "person":
            # What the person chose alone is the model that comes next.
            return f"asked: {', then '.join(plan)}" + (f" ({why})" if why else "")
        case Named(title):
            return f'Renamed to "{title}"' if title else "The name was removed"
        case Compacted(before=before, after=after, upto=upto, summary=summary):
            how = f"{count(upto, 'message')} summed up" if summary else "without old results of tools"
            return f"The conversation is sent shorter now: {before:,} → {after:,} tokens, {how}"
        case Coached(model=model, state=state, why=why, kind=kind):
            return f"A way to ask {model} ({kind}): {state}. {why}"
        case Compared(strategy=strategy, task=task, before=before, after=after):
            was, became = ("solved" if each else "not solved" for each in (before, after))
            return f"{task}: {was}, with {strategy} {became}"
        case Locked(task=task, tests=tests):
            return f"Locked: {count(len(tests), 'test')} of task {task}"
        case _:
            return ""


def word_result(status: str) -> str:
    """Word a task's end, for a heading."""
    return _RESULTS.get(status, status.capitalize())


def word_applied(applied: Applied) -> str:
    """`Applied`, or `Undone` for a change that takes another one back."""
    return "Undone" if applied.undoes else "Applied"


def word_tokens(read: int, written: int, known: str = "") -> str:
    """`5,158 tokens read, 310 written`; `known` tells what of it was cached. Some servers count none."""
    return f"{read:,} tokens read{known}, {written:,} written" if read or written else "tokens not reported"


def word_size(files: Sequence[FileChange]) -> str:
    """`2 files, +4 -1`."""
    added, removed = sum(file.added for file in files), sum(file.removed for file in files)
    return f"{count(len(files), 'file')}, +{added} -{removed}"


def word_verdict(judged: Judged) -> str:
    """Word a gate's verdict."""
    if judged.skipped:
        return "not checked"
    if judged.ok:
        return "passed"
    return "timed out" if any(ran.timed_out for ran in judged.ran) else "failed"


def word_exit(ran: Ran) -> str:
    """Word a command's end."""
    return "timed out" if ran.timed_out else f"exit {ran.code}"


def status_of(event: Event) -> str | None:
    """The present activity for a status line; None where an event says nothing about it."""
    match event:
        case Stepped(state="began", kind=kind):
            return _STATUS.get(kind, "waiting for the model")
        case Progress(what, done, total):
            return _progress(what, done, total)
        case ToolBegan(name=name, effect=effect, target=target):
            sign = "$" if effect == "exec" else name
            return shortened(printable(f"{sign} {first_line(target)}"), 60).strip()
        case ToolEnded():
            return "thinking"
        case Delta(kind="thinking"):
            return "thinking"
        case Delta():
            return "writing"
        case Proposed(files) if files:
            return "checking"
        case _:
            return None


def _progress(what: str, done: int, total: int) -> str:
    """`reading, about 12 s left: 4,096 of 9,000 tokens`, or only what is waited for."""
    if what == "asked":
        return "waiting for the model"
    what = printable(what)
    if not done and not total:
        return what
    unit = " tokens" if what.startswith("reading") else ""
    if not total or (not done and "loading" not in what):
        return f"{what}: {done or total:,}{unit}"
    bar = "━" * max(0, min(_BAR, _BAR * done // total))
    how_far = f"{100 * done // total}%" if "loading" in what else f"{done:,} of {total:,}{unit}"
    return f"{what}  {bar:╌<{_BAR}}  {how_far}"


def is_shown(event: ToolEnded) -> bool:
    """True for a tool with a line; the list, the summary and the errand are shown for themselves."""
    return not event.ok or event.name not in ("todo", "done", "delegate")


def _tool_line(event: ToolEnded) -> tuple[str, str]:
    if not is_shown(event):
        return ("", "")
    took = f"  {event.seconds:.1f} s" if event.seconds >= 0.1 else ""
    said = f"{event.name:<6} {first_line(event.line)}"
    if event.ran is not None:
        said = f"$ {first_line(event.ran.command)}  {word_exit(event.ran)}{_network(event.ran)}"
    return ("tool" if event.ok else "bad", f"  {'·' if event.ok else '!'} {said}{took}")


def _network(ran: Ran) -> str:
    """`  network: pypi.org:443 125 kB, refused evil.org:443 (not allowed)`; nothing where nothing was."""
    places = [
        f"refused {each.place or 'a request'} ({each.refused})"
        if each.refused
        else f"{each.place} {(each.sent + each.received) // 1000:,} kB"
        for each in ran.reached
    ]
    more = [f"and {len(places) - _PLACES} more"] if len(places) > _PLACES else []
    return f"  network: {', '.join([*places[:_PLACES], *more])}" if places else ""


def _routed_line(event: Routed) -> tuple[str, str]:
    """`  · route: qwen3:8b -> checks -> claude  (...)`, where there was a choice; or who takes over."""
    if event.after and event.plan:
        return ("note", f"  → {event.plan[0]} takes over from {event.after}: {first_line(event.why)}")
    if event.by != "router" or len(event.table) < 2 > len(event.plan):
        return ("", "")
    why = f"  ({first_line(event.why)})" if event.why else ""
    return ("tool", f"  · route: {' -> checks -> '.join(event.plan)}{why}")


def _delegated_line(event: Delegated) -> tuple[str, str]:
    """`  ↘ claude gave qwen3 "rename the flag": done, verified: `pytest` ...."""
    end = f"done, verified: {event.verified}" if event.ok else "not done, rolled back"
    cost = f", {dollars(event.usd)}" if event.usd else ""
    took = f"{event.seconds:.0f} s, {event.usage.output:,} tokens{cost}"
    return (
        "tool",
        f'  ↘ {event.by} gave {event.to} "{shortened(first_line(event.task), 60)}": {end} ({took})',
    )


def _judged_line(event: Judged) -> tuple[str, str]:
    gate = name_check(event.gate)
    if event.skipped:
        static = f"{gate} " if gate in _STATIC else ""
        return ("tool", f"  - {static}not checked{_reason(event.feedback)}")
    if not event.ran:
        return ("", "") if event.ok else ("bad", f"  ✗ {gate}{_reason(first_line(event.feedback))}")
    ran = event.ran[-1]
    if event.evidence and event.evidence.after and event.evidence.after.counted:
        return _counted_line(event, event.evidence)
    if event.when == "before" and event.figures.get("tests"):
        return (
            "tool",
            f"  · before the change: {_standing(event.figures)} ({gate}, {ran.seconds:.1f} s)",
        )
    passes, fails = ("pass", "fail") if gate in _PLURAL else ("passes", "fails")
    code = f" (exit {ran.code})" if ran.code else ""  # a gate may see more than the exit code
    ended = "timed out" if ran.timed_out else f"{fails}{code}"
    how = passes if event.ok else ended
    if event.when == "before":
        return ("tool", f"  · before the change {gate} {how}")
    fault = f"\n      {first_line(event.feedback)}" if event.feedback else ""
    if event.ok:
        if event.evidence and event.evidence.reason in ("same_failure", "out_of_time"):
            was = event.evidence.before
            same = " as before the change" if was and was.timed_out == ran.timed_out else ""
            return ("tool", f"  · {gate} {ended}{same}  {ran.seconds:.1f} s{fault}")
        return ("good", f"  ✓ {gate} {how}  {ran.seconds:.1f} s")
    return ("bad", f"  ✗ {gate} {how}  {ran.seconds:.1f} s{fault}")


def _reason(why: str) -> str:
    """A reason behind a colon, where there is one."""
    return f": {why}" if why.strip() else ""


def _counted_line(event: Judged, evidence: CheckEvidence) -> tuple[str, str]:
    """`  ✓ pytest -q: 12 pass, 1 fails as before  8.2 s`, or what is broken now."""
    gate, after = name_check(event.gate), evidence.after or Standing()
    old = f", {evidence.failing.count} failing as before" if evidence.failing else ""
    fixed = f", {evidence.fixed.count} fixed" if evidence.fixed else ""
    flaky = f", {evidence.flaky.count} flaky" if evidence.flaky else ""
    why = first_line(event.feedback)
    if evidence.reason == "out_of_time":
        return (
            "note",
            f"  ! {gate}: timed out, {after.passed:,} pass until then{old}  {after.seconds:.1f} s",
        )
    if event.ok and evidence.reason == "disputed":
        first = f" ({evidence.broken.first[0]})" if evidence.broken.first else ""
        stands = f"{evidence.broken.count:,} broken, which the model insists on{first}"
        return ("note", f"  ! {gate}: {stands}{old}{flaky}  {after.seconds:.1f} s")
    if event.ok:
        line = f"{gate}: {after.passed:,} pass{fixed}{old}{flaky}  {after.seconds:.1f} s"
        return ("tool", f"  · {line}\n      {why}") if evidence.reason == "unmet" else ("good", f"  ✓ {line}")
    broken = f"{evidence.broken.count:,} broken" if evidence.broken else "not there yet"
    return ("bad", f"  ✗ {gate}: {broken}{old}{flaky}  {after.seconds:.1f} s\n      {why}")


def _standing(figures: Mapping[str, float]) -> str:
    """`12 pass, 1 fails`, by a gate's own figures."""
    tests, failed, skipped = (int(figures.get(key, 0)) for key in ("tests", "failed", "skipped"))
    return f"{tests - failed - skipped:,} pass" + (f", {failed:,} fail" if failed else "")


def findings_text(findings: Sequence[Finding]) -> str:
    """Findings of a review, one line each; the rest is counted."""
    lines = [
        f"  ! {each.path}:{each.line}: {_in_a_line(each.text)} ({each.by})" for each in findings[:_FINDINGS]
    ]
    more = len(findings) - _FINDINGS
    return "\n".join([*lines, f"    and {count(more, 'more finding')}"] if more > 0 else lines)


def plan_text(plan: Plan) -> str:
    """A plan, numbered, with what it takes for granted and touches."""
    lines = ["Plan"] + [f"  {n}. {_in_a_line(step)}" for n, step in enumerate(plan.steps, 1)]
    named = (
        ("Assumes", plan.assumptions),
        ("Reads", [word_planned(plan, path, "not found") for path in plan.read]),
        ("Changes", [word_planned(plan, path, "new") for path in plan.modify]),
        ("Open", plan.questions),
        ("Confidence", (plan.confidence,) if plan.confidence else ()),
    )
    for title, items in named:
        if items:
            lines.append(f"  {title}: " + "; ".join(map(_in_a_line, items)))
    return "\n".join(lines)


def word_planned(plan: Plan, path: str, absent: str) -> str:
    """A path of a plan, with what it means that it does not exist."""
    return f"{path} ({absent})" if path in plan.absent else path


def tasks_text(tasks: tuple[BuildTask, ...]) -> str:
    """The tasks of a build, with what holds when each is done."""
    lines = ["Tasks"]
    for task in tasks:
        after = f"  (after {', '.join(task.after)})" if task.after else ""
        lines.append(f"  {task.id}. {_in_a_line(task.title)}{after}")
        lines += [f"     - {_in_a_line(criterion)}" for criterion in task.criteria]
    return "\n".join(lines)


def _advanced_line(event: Advanced) -> tuple[str, str]:
    """The line of a build's finished step; the gates have lines of their own."""
    style, words = _STEPS.get((event.step, event.outcome), ("", ""))
    why = first_line(event.text)
    return (style, words.format(task=event.task, why=why)) if words else ("", "")


def todo_text(items: tuple[TodoItem, ...]) -> str:
    """The TODO list, one line an item."""
    return "\n".join(f"  {_MARKS[item.state]} {_in_a_line(item.text)}" for item in items)


def _in_a_line(text: str) -> str:
    """A model's words without line breaks, behind which others could look like kith's own."""
    return " ".join(text.split())


# Questions and answers in words, the same on every surface.

_ANSWERS: Final = {
    "all": "Everything was kept",
    "none": "Nothing was kept",
    "some": "A part was kept",
    "planned": "What was planned was kept",
    "edit": "It was edited",
    "revise": "Something else was asked for",
    "back": "Back to the whole change",
    "yes": "Yes",
    "no": "No",
    "always": "Yes, always",
}


def question_text(question: Question) -> str:
    """A question in one piece: warnings, then the question, then the command that it is about."""
    target = f": {question.target.text}" if question.target and question.target.text else ""
    return "\n".join((*question.warnings, f"{with_asker(question)}{target}"))


def with_asker(question: Question) -> str:
    """The words of a question with the model that asks: `Allow bash to reach a.org (asked by qwen3:8b)`."""
    return f"{question.text} (asked by {question.asker})" if question.asker else question.text


def word_answer(answer: Answer) -> str:
    """Word the choice of an answer."""
    return _ANSWERS.get(answer.choice, answer.choice)


def always_words(question: Question) -> str:
    """The pattern, word for word and visible; "" for a question that has none."""
    if not question.pattern or "always" not in question.choices:
        return ""
    if question.effect == "call":
        server, _, tool = bare_call(question.pattern).partition("/")
        named = f"{printable(tool)} of {printable(server)}"
        return f"Always: in this project, {named}, with any arguments, until its description changes"
    if question.effect == "web":
        return f"Always: in this project, the model may read pages of {printable(' '.join(question.hosts))}"
    if question.hosts:
        return f"Always: in this project, sandboxed commands may reach {printable(' '.join(question.hosts))}"
    target = question.target or CallTarget()
    command = target.text if target.hosts else question.pattern
    return f"Always: in this project, exactly this command: {printable(command)}"
