"""Items of a session as HTML: steps of models, words of people, verdicts, changes, questions, notes."""

import json
from collections.abc import Iterable, Sequence
from textwrap import dedent
from typing import Any, Final

from kith.core.events import Called, Notice, RunEnded, ToolEnded
from kith.core.values import FileChange, Message, Ran, Text, Thinking, ToolCall
from kith.features.web.html.diff import diff_html
from kith.features.web.html.markdown import render_markdown
from kith.features.web.html.outputs import clipped, output_html
from kith.features.web.html.questions import answered_html, plan_html
from kith.features.web.html.receipt import took
from kith.features.web.part import web_parts
from kith.memory.applied import short_id
from kith.view.items import (
    AppliedChange,
    AskedQuestion,
    ClosingWords,
    CouncilTalk,
    GateVerdict,
    Item,
    ModelStep,
    ModelTold,
    Note,
    PersonSpoke,
    ProposedChange,
    RunResult,
    TaskBegun,
    TaskList,
    ToolUse,
    WorkPart,
    WorkPlan,
)
from kith.view.markup import NOTHING, Html, element, joined
from kith.view.wording import (
    fact_line,
    note_line,
    question_text,
    tasks_text,
    word_applied,
    word_exit,
    word_result,
    word_size,
    word_verdict,
)

Parts = Iterable[str]
_CLASSES: Final = {
    TaskBegun: "task",
    PersonSpoke: "words",
    ModelTold: "letter",
    WorkPart: "part",
    GateVerdict: "verdict",
    ProposedChange: "change",
    AppliedChange: "change",
    WorkPlan: "plan",
    TaskList: "plan",
    AskedQuestion: "question",
    ClosingWords: "answer",
    CouncilTalk: "council",
}
_STYLES: Final = {"note": "warn", "bad": "bad", "good": "good"}


def item_html(item: Item, whole: str | None = None) -> Html:
    """An item of the log. `whole` is the address of all that this session holds; None: the page is all."""
    if isinstance(item, ModelStep):
        return step_html(item, whole)
    if isinstance(item, ToolUse):
        return use_html(item, whole)
    kind = _CLASSES.get(type(item), "note")
    if isinstance(item, RunResult):
        kind = "over" if item.said else "end"
    inner = joined(_said(item, whole))
    return element("li", inner, id=id_of(item), class_=kind, hidden=not inner)


def _said(item: Item, whole: str | None) -> Parts:
    """Draw words, questions and the end; `_done` draws the rest."""
    match item:
        case TaskBegun():
            return _task(item, whole)
        case PersonSpoke(text=text):
            return (_YOU, element("div", text, class_="plain words"))
        case ModelTold():
            return _letter(item, whole)
        case ClosingWords(message=message):
            return (message_html(message),)
        case AskedQuestion(question=question, answer=None):
            return (element("p", question_text(question), class_="plain"),)
        case AskedQuestion(question=question, answer=answer) if answer:
            return (answered_html(question, answer),)
        case RunResult():
            return _end(item, whole)
        case CouncilTalk(events=events):
            drawn = next((each.items["council"] for each in web_parts() if "council" in each.items), None)
            return drawn(events) if drawn else ()
        case _:
            return _done(item, whole)


def _done(item: Item, whole: str | None) -> Parts:
    match item:
        case WorkPart():
            return _part(item)
        case GateVerdict():
            return _verdict(item, whole)
        case ProposedChange():
            return _proposed(item)
        case AppliedChange():
            return _applied(item)
        case WorkPlan(plan=plan):
            return (element("h3", "Plan"), plan_html(plan))
        case TaskList(tasks=tasks):
            return (element("div", tasks_text(tasks), class_="plain"),)
        case Note():
            return _note(item)
        case _:
            return ()


_YOU: Final = element("header", element("span", "You", class_="who"))


def _task(task: TaskBegun, whole: str | None) -> Parts:
    """The person's task, and all that the model was given with it."""
    yield from (_YOU, element("div", task.words, class_="plain words"))
    if task.given and task.given.text.strip() != task.words.strip():
        yield output_html(task.given.text, "What the model was given", whole)


def _letter(told: ModelTold, whole: str | None) -> Parts:
    """A letter of kith, or of a gate, to the model."""
    who, text = told.message.author or "kith", told.message.text
    yield element("p", element("span", who, class_="who"), " → the model", class_="dim")
    yield output_html(text, "Letter", whole, folded="\n" in text.strip())


def _part(part: WorkPart) -> Parts:
    """A part of the work begins; when it has ended, also how long it took."""
    step = part.step
    yield element("h2", step.name[:1].upper() + step.name[1:])
    if step.state != "began":
        failed = " (stopped)" if step.state == "failed" else ""
        yield element("span", f"{took(step.seconds)}{failed}", class_="took")


def _verdict(verdict: GateVerdict, whole: str | None) -> Parts:
    """A gate's yes or no, with its command."""
    judged = verdict.judged
    mark, state = ("–", "dim") if judged.skipped else ("✓", "good") if judged.ok else ("✗", "bad")
    before = " before the change" if judged.when == "before" else ""
    seconds = sum(ran.seconds for ran in judged.ran)
    line = (
        element("span", f"{mark} ", class_=state),
        element("span", f"{judged.gate}{before}", class_="gate"),
        element("span", f" {word_verdict(judged)}", class_=state),
        element("span", f"{seconds:.1f} s", class_="took") if seconds >= 0.05 else NOTHING,
    )
    told = element("div", judged.feedback, class_="plain") if judged.feedback else NOTHING
    inner = joined((told, *(ran_html(ran, whole) for ran in judged.ran)))
    if inner:
        yield element("details", element("summary", *line), inner, id=f"{id_of(verdict)}-d")
    else:
        yield element("p", *line)


def _proposed(change: ProposedChange) -> Parts:
    """A proposed change."""
    if change.files:
        yield _diff(change, change.files, f"Change: {word_size(change.files)}")
    else:
        yield element("p", "No change so far.", class_="dim")


def _applied(change: AppliedChange) -> Parts:
    """A change as it came into the tree."""
    applied = change.applied
    head = element("span", f"{word_applied(applied)}: ", class_="good")
    undo = element("code", f"kith undo {short_id(applied.change_id)}")
    yield element("p", head, word_size(applied.files), ". Undo: ", undo)
    if applied.files and not change.as_proposed:
        yield _diff(change, applied.files, "Applied change")


def _diff(item: Item, files: Sequence[FileChange], name: str) -> Html:
    return element("details", element("summary", name), diff_html(files), id=f"{id_of(item)}-d")


def _end(result: RunResult, whole: str | None) -> Parts:
    """The end of a task; its words, unless they have been said already."""
    ended = result.ended
    yield element("h2", word_result(ended.status), class_="good" if ended.status == "done" else "bad")
    if ended.text and not result.said:
        yield _last_words(ended)
    if ended.status == "unavailable" and whole:
        models = element("a", "Models", href="/models")
        yield element("p", models, " lists what this machine can run.", class_="dim")


def _last_words(ended: RunEnded) -> Html:
    """A model's last words are Markdown; kith's own, of what went wrong, stand in lines."""
    if ended.status == "done":
        return element("div", render_markdown(ended.text), class_="prose")
    return element("div", ended.text, class_="plain")


def _note(note: Note) -> Parts:
    """One calm line, as the terminal says it; what the terminal leaves out is told here too."""
    if isinstance(note.event, Notice) and note.event.topic == "answered":
        return  # the question itself says so
    if fact := fact_line(note.event):
        yield element("p", fact, class_="dim")
        return
    style, line = note_line(note.event)
    if line:
        yield element("p", dedent(line).strip(), class_=_STYLES.get(style, "dim"))


def step_html(step: ModelStep, whole: str | None) -> Html:
    """One turn of a model: the figures of the call, thoughts, words, and the tools that it used."""
    called, message, id = step.called, step.message, id_of(step)
    who = message.author if message and message.author else called.model if called else ""
    head = element(
        "header",
        element("a", f"{step.number}", href=f"#{id}", class_="number", aria_label=f"Step {step.number}"),
        element("span", who, class_="who"),
        _figures(called) if called else NOTHING,
    )
    words = message_html(message) if message else _wordless(called)
    uses = (use_html(each, whole) for each in step.tools)
    inside = element("ol", *uses, class_="actions") if step.tools else NOTHING
    return element("li", head, words, inside, id=id, class_="step")


def id_of(item: Item) -> str:
    """The id of an item's element."""
    return f"e{item.key}"


def message_html(message: Message) -> Html:
    """Thoughts, folded, and words, as Markdown; a reply that was cut off says so."""
    thoughts = "\n\n".join(part.text for part in message.parts if isinstance(part, Thinking) and part.text)
    words = "\n\n".join(part.text for part in message.parts if isinstance(part, Text) and part.text)
    cut = NOTHING if message.complete else element("p", "[cut off here]", class_="cut")
    return joined((thinking_html(thoughts), words_html(words), cut))


def words_html(words: str) -> Html:
    """A model's words; data in JSON, which is meant for kith, is folded."""
    if not words.strip():
        return NOTHING
    if words.lstrip()[:1] in ("{", "["):
        return output_html(words, "What it wrote", folded=True)
    return element("div", render_markdown(words), class_="prose")


def thinking_html(thoughts: str) -> Html:
    if not thoughts:
        return NOTHING
    summary = element("summary", f"Thinking: {len(thoughts):,} characters")
    return element("details", summary, element("div", thoughts, class_="plain"), class_="thinking")


def _wordless(called: Called | None) -> Html:
    """A call whose answer joined no conversation, or that failed."""
    if called is None:
        return NOTHING
    if called.stop == "error":
        return element("p", called.error or "It failed.", class_="bad")
    return element("p", f"asked for: {called.purpose}", class_="dim")


def _figures(called: Called) -> Html:
    """`4.2 s, 1,534 prompt tokens (1,439 cached), 58 output tokens`."""
    usage, parts = called.usage, [f"{called.timing.total_s:.1f} s"]
    if usage.input:
        known = f" ({usage.cached:,} cached)" if usage.cached else ""
        parts.append(f"{usage.input:,} prompt tokens{known}")
    if usage.output:
        parts.append(f"{usage.output:,} output tokens")
    parts += [f"attempt {called.attempt}"] if called.attempt > 1 else []
    slow = element("span", f" {called.slow}", class_="warn") if called.slow else NOTHING
    return element("span", ", ".join(parts), slow, class_="figures")


def use_html(use: ToolUse, whole: str | None) -> Html:
    """One tool that was used: what on, and what came of it; folded, with a line that says enough."""
    ended, id = use.ended, id_of(use)
    told = use.name in _SAID and bool(use.ok)  # its words are the next thing that is said
    named = ended is not None and ended.line.startswith(use.target)  # what came of it says what on
    line = (
        element("span", use.name, class_="tool"),
        NOTHING if told or named or not use.target else element("code", clipped(use.target), class_="target"),
        NOTHING if told else _outcome(ended),
        element("span", f"{ended.seconds:.1f} s", class_="took")
        if ended and ended.seconds >= 0.05
        else NOTHING,
    )
    inner = NOTHING if told else joined((_arguments(use.call), _observation(use, whole)))
    if inner:
        body = element("details", element("summary", *line), inner, id=f"{id}-d")
    else:
        body = element("div", *line, class_="summary")
    return element("li", body, id=id, class_=f"action {_STATES[use.ok]}{' told' if told else ''}")


_STATES: Final = {None: "running", True: "ok", False: "bad"}
_SAID: Final = ("done",)


def _outcome(ended: ToolEnded | None) -> Html:
    """`exit 1`, or the tool's own line."""
    if ended is None:
        return NOTHING
    if ended.ran is not None:
        return element("span", word_exit(ended.ran), class_="good" if ended.ran.code == 0 else "bad")
    return element("span", clipped(ended.line), class_="line") if ended.line else NOTHING


def _arguments(call: ToolCall | None) -> Html:
    """The arguments of a call, one row each, and what was wrong with them."""
    if call is None:
        return NOTHING
    rows = [
        joined((element("dt", name), element("dd", output_html(_as_text(value), name))))
        for name, value in call.args.items()
        if value not in ("", None)
    ]
    fault = element("p", call.fault, class_="bad") if call.fault else NOTHING
    return joined((element("dl", *rows, class_="arguments") if rows else NOTHING, fault))


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _observation(use: ToolUse, whole: str | None) -> Html:
    """The output of the command where one ran, else the answer to the model."""
    if use.ended and use.ended.ran:
        return ran_html(use.ended.ran, whole)
    return output_html(use.result.text, "Result", whole) if use.result else NOTHING


def ran_html(ran: Ran, whole: str | None) -> Html:
    """A command that ran: itself, and what it wrote."""
    command = element("pre", f"$ {ran.command}", class_="command")
    loose = NOTHING if ran.sandboxed else element("p", "ran outside of the sandbox", class_="warn")
    return joined((command, loose, output_html(ran.output, "Output", whole, ran.cut)))
