"""Diffs, plans, builds and councils as HTML: nothing is left out, and nothing foreign acts."""

import json
from html.parser import HTMLParser

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from kith.core.decisions import Claimed, Concluded
from kith.core.values import EXECUTABLE, FILE, SYMLINK, Answer, Change, Kept, Message, Plan, Question, Text
from kith.edits import summarise
from kith.edits.rows import changed_words
from kith.features.build.page import build_html
from kith.features.confer.history import Minutes
from kith.features.confer.page import council_html
from kith.features.web.html.diff import diff_html
from kith.features.web.html.questions import answered_html, plan_html, question_html

_VOID = {"input", "br", "hr"}
_OURS = {
    *(
        "div",
        "span",
        "p",
        "code",
        "pre",
        "ul",
        "ol",
        "li",
        "dl",
        "dt",
        "dd",
        "h2",
        "h3",
        "strong",
        "i",
        "em",
        "a",
    ),
    *(
        "article",
        "section",
        "header",
        "details",
        "summary",
        "table",
        "tbody",
        "tr",
        "td",
        "ins",
        "del",
        "kbd",
    ),
    *("form", "button", "label", "input", "textarea", "noscript", "blockquote", "progress"),
}
HOSTILE = "<img src=x onerror=alert(1)>\"'</textarea><script>x</script>\u202e\x1b[2J"


class Page(HTMLParser):
    """The elements of a piece of HTML, each with its attributes and all the text inside it."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None], list[str]]] = []
        self._open: list[tuple[str, list[str]]] = []
        html.encode()  # what cannot be sent would not be seen
        self.feed(html)
        self.close()
        assert not self._open, self._open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in _OURS, tag
        assert not [name for name, _ in attrs if name.startswith("on") or name == "style"]
        words: list[str] = []
        self.found.append((tag, dict(attrs), words))
        if tag not in _VOID:
            self._open.append((tag, words))

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop()[0] == tag

    def handle_data(self, data: str) -> None:
        for _, words in self._open:
            words.append(data)

    def all(self, tag: str, kind: str = "") -> list[str]:
        """The text of each element of this name and class."""
        return [
            "".join(words)
            for name, attrs, words in self.found
            if name == tag and (not kind or kind in (attrs.get("class") or "").split())
        ]

    def values(self, attribute: str) -> list[str]:
        return [attrs[attribute] or "" for _, attrs, _ in self.found if attribute in attrs]


def rows_of(page: Page) -> list[str]:
    """The words of each row of all tables; what stayed stands in a row twice."""
    cells: list[list[str]] = []
    for tag, attrs, words in page.found:
        if tag == "tr":
            cells.append([])
        elif tag == "td" and "aria-hidden" not in attrs:
            cells[-1].append("".join(words))
    return [row[2] for row in cells]


def change(before: str | None, after: str | None, path: str = "a.py", mode: int = FILE) -> Change:
    sides = [side if side is None else side.encode("utf-8", "surrogateescape") for side in (before, after)]
    return Change(path, sides[0], sides[1], mode)


# --- a diff ----------------------------------------------------------------------------------


_lines = st.lists(
    st.sampled_from(["a", "b = 1", "", "<b>", "&amp;", "if x:", '"""', "# c", "é"]), max_size=25
)


@settings(deadline=None)  # pygments is loaded in the first example
@given(_lines, _lines, st.sampled_from(["a.py", "a.txt", "a.c", "a.html"]))
def test_every_line_is_shown_as_it_is(before: list[str], after: list[str], path: str) -> None:
    (file,) = summarise((change("\n".join(before) + "\n", "\n".join(after) + "\n", path),))
    wanted = [line[1:] for line in file.diff.split("\n")[4:] if line[:1] in (" ", "-", "+")]
    if file.diff.count("\n") < 4:
        return
    assert rows_of(Page(diff_html((file,)))) == wanted


def test_line_numbers_are_those_of_both_sides() -> None:
    files = summarise((change("1\n2\n3\n4\n5\n", "1\n2\nthree\nmore\n4\n5\n"),))
    cells = Page(diff_html(files)).all("td")
    numbers = [cells[at : at + 2] for at, cell in enumerate(cells) if cell in ("3", "three", "more")]
    assert ["3", ""] in numbers
    html = diff_html(files)
    assert '<tr class="del"><td>3</td><td></td><td>' in html
    assert '<tr class="add"><td></td><td>4</td><td>' in html
    assert "<tr><td>4</td><td>5</td><td>" in html


def test_words_that_changed_are_marked() -> None:
    page = Page(diff_html(summarise((change("total = count(old)\n", "total = count(new)\n", "a.txt"),))))
    assert (page.all("del"), page.all("ins")) == (["old"], ["new"])
    assert changed_words("completely different", "x = 1") == ([], [])


@pytest.mark.slow
@given(st.text(max_size=30), st.text(max_size=30))
def test_marked_words_are_places_in_their_lines(old: str, new: str) -> None:
    for words, spans in zip((old, new), changed_words(old, new), strict=True):
        ends = [0, *(place for span in spans for place in span)]
        assert ends == sorted(ends)
        assert all(begin < end <= len(words) for begin, end in spans)
    gone, come = changed_words(old, new)
    if gone or come:
        assert _without(old, gone).split() == _without(new, come).split()


def _without(words: str, spans: list[tuple[int, int]]) -> str:
    for begin, end in reversed(spans):
        words = words[:begin] + " " + words[end:]
    return words


def test_hostile_names_and_contents_are_only_read() -> None:
    changes = (
        change(None, f"{HOSTILE}\n", f"{HOSTILE}\n.py"),
        change("x\n", "y\n", "caf\udce9"),
        change("caf\udce9\r\n", "th\udce9\r\n", "latin.txt"),
        Change(HOSTILE, b"\0", b"\0\0"),
    )
    page = Page(diff_html(summarise(changes), choose=True))
    paths = page.all("code", "path")
    assert [json.loads(path) for path in page.values("data-path")] == [each.path for each in changes]
    assert paths[0].count("\\n") == 1
    assert "\\x1b[2J" in paths[0]
    assert "\\u202e" in rows_of(page)[0]
    assert paths[1] == "caf\\udce9"
    assert "th\\udce9" in rows_of(page)


def test_what_is_no_text_is_said_in_words() -> None:
    changes = (
        Change("run", b"x\n", b"x\n", EXECUTABLE, FILE),
        Change("link", None, b"/etc/passwd", SYMLINK),
        Change("logo", b"\0", b"\0\0"),
        Change("empty", None, b""),
        Change("dos.txt", b"a\r\nb\r\n", b"a\r\nc\r\n"),
        Change("end", b"a", b"b\n"),
    )
    page = Page(diff_html(summarise(changes), choose=True))
    words = " ".join(page.all("div", "diff"))
    assert "It was an ordinary file, and becomes executable." in words
    assert "new, a symbolic link" in words
    assert "It is no text, and not shown." in words
    assert "It is empty." in words
    assert "ends of lines: CRLF" in words
    assert words.count("no line break at the end") == 2  # of the link, and of "end" as it was


def test_large_files_are_folded_and_counted_but_whole() -> None:
    large = "".join(f"{number}\n" for number in range(600))
    page = Page(diff_html(summarise((change(None, large), change(None, "small\n", "b.py")))))
    opened = ["open" in attrs for tag, attrs, _ in page.found if tag == "details"]
    assert opened == [False, True]
    assert "600 changed lines, folded" in page.all("summary")[0]
    assert len(rows_of(page)) == 601


# --- questions -------------------------------------------------------------------------------


FILES = summarise((change("a\n" * 20, "b\n" + "a\n" * 18 + "b\n"),))


def test_each_part_of_a_change_can_be_kept_by_name() -> None:
    question = Question("q1", "change", "Apply it?", ("all", "none", "some", "edit", "revise"), files=FILES)
    page = Page(question_html("s1", question))
    assert page.values("data-post") == ["/api/sessions/s1/answers/q1"]
    labels = [label for label in page.values("aria-label") if label.startswith("Keep ")]
    assert labels == ["Keep part 1 of 2 of a.py", "Keep part 2 of 2 of a.py"]
    assert page.values("data-piece") == ["0", "1"]
    assert page.values("value") == ["all", "some", "none", "revise"]
    assert page.all("noscript")


@pytest.mark.parametrize(
    ("question", "choices"),
    [
        (Question("q", "change", "All the same?", ("all", "none"), files=FILES), ["all", "none"]),
        (Question("q", "plan", "Go on?", ("yes", "no", "revise")), ["yes", "no", "revise"]),
        (
            Question("q", "plan", "Go on?", ("yes", "no", "edit", "revise"), draft="\n1. A task"),
            ["yes", "edit", "no", "revise"],
        ),
        (Question("q", "tool", "Allow shell: rm -rf build", ("yes", "no")), ["yes", "no"]),
        (Question("q", "trust", "Ask the cloud?", ("yes", "no", "always")), ["yes", "always", "no"]),
        (Question("q", "trust", HOSTILE), ["yes", "no"]),
    ],
)
def test_every_kind_of_question_has_its_answers(question: Question, choices: list[str]) -> None:
    page = Page(question_html("s", question, "kith", Plan((HOSTILE,), modify=(HOSTILE,))))
    assert page.values("value") == choices
    assert "img" not in [tag for tag, _, _ in page.found]


def test_a_draft_is_there_to_the_letter() -> None:
    html = question_html("s", Question("q", "plan", "Go on?", ("yes", "edit"), draft="\n<b>\n"))
    assert ">\n\n&lt;b&gt;\n</textarea>" in html  # a browser drops the first line break


def test_an_answer_says_what_was_kept_and_where_it_was_given() -> None:
    question = Question("q", "change", HOSTILE, ("all", "some"), files=FILES)
    page = Page(answered_html(question, Answer("some", HOSTILE, kept=(Kept("a.py", (1,)),), by="a terminal")))
    assert page.all("li") == ["part 2 of 2 of a.py"]
    assert "A part was kept. (answered in a terminal)" in page.all("p")


def test_a_change_that_leaves_the_plan_is_marked_and_can_be_cut() -> None:
    files = (replace(FILES[0], planned=True), replace(FILES[0], path="b.py", planned=False))
    page = Page(
        question_html("s", Question("q", "change", "Apply?", ("all", "some", "planned"), files=files))
    )
    assert "planned" in page.values("value")
    assert [word for word in page.all("span") if word in ("planned", "unplanned")] == [
        "planned",
        "unplanned",
    ]


# --- plans, builds, councils -----------------------------------------------------------------


def test_a_plan_shows_all_there_is() -> None:
    page = Page(plan_html(Plan(("one", HOSTILE), ("a",), ("b",), ("c",))))
    assert [words[:3] for words in page.all("li")] == ["one", "<im", "a", "b", "c"]
    assert page.all("dt") == ["Assumes", "Reads", "Changes"]


def test_a_build_shows_its_tasks_gates_and_locked_tests() -> None:
    gate = {
        "gate": "tests",
        "ok": False,
        "skipped": False,
        "attempt": 1,
        "figures": {"tests": 9, "failed": 2},
    }
    task = {
        **{
            "id": "1",
            "title": HOSTILE,
            "after": [],
            "criteria": ["it sorts"],
            "files": ["a.py"],
            "state": "active",
        },
        **{
            "why": "",
            "attempts": 2,
            "tests": ["t.py::test"],
            "gates": [gate | {"text": "why"}],
            "seconds": 100.0,
        },
        "tokens": {"input": 1000, "cached": 0, "output": 1},
    }
    role = {"good": 1, "bad": 0, "tokens": {"input": 1, "output": 1}}
    figures = {"done": 0, "seconds_in_tests": 4.0, "coverage_before": 50.0, "coverage_after": 60.0}
    now = {"step": "roll_back", "task": "1", "attempt": 2, "role": "", "doing": "shell ls", "seconds": 3.0}
    page = Page(
        build_html(
            {
                **{
                    "status": "running",
                    "step": "roll_back",
                    "now": now,
                    "tasks": [task],
                    "final": [],
                    "seconds": 9.0,
                },
                "metrics": figures | {"roles": {"implementer": role}},
            }
        )
    )
    told = "".join(page.all("div", "build"))
    wanted = (
        "roll back, task 1, try 2",
        "2 tries",
        "1 min 40 s",
        "1,001 tokens",
        "tests 7 of 9",
        "50.0% → 60.0%",
    )
    assert [
        words for words in (*wanted, "t.py::test", "it sorts", "why", "shell ls") if words not in told
    ] == []


def test_a_council_has_a_column_for_each_member() -> None:
    minutes = Minutes("c", "plan", HOSTILE, {"A": "box/a", "B": "box/b"})
    minutes.said = [
        ("A", Message("assistant", (Text("**Use** it " + HOSTILE),))),
        ("A", Message("user", (Text("kith's own letter"),))),
        ("A/aside", Message("assistant", (Text("an aside"),))),
        ("B", Claimed("c", "c1", "B", "A", "It fails", "a.py:1", "refuted", "It does not.")),
        ("judge", Message("assistant", (Text("A it is"),), complete=False)),
    ]
    minutes.concluded = Concluded(
        "c", "plan", "A", "judge", "x", minutes.members, {"tokens": 5000}, "Less code."
    )
    page = Page(council_html(minutes))
    first, second = page.all("section", "speaker")
    assert "its proposal holds" in first
    assert "Use it" in first
    assert "✗ refuted c1 on A" in second
    whole = page.all("section", "council")[0]
    assert "own letter" not in whole
    assert "an aside" not in whole
    assert "Cut short." in page.all("div", "judge")[0]
    assert "→ A (box/a). A judge decided. Less code." in whole
