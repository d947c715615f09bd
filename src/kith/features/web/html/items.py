"""What happened beside the steps of models, as HTML: words of people, verdicts, changes, plans, notes."""

from collections.abc import Callable, Iterable
from textwrap import dedent
from typing import Final

from kith.core.decisions import Coached, Compared, Routed
from kith.core.events import (
    Answered,
    Applied,
    Asked,
    Compacted,
    Engaged,
    Event,
    Judged,
    Locked,
    Named,
    Planned,
    Proposed,
    RunEnded,
    RunStarted,
    Said,
    Stepped,
    Tasked,
)
from kith.features.web.html.diff import diff_html
from kith.features.web.html.entries import Entry
from kith.features.web.html.markdown import render_markdown
from kith.features.web.html.meter import took
from kith.features.web.html.outputs import output_html
from kith.features.web.html.plan import plan_html
from kith.features.web.html.questions import answered_html
from kith.features.web.html.receipt import word_status
from kith.features.web.html.steps import action_html, message_html, ran_html, step_html
from kith.features.web.part import web_parts
from kith.memory.applied import short_id
from kith.terminal.questions import question_text
from kith.view.lines import count, line_of, tasks_text
from kith.view.markup import NOTHING, Html, element, joined

Parts = Iterable[str]


def entry_html(entry: Entry, whole: str | None = None) -> Html:
    """An item of the log. `whole` is the address of all that this session holds; None: the page is all."""
    if entry.kind == "step":
        return step_html(entry, whole)
    if entry.kind == "action":
        return action_html(entry, whole)
    drawn = next((each.items[entry.kind] for each in web_parts() if entry.kind in each.items), None)
    inner = joined(drawn(entry.events) if drawn else _TELL.get(entry.kind, _note)(entry, whole))
    return element("li", inner, id=entry.id, class_=entry.kind, hidden=not inner)


def _task(entry: Entry, whole: str | None) -> Parts:
    """What the person asked for, and all that the model was given with it."""
    started, said = entry.first(RunStarted), entry.first(Said)
    words = started.task if started else said.message.text if said else ""
    yield element("header", element("span", "You", class_="who"))
    yield element("div", words, class_="plain words")
    if said and started and said.message.text.strip() != words.strip():
        yield output_html(said.message.text, "What the model was given", whole)


def _words(entry: Entry, whole: str | None) -> Parts:
    """What the person said meanwhile."""
    said = entry.first(Said)
    yield element("header", element("span", "You", class_="who"))
    yield element("div", said.message.text if said else "", class_="plain words")


def _letter(entry: Entry, whole: str | None) -> Parts:
    """What kith, or a gate, told the model."""
    said = entry.first(Said)
    if said:
        who = said.message.author or "kith"
        yield element("p", element("span", who, class_="who"), " → the model", class_="dim")
        yield output_html(said.message.text, "Letter", whole, folded="\n" in said.message.text.strip())


def _part(entry: Entry, whole: str | None) -> Parts:
    """A part of the work begins; when it has ended, also how long it took."""
    first, last = entry.first(Stepped), list(entry.events)[-1]
    name = first.name if first else ""
    yield element("h2", name[:1].upper() + name[1:])
    if isinstance(last, Stepped) and last.state != "began":
        failed = " (stopped)" if last.state == "failed" else ""
        yield element("span", f"{took(last.seconds)}{failed}", class_="took")


def _verdict(entry: Entry, whole: str | None) -> Parts:
    """A gate's yes or no, with its command."""
    judged = entry.first(Judged)
    if judged is None:
        return
    mark, state, words = _verdict_words(judged)
    before = " before the change" if judged.when == "before" else ""
    seconds = sum(ran.seconds for ran in judged.ran)
    line = (
        element("span", f"{mark} ", class_=state),
        element("span", f"{judged.gate}{before}", class_="gate"),
        element("span", f" {words}", class_=state),
        element("span", f"{seconds:.1f} s", class_="took") if seconds >= 0.05 else NOTHING,
    )
    told = element("div", judged.feedback, class_="plain") if judged.feedback else NOTHING
    inner = joined((told, *(ran_html(ran, whole) for ran in judged.ran)))
    yield (
        element("details", element("summary", *line), inner, id=f"{entry.id}-d")
        if inner
        else element("p", *line)
    )


def _verdict_words(judged: Judged) -> tuple[str, str, str]:
    if judged.skipped:
        return "–", "dim", "was not checked"
    if judged.ok:
        return "✓", "good", "passed"
    if any(ran.timed_out for ran in judged.ran):
        return "✗", "bad", "timed out"
    return "✗", "bad", "failed"


def _change(entry: Entry, whole: str | None) -> Parts:
    """A change as it stands, or as it came into the tree."""
    proposed, applied = entry.first(Proposed), entry.first(Applied)
    files = proposed.files if proposed else applied.files if applied else ()
    added, removed = sum(file.added for file in files), sum(file.removed for file in files)
    words = f"{count(len(files), 'file')}, +{added} -{removed}"
    if applied:
        verb = "Taken back" if applied.undoes else "Applied"
        undo = (". To take it back: ", element("code", f"kith undo {short_id(applied.change_id)}"))
        yield element("p", element("span", f"{verb}: ", class_="good"), words, *undo)
    if files:
        name = f"Change: {words}" if proposed else "What was changed"
        yield element("details", element("summary", name), diff_html(files), id=f"{entry.id}-d")
    elif proposed:
        yield element("p", "No change so far.", class_="dim")


def _plan(entry: Entry, whole: str | None) -> Parts:
    """A plan, or the tasks of a build."""
    planned, tasked = entry.first(Planned), entry.first(Tasked)
    if planned:
        yield from (element("h3", "Plan"), plan_html(planned.plan))
    if tasked:
        yield element("div", tasks_text(tasked.tasks), class_="plain")


def _question(entry: Entry, whole: str | None) -> Parts:
    """What the person was asked, and what was answered."""
    asked, answered = entry.first(Asked), entry.first(Answered)
    if asked and answered:
        yield answered_html(asked.question, answered.answer)
    elif asked:
        yield element("p", question_text(asked.question), class_="plain")


def _answer(entry: Entry, whole: str | None) -> Parts:
    """The last word of a task."""
    said = entry.first(Said)
    yield message_html(said.message) if said else NOTHING


def _end(entry: Entry, whole: str | None) -> Parts:
    """How a task ended; its words, unless they have been said already."""
    ended = entry.first(RunEnded)
    if ended:
        yield element("h2", word_status(ended.status), class_="good" if ended.status == "done" else "bad")
        if ended.text and entry.kind == "end":
            yield _last_words(ended)
        if ended.status == "unavailable" and whole:
            models = element("a", "Models", href="/models")
            yield element("p", models, " tells which can be asked, and what fits this machine.", class_="dim")


def _last_words(ended: RunEnded) -> Html:
    """A model's last words are Markdown; kith's own, of what went wrong, stand in lines."""
    if ended.status == "done":
        return element("div", render_markdown(ended.text), class_="prose")
    return element("div", ended.text, class_="plain")


def _note(entry: Entry, whole: str | None) -> Parts:
    """One calm line, as the terminal says it; what the terminal leaves out is told here too."""
    told = ((joined(words), style) for words, style in map(_note_words, entry.events))
    yield from (element("p", words, class_=style or "dim") for words, style in told if words)


def _note_words(event: Event) -> tuple[Parts, str]:
    match event:
        case Engaged(model=model, server=server, window=window, cloud=cloud):
            where = "in the cloud" if cloud else f"at {server}" if server else "here"
            return [f"{model} {where}", f", window {window:,}" if window else ""], ""
        case Routed(plan=[_], by="person", after=""):
            return [], ""  # nobody chose but the person, and which model it is comes next
        case Routed(plan=plan, why=why, after="") if plan:
            return [f"asked: {', then '.join(plan)}", f" ({why})" if why else ""], ""
        case Named(title):
            return [f"From now on this is called: {title}"], ""
        case Compacted(before=before, after=after, upto=upto, summary=summary):
            how = f"{count(upto, 'message')} summed up" if summary else "without old results of tools"
            return [f"The conversation is sent shorter now: {before:,} → {after:,} tokens, {how}"], ""
        case Coached(model=model, state=state, why=why, kind=kind):
            return [f"A way to ask {model} ({kind}): {state}. {why}"], ""
        case Compared(strategy=strategy, task=task, before=before, after=after):
            was, became = (("solved" if each else "not solved") for each in (before, after))
            return [f"{task}: {was}, with {strategy} {became}"], ""
        case Locked(task=task, tests=tests):
            return [f"Locked: {count(len(tests), 'test')} of task {task}"], ""
        case _:
            style, line = line_of(event)
            return [dedent(line).strip()], _STYLES.get(style, "")


_STYLES: Final = {"note": "warn", "bad": "bad", "good": "good"}
_TELL: Final[dict[str, Callable[[Entry, str | None], Parts]]] = {
    "task": _task,
    "words": _words,
    "letter": _letter,
    "part": _part,
    "verdict": _verdict,
    "change": _change,
    "plan": _plan,
    "question": _question,
    "answer": _answer,
    "end": _end,
    "over": _end,
}
