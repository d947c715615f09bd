"""A session as a page: whatever happens, patches and a fresh fold give the same."""

import re
from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from paper import Node, carry_out, read_page

from kith.core.codec import encode_event
from kith.core.decisions import Claimed, Concluded, Routed
from kith.core.events import (
    Answered,
    Applied,
    Asked,
    Called,
    Compacted,
    Delta,
    Engaged,
    Event,
    Judged,
    Notice,
    Planned,
    Progress,
    Proposed,
    RunEnded,
    RunStarted,
    Said,
    Stepped,
    TodoSet,
    ToolBegan,
    ToolEnded,
    is_transient,
)
from kith.core.values import (
    Answer,
    CacheUse,
    Change,
    Message,
    Plan,
    Question,
    Ran,
    Text,
    Thinking,
    Timing,
    TodoItem,
    ToolCall,
    ToolResult,
    Usage,
    say,
)
from kith.edits import summarise
from kith.faces.html.scene import Scene
from kith.faces.lines import printable
from kith.memory.live import Position, Seen

Told = tuple[Event, tuple[str, ...]]
PATH = ("attempt 1",)
MODEL = "ollama/qwen3:8b"


def seen(events: Sequence[Told]) -> list[Seen]:
    """Events as a watch finds them."""
    found, seq, byte = [], 0, 0
    for event, path in events:
        seq, byte = (seq, byte + 10) if is_transient(event) else (seq + 1, 0)
        at = 0.0 if byte else 1_000.0 + seq
        found.append(Seen(Position(seq, byte), at, path, type(event).__name__, encode_event(event)))
    return found


def page_of(scene: Scene) -> Node:
    """All that the scene shows, but for its position."""
    html = scene.log_html(None) + scene.status_html() + scene.panels_html(None)
    return read_page(html)


def turn(words: str, number: int) -> list[Told]:
    """A model thinks, says something and runs a command."""
    call = ToolCall(f"call{number}", "bash", {"command": words, "seconds": 3})
    usage, timing = Usage(900, 20, 800), Timing(prefill_s=0.5, decode_s=2.0, total_s=2.6)
    parts = (Thinking(words), Text(f"say {words}"), call)
    ran = Ran(words, 1, words, 0.4, cut=7)
    return [
        (Progress(words, 10, 20), PATH),
        (Delta(words, "thinking"), PATH),
        *((Delta(piece), PATH) for piece in re.split("(?<= )", f"say {words}") if piece),
        (Delta(words, "tool"), PATH),
        (Called(MODEL, "edit", 1, usage, timing, "tools", window=8_192, cache=CacheUse(100, 80)), PATH),
        (Said("task", Message("assistant", parts, MODEL)), PATH),
        (ToolBegan(call.id, "bash", "exec", words), PATH),
        (ToolEnded(call.id, "bash", False, 0.4, words, ran), PATH),
        (Said("task", Message("tool", (ToolResult(call.id, words, False),), "kith")), PATH),
    ]


def change(words: str) -> list[Told]:
    """A change, what a gate says of it, and the person; the file is called by the words, as far as can be."""
    possible = (char for char in words if char not in "\0/\n" and not "\ud800" <= char <= "\udfff")
    name = "".join(possible)[:80] or "name"
    before = words.encode("utf-8", "surrogatepass")
    files = summarise((Change(f"{name}.py", before, before + b"\nmore\n"),))
    question = Question("q1", "change", words, ("all", "none", "some"), files=files)
    return [
        (Proposed(files), PATH),
        (Judged("tests", False, 1, words, (Ran(words, 1, words, 2.0),)), PATH),
        (Judged("lint", True, 1), PATH),
        (Asked(question), ()),
        (Answered("q1", Answer("revise", words, by=words)), ()),
        (Applied("abc123", files), ()),
    ]


def council(words: str) -> list[Told]:
    """Two models confer."""
    opening = f'{{"kind": "review", "question": "{MODEL}?", "members": {{"A": "a", "B": "b"}}}}'
    return [
        (Said("council/c1", say(opening, "kith")), ()),
        (Said("council/c1/A", Message("assistant", (Text(words),), "a")), ("A",)),
        (Claimed("c1", "1", "A", "B", words, words, "refuted", words), ()),
        (Concluded("c1", "review", "A", "evidence", words, {"A": "a", "B": "b"}), ()),
    ]


def others(words: str) -> list[Told]:
    """What else happens."""
    question = Question("q2", "tool", f"Allow bash: {words}", ("yes", "no"))
    return [
        (Engaged(words or "m", words, window=8_192), ()),
        (Routed("fix", (MODEL, words), words), ()),
        (Stepped("attempt 1", "began"), PATH),
        (TodoSet((TodoItem(words, "active"), TodoItem("b", "done"))), PATH),
        (Planned(Plan((words,), (words,), (words,), (words,))), ("plan",)),
        (Compacted("task", 3, words, 900, 300), PATH),
        (Notice(words, "warning"), PATH),
        (Said("task", say(words, "person")), PATH),
        (Said("task", say(words, "tests")), PATH),
        (Asked(question), PATH),
        (Answered("q2", Answer("yes", by="page")), PATH),
        (Called(MODEL, "notes", 1, stop="error", error=words), PATH),
        (Stepped("attempt 1", "ended", 3.0), PATH),
    ]


PARTS: tuple[Callable[[str], list[Told]], ...] = (lambda words: turn(words, 1), change, council, others)


def session(words: str) -> list[Told]:
    """One task in which the same words come through every channel."""
    started = RunStarted(words, "/project", MODEL, "0.1.0")
    said = Said("task", say(f"# Task\n{words}"))
    inside = [told for part in PARTS for told in part(words)]
    return [(started, ()), (said, ()), *inside, (RunEnded("done", words), ())]


WORDS = st.one_of(
    st.text(max_size=60),
    st.text("`~*_[]()<>#-|!\\&;:/ \nabx1\u202e\u200b\x1b", max_size=60),
    st.sampled_from(
        ["```py\nx = 1\n\ny\n```\n\nafter\n", "a\n\nb\n\n~~~\n```\n\n", "{not: json", "x" * 5_000]
    ),
)
DELTAS = st.lists(st.builds(Delta, WORDS, st.sampled_from(["text", "text", "thinking", "tool"])), max_size=8)


@st.composite
def stories(draw: st.DrawFn) -> list[Told]:
    """Some of all this, in any order, several times."""
    told: list[Told] = [(RunStarted("a task", "/project", MODEL, "0.1.0"), ())]
    for number in range(draw(st.integers(1, 4))):
        part = draw(st.sampled_from([lambda words, n=number: turn(words, n), *PARTS[1:]]))
        told += [(delta, PATH) for delta in draw(DELTAS)] + part(draw(WORDS))
    return told if draw(st.booleans()) else [*told, (RunEnded("done", draw(WORDS)), ())]


@settings(deadline=None)
@given(stories(), st.data())
def test_patches_give_the_page_that_a_fold_gives(told: list[Told], data: st.DataObject) -> None:
    events = seen(told)
    begin = data.draw(st.integers(0, len(events)))
    scene = Scene("s")
    scene.skip(events[:begin])
    page = page_of(scene)
    for event in events[begin:]:
        carry_out(page, scene.take(event))
    assert page == page_of(scene)


@settings(deadline=None)
@given(stories(), st.data())
def test_a_page_that_was_away_joins_again_anywhere(told: list[Told], data: st.DataObject) -> None:
    events = seen(told)
    left = data.draw(st.integers(0, len(events)))
    first = Scene("s")
    page = page_of(first)
    for event in events[:left]:
        carry_out(page, first.take(event))
    # What is only shown is gone, unless nothing was stored since: so it is for a server that begins anew.
    again = Scene("s")
    last = max((n for n, event in enumerate(events[:left]) if event.stored), default=-1)
    again.skip([event for n, event in enumerate(events[:left]) if event.stored or n > last])
    carry_out(page, again.rejoin())
    for event in events[left:]:
        carry_out(page, again.take(event))
    assert page == page_of(again)


def test_earlier_items_come_when_they_are_asked_for() -> None:
    scene = Scene("s")
    scene.skip(seen([told for number in range(40) for told in turn("look", number)]))
    page = read_page(scene.log_html(10) + scene.panels_html(10))
    doors = 0
    while door := next((node for node in page if "data-before" in node.attributes), None):
        carry_out(page, scene.earlier(str(door.attributes["data-before"]), 7))
        doors += 1
    assert doors == 5
    assert page == read_page(scene.log_html(None) + scene.panels_html(None))


# --- nothing foreign acts, hides or is lost ----------------------------------------------------

TAGS = {
    *("main", "aside", "section", "div", "header", "h1", "h2", "h3", "h4", "h5", "h6", "p", "ol", "ul", "li"),
    *("dl", "dt", "dd", "details", "summary", "span", "a", "code", "pre", "time", "meter", "progress", "svg"),
    *("rect", "form", "button", "input", "label", "textarea", "noscript", "kbd", "table", "thead", "tbody"),
    *("tr", "td", "th", "del", "ins", "strong", "em", "s", "br", "hr", "blockquote", "i", "page", "article"),
}
HOSTILE = (
    "safe\x1b[8m; rm -rf ~\x1b[28m",
    "\x1b]8;;http://evil.example\x07click\x1b]8;;\x07",
    "\x1b[6n\x1b#8\x0e\x0f\x9b\x7f",
    "\u202eexe.txt\u202c \u2066x\u2069 \u200b\u200d\ufeff \U000e0061\U000e0062 \ud83d",
    "+++ b/other\n@@ -1 +1 @@\n+evil",
    "\r\n\r\n" * 40 + "rm",
    "a" + " " * 3_000 + "rm -rf ~",
    "</pre><script>fetch('/x')</script>",
    "</script><!-- <![CDATA[ <?x <!doctype",
    "\" onmouseover=alert(1) x='<svg onload=alert(1)>",
    "[x](javascript:alert(1)) ![y](http://evil.example/p.png) <a href=javascript:x>z</a> [k](data:text,x)",
    "&lt;img src=x&gt; &#x202e;gnp &zwj; &#x3c;script&#x3e;",
    "</textarea></li></ol></main><form action=http://evil.example>",
)


def check(page: Node) -> None:
    """Elements of ours, attributes that cannot act, texts in which nothing hides."""
    for node in page:
        assert node.tag in TAGS, node
        for name, value in node.attributes.items():
            assert not name.startswith("on") and name not in ("style", "src", "action", "srcdoc"), node
            assert value is None or printable(value) == value
            if name == "id":
                assert re.fullmatch(r"[a-z][a-z0-9-]*", value or ""), node
            if name == "href":
                assert re.match(r"#e\d|/sessions/s/|\?all|https?://|mailto:", value or ""), node
        for child in node.children:
            assert isinstance(child, Node) or printable(child) == child


@pytest.mark.parametrize("live", [True, False])
@pytest.mark.parametrize("words", HOSTILE)
def test_what_is_hostile_stays_text_in_every_channel(words: str, live: bool) -> None:
    scene = Scene("s", live=live)
    for event in seen(session(words)):
        for patch in scene.take(event):
            check(read_page(patch.html)) if patch.op != "text" else None
            assert printable(patch.html) == patch.html
    page = page_of(scene)
    check(page)
    assert "evil.example/p.png" not in "".join(node.attributes.get("src") or "" for node in page)


@settings(deadline=None)
@given(st.text(st.characters(exclude_characters="\n\0"), min_size=1, max_size=60))
def test_the_skeleton_does_not_depend_on_what_is_said(words: str) -> None:
    calm = Scene("s")
    calm.skip(seen(session("x" * len(words))))
    scene = Scene("s")
    scene.skip(seen(session(words)))
    found = page_of(scene)
    check(found)
    if words.strip() and "  " not in words:
        assert _bones(found) == _bones(page_of(calm))


def _bones(page: Node) -> object:
    """The skeleton, without what Markdown and the pieces of a line are made of."""
    for node in page:
        if {"prose", "rows", "diff"} & set((node.attributes.get("class") or "").split()):
            node.children = []
    return page.skeleton()


@pytest.mark.parametrize("live", [True, False])
def test_a_huge_output_is_cut_with_its_number_and_found_whole(live: bool) -> None:
    line = "x" * 199_000 + "the end"
    ran = Ran("cat big", 0, line, 0.1)
    events: list[Told] = [
        (ToolBegan("c", "bash", "exec", "cat big"), ()),
        (ToolEnded("c", "bash", True, 0.1, "", ran), ()),
    ]
    scene = Scene("s", live=live)
    scene.skip(seen(events))
    html = scene.log_html()
    whole = scene.item("e1")
    assert whole and line in whole and (line in html) is not live
    if live:
        assert len(html) < 20_000 and html.endswith("</section>")
        cut = read_page(html).of_class("cut")[0]
        assert cut.text.startswith(f"[{len(line) - 12_000:,} characters are not shown here]")
        assert [node.attributes["href"] for node in cut if node.tag == "a"] == ["/sessions/s/items/e1"]
        assert "the end" in html


def test_what_was_not_kept_of_an_output_is_counted() -> None:
    ran = Ran("make", 0, "x\n", 0.1, cut=1_234)
    scene = Scene("s")
    scene.skip(seen([(ToolEnded("c", "bash", True, 0.1, "", ran), ())]))
    assert "1,234 bytes were not kept" in read_page(scene.log_html()).text


def test_a_question_about_a_command_shows_all_of_it() -> None:
    command = "echo " + "a" * 3_000 + " && rm -rf ~"
    question = Question("q", "tool", f"Allow bash: {command}", ("yes", "no"))
    scene = Scene("s")
    scene.skip(seen([(Asked(question), ())]))
    page = read_page(scene.log_html())
    shown = [node for node in page if node.attributes.get("id") == "question"]
    assert "hidden" not in shown[0].attributes and command in shown[0].text


# --- what it says ------------------------------------------------------------------------------


def texts(scene: Scene, id: str) -> str:
    return next(node.text for node in page_of(scene) if node.attributes.get("id") == id)


def test_a_step_tells_who_thought_what_did_what_and_what_it_took() -> None:
    scene = Scene("s")
    scene.skip(seen([(RunStarted("look", "/p", MODEL, ""), ()), *turn("ls -l", 1)]))
    page = page_of(scene)
    step = page.of_class("step")[0]
    for words in (
        MODEL,
        "2.6 s",
        "900 tokens read (800 cached)",
        "20 written",
        "say ls -l",
        "exit 1",
        "0.4 s",
    ):
        assert words in step.text
    assert texts(scene, "meter").count("200 tokens/s") == 1, "100 computed tokens in half a second"
    assert "920 of 8,192" in texts(scene, "meter")
    bars = [node.attributes["aria-label"] for node in page if "title" in node.attributes]
    assert bars == ["Step 1: 2.9 s (reading 0.5 s, writing 2.0 s, tools 0.4 s)"]


def test_the_receipt_comes_with_the_end_and_tells_what_was_seen() -> None:
    scene = Scene("s")
    events = seen(session("words"))
    scene.skip(events[:-1])
    assert texts(scene, "receipt") == ""
    scene.skip(events[-1:])
    receipt = texts(scene, "receipt")
    for told in (
        "Done",
        "words.py",
        "1 file changed",
        "kith undo abc123",
        "tests: failed",
        "exit 1",
        "words",
    ):
        assert told in receipt
    scene.skip(seen([*session("words"), (RunStarted("next", "/p", MODEL, ""), ())])[-1:])
    assert texts(scene, "receipt") == ""


def test_a_block_of_a_reply_is_markdown_as_soon_as_it_is_whole() -> None:
    scene = Scene("s")
    pieces = "First **one**.\n\nThen\n```py\nx\n\ny\n```\nlast"
    scene.skip(seen([(Delta(piece), PATH) for piece in pieces]))
    draft = page_of(scene).of_class("draft")[0]
    prose = draft.of_class("prose")[0]
    assert [node.text for node in prose if node.tag == "strong"] == ["one"]
    assert [node.text for node in prose if node.tag == "code"] == ["x\n\ny\n"]
    assert draft.of_class("tail")[0].text == "last"


def test_an_event_that_nobody_can_read_is_said_and_harms_no_other() -> None:
    events = seen([(Notice("before"), ()), (Notice("between"), ()), (Notice("after"), ())])
    events[1] = replace(events[1], kind="Unheard")
    scene = Scene("s")
    scene.skip(events)
    notes = [node.text for node in page_of(scene).of_class("note")]
    assert notes == ["· before", "! An event of kind Unheard cannot be read.", "· after"]
