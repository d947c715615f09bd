"""A session as a page: whatever happens, patches and a fresh fold give the same."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from kith.core.events import (
    Asked,
    Delta,
    Notice,
    RunStarted,
    ToolBegan,
    ToolEnded,
)
from kith.core.values import (
    Question,
    Ran,
)
from kith.features.web.html.scene import Scene
from kith.view.markup import Html
from kith.view.printing import printable
from paper import Node, carry_out, read_page
from played import MODEL, PATH, Told, seen, session, stories, turn
from sparing import first


def page_of(scene: Scene) -> Node:
    """All that the scene shows, but for its position."""
    html = scene.log_html(None) + scene.status_html() + scene.panels_html(None)
    return read_page(html)


@settings(deadline=None, max_examples=settings().max_examples // 3)  # each is a whole session
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


@pytest.mark.slow
@settings(deadline=None, max_examples=settings().max_examples // 3)  # each is a whole session
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


@pytest.mark.slow
@settings(deadline=None, max_examples=settings().max_examples // 3)  # each is a whole session
@given(stories(), st.data())
def test_several_events_at_once_give_the_same_page(told: list[Told], data: st.DataObject) -> None:
    events, scene = seen(told), Scene("s")
    page = page_of(scene)
    while events:
        number = data.draw(st.integers(1, len(events)))
        carry_out(page, scene.take_all(events[:number]))
        events = events[number:]
    assert page == page_of(scene)


@settings(deadline=None, max_examples=settings().max_examples // 3)  # each is a whole session
@given(stories(), st.data())
def test_a_copy_goes_on_as_the_scene_would_and_leaves_it_alone(told: list[Told], data: st.DataObject) -> None:
    events, scene, whole = seen(told), Scene("s"), Scene("s")
    begin = data.draw(st.integers(0, len(events)))
    scene.skip(events[:begin])
    before = page_of(scene)
    copied = scene.copied()
    copied.skip(events[begin:])
    whole.skip(events)
    assert page_of(copied) == page_of(whole) and page_of(scene) == before


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
EACH = tuple(pytest.param(words, marks=pytest.mark.slow) for words in HOSTILE)


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


@pytest.mark.parametrize("live", first([True, False]))
@pytest.mark.parametrize("words", ["\n\n".join(HOSTILE), *EACH])
def test_what_is_hostile_stays_text_in_every_channel(words: str, live: bool) -> None:
    scene = Scene("s", live=live)
    for event in seen(session(words)):
        for patch in scene.take(event):
            check(read_page(patch.html)) if patch.op != "text" else None
            assert printable(patch.html) == patch.html
    page = page_of(scene)
    check(page)
    assert "evil.example/p.png" not in "".join(node.attributes.get("src") or "" for node in page)


@settings(deadline=None, max_examples=settings().max_examples // 3)  # each is a whole session
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
        "900 prompt tokens (800 cached)",
        "20 output tokens",
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


def test_what_cannot_be_drawn_says_so_in_its_place_and_ends_nothing(
    capsys: pytest.CaptureFixture[str],
) -> None:
    def fail() -> Html:
        raise RuntimeError("a panel with a bug")

    scene = Scene("s1", build=fail)
    events = [*session("Build it"), *turn("I look.", 1)]
    patches = [patch for each in seen(events) for patch in scene.take(each)]
    assert {patch.html for patch in patches if patch.target == "build"} == {BUG}
    assert "I look." in texts(scene, "log") and BUG in scene.panels_html()
    assert capsys.readouterr().err.count("RuntimeError: a panel") == 1, "told once, however often it is drawn"


BUG = '<div id="build" class="bad">This cannot be shown (a bug in kith).</div>'


def test_an_event_that_makes_no_sense_is_a_line_and_the_next_ones_are_shown() -> None:
    scene, (first, *others) = Scene("s1"), seen([*session("Go"), *turn("I look.", 1)])
    assert scene.take(replace(first, kind="Asked", body="{}"))
    for each in others:
        scene.take(each)
    assert "An event of kind Asked cannot be read." in texts(scene, "log")
    assert "I look." in texts(scene, "log")


@pytest.mark.slow
def test_a_page_begins_with_fewer_items_where_they_are_long() -> None:
    def shown(words: str) -> int:
        scene = Scene("s1")
        scene.skip(seen([told for number in range(150) for told in turn(words, number)]))
        return scene.log_html().count('class="step"')

    assert shown("Short.") == 150
    assert shown("long" * 4_000) == 20
