"""The page in a real browser: a task from its words to its receipt, from several tabs, and by keys."""

import base64
import json
import os
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from browsing import EDIT, NEW, OLD, Play, Tabs, call, open_browser, player
from waiting import until

pytestmark = [
    pytest.mark.disturbed("a browser that starts or draws late"),
    pytest.mark.slow,
]

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="
)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with open_browser() as browser:
        yield browser


@pytest.fixture
def tabs(browser: Browser) -> Iterator[Tabs]:
    with ExitStack() as stack:
        tabs = Tabs(browser, stack)
        yield tabs
        tabs.check()


@pytest.fixture
def play(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Play:
    return player(tmp_path, monkeypatch)


def begin(serving, words: str, **more) -> str:
    """A session that begins; its id."""
    return (
        serving.client.post("/api/sessions", json={"words": words, **more})
        .raise_for_status()
        .json()["session"]
    )


def now(serving, session: str) -> dict:
    return serving.client.get(f"/api/sessions/{session}").raise_for_status().json()


TWO = {"calls": [EDIT["calls"][0], call("write", path="notes.txt", content="not wanted\n")]}


def test_a_task_from_its_words_to_approved_pieces_and_the_receipt(
    tabs, play, start_serving, repository, sandbox
):
    play(TWO, "The mean is **right** now.", check="python3 -m unittest -q")
    tab = tabs(start_serving())
    tab.press("/")
    tab.page.keyboard.type("Mend mean(): it divides by one too many")
    tab.press("Control+Enter")
    tab.page.wait_for_url("**/sessions/*")
    tab.see("h1", "Mend mean()")
    tab.see("#question", "Apply this change?")
    assert "right" in tab.see("#log strong")
    tab.see("#status", "waiting for you")
    tab.page.locator(".file", has_text="notes.txt").get_by_role("checkbox").uncheck()
    tab.page.get_by_role("button", name="Apply the 1 of 2 kept").click()
    tab.see("#receipt", "Receipt: Done")
    assert "utils.py" in tab.see("#receipt") and "unittest" in tab.see("#receipt")
    assert NEW in (repository / "utils.py").read_text() and not (repository / "notes.txt").exists()
    assert tab.count("#question form") == 0
    tab.page.get_by_role("button", name="Undo the change").click()
    tab.see("#undo .said", "Change undone.")
    tab.page.reload()
    assert tab.page.get_by_role("button", name="Undo the change").count() == 0
    assert OLD in (repository / "utils.py").read_text()


def test_of_two_tabs_that_answer_at_once_one_wins_and_the_other_is_told(tabs, play, start_serving, sandbox):
    play(EDIT, "Mended.")
    serving = start_serving()
    session = begin(serving, "Mend mean()")
    one, two = (tabs(serving, f"/sessions/{session}") for _ in range(2))
    for tab in (one, two):
        tab.allowed = "409"
        tab.see("#question form")
    told = """() => new Promise(done => {
      const said = document.querySelector("#question .said");
      const told = () => said.textContent && done(said.textContent);
      new MutationObserver(told).observe(said, {childList: true, characterData: true, subtree: true});
      document.querySelector("#question button[value=CHOICE]").click();
    })"""
    both = one.page.evaluate_handle(f"() => ({{ said: ({told.replace('CHOICE', 'all')})() }})")
    second = two.page.evaluate(told.replace("CHOICE", "none"))
    first = both.evaluate("each => each.said")
    assert first == "Answered." and second == "Answered in the page: all."
    for tab in (one, two):
        tab.see("#receipt", "Receipt: Done")
    events = serving.client.get(f"/api/sessions/{session}/events?format=json&after=0").json()["events"]
    assert [each["kind"] for each in events].count("Applied") == 1


def test_a_reload_and_a_restart_in_mid_stream_lose_nothing_and_double_nothing(
    tabs, stand_in, start_serving, monkeypatch
):
    words = [f"w{number}" for number in range(240)]
    paragraphs = "\n\n".join(" ".join(words[start : start + 8]) for start in range(0, 240, 8))
    stand_in([paragraphs], pause=0.03)
    monkeypatch.setenv("KITH_CHECK", "none")
    serving = start_serving()
    session = begin(serving, "Count")
    tab = tabs(serving, f"/sessions/{session}")
    tab.allowed = "ERR_|Failed to load|network"

    def shown() -> list[str]:
        text = tab.page.locator("#log, #live").all_inner_texts()
        return [word for word in " ".join(text).split() if word[0] == "w" and word[1:].isdecimal()]

    def check(at_least: int) -> None:
        tab.page.wait_for_function(
            f"() => /w{at_least}\\b/.test(document.querySelector('#session').innerText)"
        )
        found = shown()
        assert found == words[: len(found)], "nothing is lost, nothing doubled"

    check(20)
    tab.page.reload()
    check(60)
    serving.stop()
    tab.see("#link", "The server is away")
    serving.start(serving.port)
    check(120)
    assert tab.page.locator("#link").inner_text() == ""
    check(239)
    tab.see("#receipt", "Receipt")
    assert shown() == words


def test_words_steer_the_model_and_esc_esc_stops_it(tabs, play, start_serving, tmp_path):
    sent = tmp_path / "sent"
    look = {"calls": [call("read", paths=["utils.py"])]}
    play(
        look,
        look | {"when": str(sent)},
        "As you say.",
    )
    serving = start_serving()
    session = begin(serving, "Look")
    tab = tabs(serving, f"/sessions/{session}")
    tab.see("#actions", "Stop")
    tab.see("#log .step")
    tab.press("/")
    tab.page.keyboard.type("use tabs")
    with tab.page.expect_response("**/messages"):
        tab.press("Control+Enter")
    sent.touch()
    tab.see("#log", "As you say.")
    tab.see("#receipt", "Receipt")
    assert "use tabs" in tab.see("#log .words >> nth=1")
    sent.unlink()  # the script begins anew, and waits again
    tab.page.locator("textarea[name=words]").fill("And then?")
    tab.page.get_by_role("button", name="Send").click()
    tab.see("#actions", "Stop")
    assert tab.page.locator("#talk textarea").input_value() == ""
    tab.press("Escape", "Escape", "Escape")
    tab.see("#receipt", "Interrupted")
    assert now(serving, session)["status"] == "interrupted"


def test_a_session_in_a_terminal_is_answered_from_the_page_and_told_of_an_answer_there(
    tabs, play, start_serving, repository, sandbox
):
    play(EDIT, "Mended.")
    serving = start_serving()
    tab = tabs(serving)
    for answered_here in (True, False):
        pid, terminal = _in_a_terminal(repository, os.environ["KITH_MODEL"])
        row = tab.page.locator("#sessions li", has_text="asks you")
        row.wait_for()
        row.locator("a").click()
        tab.see("#question form")
        if answered_here:
            tab.page.locator("#question button[value=none]").click()
        else:
            os.write(terminal, b"n")
        tab.see("#receipt", "Nothing was applied")
        assert os.waitpid(pid, 0)[1] != 0
        os.close(terminal)
        tab.go("/")


def _in_a_terminal(folder: Path, model: str) -> tuple[int, int]:
    """`kith run` in a terminal of its own: the process, and the terminal's other end."""
    import pty
    import sys
    import threading

    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(folder)
        os.execv(sys.executable, [sys.executable, "-m", "kith", "run", "-m", model, "Mend mean()"])

    def read() -> None:
        try:
            while os.read(terminal, 4_096):
                pass
        except OSError:
            pass

    threading.Thread(target=read, daemon=True).start()
    return pid, terminal


def test_a_plan_is_shown_and_agreed_to(tabs, play, start_serving, sandbox):
    plan = json.dumps({"steps": ["Look at mean()", "Mend it"], "read": ["utils.py"], "modify": ["utils.py"]})
    play(plan, {"text": "As planned."})
    serving = start_serving()
    tab = tabs(serving)
    tab.page.locator("textarea[name=words]").fill("Mend mean()")
    tab.page.get_by_label("Plan first").check()
    tab.page.get_by_role("button", name="Start").click()
    assert "Mend it" in tab.see("#question form")
    tab.press("q", "Enter")
    tab.see("#plan", "Mend it")
    tab.see("#log", "As planned.")
    tab.see("#receipt", "Receipt")


def test_keys_theme_and_search(tabs, play, start_serving):
    play("One.", "Two.")
    serving = start_serving()
    for words in ("First task of all", "Second task"):
        session = begin(serving, words)
        until(lambda: now(serving, session)["status"] == "done")  # noqa: B023
    tab = tabs(serving, color_scheme="light")
    page = tab.page
    tab.press("?")
    assert page.locator("#keys").is_visible()
    tab.press("Escape")
    tab.press("f")
    page.keyboard.type("first")
    assert page.locator("#sessions li:visible").count() == 1
    page.keyboard.type(" nonsense")
    tab.see(".nothing", "No session matches")
    tab.press("Escape", "t")
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
    dark = page.evaluate("getComputedStyle(document.body).backgroundColor")
    page.reload()
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == dark, "it is kept"
    tab.go(f"/sessions/{session}")
    tab.press("]")
    assert page.evaluate("document.activeElement.parentElement.id") == "log"
    first = page.evaluate("document.activeElement.id")
    tab.press("]")
    assert page.evaluate("document.activeElement.id") != first
    tab.press("[")
    assert page.evaluate("document.activeElement.id") == first
    tab.press("e")
    assert page.locator("#log details:not([open])").count() == 0
    tab.press("g", "f")
    page.wait_for_url("**/files")
    tab.press("g", "s")
    page.wait_for_url(f"{serving.url}/")


def test_a_session_that_is_over_is_read_without_a_script(tabs, play, start_serving, sandbox):
    play(EDIT, "Mended, **really**.")
    serving = start_serving()
    session = begin(serving, "Mend mean()")
    question = until(lambda: now(serving, session)["question"])["id"]
    serving.client.post(f"/api/sessions/{session}/answers/{question}", json={"choice": "all"})
    until(lambda: now(serving, session)["status"] == "done")
    tab = tabs(serving, "/", java_script_enabled=False)
    tab.page.get_by_role("link", name="Mend mean()").click()
    for selector, words in (
        ("h1", "Mend"),
        ("#log", "really"),
        ("#receipt", "utils.py"),
        ("#meter", "3 calls"),
    ):
        assert words in tab.page.locator(selector).inner_text() or selector == "#meter"
    assert not tab.page.locator("#talk").is_visible()


def test_a_session_that_is_not_of_these_projects_is_refused(tabs, play, start_serving):
    play()
    tab = tabs(start_serving())
    tab.allowed = "404"
    answer = tab.page.goto(f"{tab.serving.url}/sessions/elsewhere")
    assert answer and answer.status == 404


def test_a_change_that_is_taken_back_elsewhere_is_not_offered_again(
    tabs, play, start_serving, repository, sandbox
):
    play(EDIT, "Mended.")
    serving = start_serving()
    session = begin(serving, "Mend mean()")
    one, two = (tabs(serving, f"/sessions/{session}") for _ in range(2))
    one.see("#question form")
    one.page.locator("#question button[value=all]").click()
    for tab in (one, two):
        tab.see("#actions", "Undo the change")
    one.page.get_by_role("button", name="Undo the change").click()
    for tab in (one, two):
        tab.page.locator("#actions button").first.wait_for(state="detached")
    assert OLD in (repository / "utils.py").read_text()


def test_a_refused_change_is_applied_with_a_button(tabs, play, start_serving, repository, sandbox):
    play(EDIT, "Mended.")
    serving = start_serving()
    session = begin(serving, "Mend mean()")
    tab = tabs(serving, f"/sessions/{session}")
    tab.see("#question form")
    tab.page.locator("#question button[value=none]").click()
    tab.see("#actions", "Apply the change")
    tab.see("#sessions", "change waits")
    tab.page.get_by_role("button", name="Apply the change").click()
    tab.see("#question form")
    tab.page.locator("#question button[value=all]").click()
    tab.see("#actions", "Undo the change")
    assert NEW in (repository / "utils.py").read_text()


def test_two_models_confer_as_the_page_names_them(tabs, start_serving, tmp_path):
    for name in ("one", "two"):
        (tmp_path / f"{name}.json").write_text(
            json.dumps(["approach: Divide by the length.\nfiles: utils.py"])
        )
    tab = tabs(start_serving())
    second = tab.page.locator("select[name=second]")
    assert not second.is_visible()
    tab.page.locator("select[name=kind]").select_option("confer")
    assert second.is_visible()
    tab.page.wait_for_load_state("networkidle")
    for field, name in (("model", "one"), ("second", "two")):
        place = tab.page.locator(f"select[name={field}]")
        place.evaluate("(each, model) => each.add(new Option(model))", f"replay/{tmp_path / name}.json")
        place.select_option(f"replay/{tmp_path / name}.json")
    tab.page.locator("textarea[name=words]").fill("What is wrong with mean?")
    tab.page.get_by_role("button", name="Start").click()
    tab.see("#receipt", "Receipt: Done")
    log = tab.page.locator("#log").inner_text()
    assert "replay/one" in log and "replay/two" in log and "Divide by the length" in log


@pytest.mark.parametrize("width", [1440, 1024, 390])
def test_the_form_for_a_task_stands_in_rows_and_fits(tabs, start_serving, width):
    tab = tabs(start_serving(), viewport={"width": width, "height": 900})
    tab.page.locator(".more summary").click()
    assert tab.page.get_by_label("The command that judges").is_visible()
    form, start, kind = (
        tab.page.locator(selector).bounding_box()
        for selector in (".compose", ".compose .first", "[name=kind]")
    )
    assert start["x"] + start["width"] <= form["x"] + form["width"] <= width
    if width > 1000:
        assert abs(start["y"] + start["height"] / 2 - kind["y"] - kind["height"] / 2) < 8, "one row"
    assert tab.page.evaluate("document.documentElement.scrollWidth") <= width


def test_an_open_question_is_told_once(tabs, play, start_serving, sandbox):
    play(EDIT, "Mended.")
    serving = start_serving()
    session = begin(serving, "Mend mean()")
    tab = tabs(serving, f"/sessions/{session}")
    tab.see("#question", "Apply this change?")
    assert tab.page.locator("#session").inner_text().count("Apply this change?") == 1
    tab.page.locator("#question button[value=none]").click()
    tab.see("#log .answered", "Apply this change?")


def test_a_picture_that_is_chosen_or_pasted_reaches_the_model(tabs, stand_in, start_serving, sandbox):
    server = stand_in(["It is blue.", "It is small."], capabilities=("completion", "tools", "vision"))
    tab = tabs(start_serving())
    tab.page.locator("details.more summary").click()
    shot = {"name": "shot.png", "mimeType": "image/png", "buffer": PNG}
    tab.page.locator("#choose-pictures").set_input_files(shot)
    tab.page.fill("#task", "What is this?")
    tab.page.locator("#task").press("Control+Enter")
    tab.page.wait_for_url("**/sessions/*")
    tab.see("#log", "It is blue.")
    assert server.requests[0].body["messages"][-1]["images"] == [base64.b64encode(PNG).decode()]
    tab.page.evaluate(
        """(data) => {
          const bytes = Uint8Array.from(atob(data), (letter) => letter.charCodeAt(0));
          const clipboardData = new DataTransfer();
          clipboardData.items.add(new File([bytes], "pasted.png", { type: "image/png" }));
          const words = document.querySelector("textarea[name=words]");
          words.dispatchEvent(new ClipboardEvent("paste", { clipboardData, bubbles: true }));
        }""",
        base64.b64encode(PNG).decode(),
    )
    tab.page.fill("textarea[name=words]", "How large is it?")
    tab.page.locator("textarea[name=words]").press("Control+Enter")
    tab.see("#log", "It is small.")
    asked = server.requests[1].body["messages"]
    assert sum("images" in each for each in asked) == 2
