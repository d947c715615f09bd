"""A step of a model as HTML: what it thought and said, what it did, what came of it, and what that took."""

import json
from typing import Any, Final

from kith.core.events import Called, ToolEnded
from kith.core.values import Message, Ran, Text, Thinking, ToolCall
from kith.features.web.html.markdown import render_markdown
from kith.features.web.html.outputs import clipped, output_html
from kith.view.items import Item, ModelStep, ToolUse
from kith.view.markup import NOTHING, Html, element, joined
from kith.view.wording import word_exit


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
    """Thoughts, folded, and words, as Markdown; a reply that was cut says so."""
    thoughts = "\n\n".join(part.text for part in message.parts if isinstance(part, Thinking) and part.text)
    words = "\n\n".join(part.text for part in message.parts if isinstance(part, Text) and part.text)
    cut = NOTHING if message.complete else element("p", "[cut at the limit of tokens]", class_="cut")
    return joined((thinking_html(thoughts), words_html(words), cut))


def words_html(words: str) -> Html:
    """What a model said; data in JSON, which is meant for kith, is folded."""
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
    """`4.2 s, 1,534 tokens read (1,439 cached), 58 written`."""
    usage, parts = called.usage, [f"{called.timing.total_s:.1f} s"]
    if usage.input:
        known = f" ({usage.cached:,} cached)" if usage.cached else ""
        parts.append(f"{usage.input:,} tokens read{known}")
    if usage.output:
        parts.append(f"{usage.output:,} written")
    parts += [f"attempt {called.attempt}"] if called.attempt > 1 else []
    slow = element("span", f" {called.slow}", class_="warn") if called.slow else NOTHING
    return element("span", ", ".join(parts), slow, class_="figures")


def use_html(use: ToolUse, whole: str | None) -> Html:
    """One tool that was used: what on, and what came of it; folded, with a line that says enough."""
    ended, id = use.ended, id_of(use)
    told = use.name in _SAID and bool(use.ok)  # its words are the next thing that is said
    line = (
        element("span", use.name, class_="tool"),
        NOTHING if told or not use.target else element("code", clipped(use.target), class_="target"),
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
    """What the model gave the tool, one row each; what was wrong with it."""
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
    """What came out: the command's own output where one ran, else what the model was told."""
    if use.ended and use.ended.ran:
        return ran_html(use.ended.ran, whole)
    return output_html(use.result.text, "Result", whole) if use.result else NOTHING


def ran_html(ran: Ran, whole: str | None) -> Html:
    """A command that ran: itself, and what it wrote."""
    command = element("pre", f"$ {ran.command}", class_="command")
    loose = NOTHING if ran.sandboxed else element("p", "ran outside of the sandbox", class_="warn")
    return joined((command, loose, output_html(ran.output, "Output", whole, ran.cut)))
