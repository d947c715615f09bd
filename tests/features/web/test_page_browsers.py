"""The page in two browsers, at widths from a phone to a wide screen, by day and by night, by keys alone.

`KITH_NEW_PICTURES=1` with pytest draws the pictures anew with which the page is compared.
"""

import base64
import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Final

import pytest
from playwright.sync_api import Browser

from browsing import EDIT, NEW, Play, Tab, Tabs, open_browser, player
from firefox import Firefox, open_firefox
from kith.core.events import RunEnded, RunStarted
from kith.memory.log import LOG_FILE, Log
from kith.memory.session import Session
from serving import Serving
from shown_sessions import write_everything

pytestmark = [
    pytest.mark.disturbed("a browser that starts or draws late"),
    pytest.mark.slow,
]
DRAWN_ANEW: Final = bool(os.environ.get("KITH_NEW_PICTURES"))  # before the tests empty the environment
PICTURES: Final = Path(__file__).parent / "pictures"
PATHS: Final = ("/", "/sessions/full", "/files", "/files?path=utils.py", "/tools", "/models", "/profile")
WIDTHS: Final = (390, 768, 1024, 1440, 1600)
# What stands out of the window.
MISPLACED: Final = """(() => {
  const { scrollWidth } = document.documentElement;
  const wide = scrollWidth > innerWidth ? [`the page is ${scrollWidth} wide`] : [];
  const seen = [...document.querySelectorAll("#top a, #top button, main button, main select, main input")]
    .filter((each) => each.checkVisibility() && !each.closest("details:not([open]), .aloud"));
  const boxes = seen.map((each) => [each, each.getBoundingClientRect()]).filter(([, box]) => box.width > 1);
  const out = boxes.filter(([each, { left, right }]) =>
    (left < -1 || right > innerWidth + 1) && !each.closest(".places"));
  return [...wide, ...out.map(([each]) => `outside: ${each.outerHTML.slice(0, 80)}`)].join("\\n");
})()"""


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


@pytest.fixture(scope="module")
def firefox() -> Iterator[Firefox]:
    with open_firefox() as firefox:
        yield firefox


@pytest.fixture
def serving(home: Path, repository: Path, start_serving: Callable[..., Serving]) -> Serving:
    """A server with a session that shows everything, and a few that are over."""
    log = Log(home / ".local/state/kith" / LOG_FILE)
    for number, status in enumerate(("done", "failed", "limit")):
        with Session(log, f"over{number}") as session:
            session.emit(RunStarted(f"Task number {number} of this project", str(repository), "llama", "1"))
            session.emit(RunEnded(status, "It is over."))  # type: ignore[arg-type]
    write_everything(log, "full", repository)
    return start_serving()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_is_misplaced_in_chromium(tabs: Tabs, serving: Serving, scheme: str) -> None:
    for width in WIDTHS:
        tab = tabs(serving, viewport={"width": width, "height": 900}, color_scheme=scheme)
        for path in PATHS:
            tab.go(path)
            assert not (found := tab.page.evaluate(MISPLACED)), f"{path} at {width}: {found}"
        tab.page.close()


def test_nothing_is_misplaced_in_firefox(firefox: Firefox, serving: Serving) -> None:
    firefox.go(serving.first)
    for width in (390, 1600):
        firefox.size(width, 900)
        for path in PATHS:
            firefox.go(serving.url + path)
            firefox.evaluate("document.documentElement.dataset.theme = 'dark'")
            assert not (found := firefox.evaluate(MISPLACED)), f"{path} at {width}: {found}"
    dark = firefox.evaluate("getComputedStyle(document.body).backgroundColor")
    firefox.evaluate("document.documentElement.dataset.theme = 'light'")
    assert firefox.evaluate("getComputedStyle(document.body).backgroundColor") != dark
    assert firefox.evaluate("getComputedStyle(document.createElement('select')).appearance") in ("none", "")
    left = [each for each in firefox.faults if not each.startswith("AbortError")]  # of a page that was left
    assert left == []


def test_a_task_is_done_by_keys_alone(
    tabs: Tabs, play_edit: Play, start_serving: Callable[..., Serving], repository: Path, sandbox: None
) -> None:
    tab = tabs(start_serving(), "/files")
    tab.press("g", "n")
    tab.page.wait_for_function("() => document.activeElement?.id === 'task'")
    tab.page.keyboard.type("Mend mean()")
    tab.press("Control+Enter")
    tab.see("#question form")
    tab.press("q", "j", "y", "Enter")
    tab.see("#receipt", "Receipt: Done")
    assert NEW in (repository / "utils.py").read_text()
    tab.press("g", "s")
    tab.page.wait_for_url(f"{tab.serving.url}/")
    for _ in range(40):  # the session's link is reached by Tab
        tab.press("Tab")
        if tab.page.evaluate("document.activeElement.matches('#sessions a')"):
            break
    assert tab.page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    tab.press("Enter")
    tab.see("#receipt", "Receipt: Done")


def test_a_task_is_done_by_keys_alone_in_firefox(
    firefox: Firefox, play_edit: Play, start_serving: Callable[..., Serving], repository: Path, sandbox: None
) -> None:
    serving = start_serving()
    firefox.size(1440, 900)
    firefox.go(serving.first)
    firefox.press("/")
    firefox.press(*"Mend mean()")
    control, enter = "\ue009", "\ue007"
    firefox.chord(control, enter)
    until_true(firefox, "!!document.querySelector('#question form[data-ready]')")
    firefox.press("q", "j", "y", enter)
    until_true(firefox, "!!document.querySelector('#receipt:not([hidden])')")
    assert NEW in (repository / "utils.py").read_text()
    firefox.press("g", "s")
    until_true(firefox, "location.pathname === '/'")


@pytest.fixture
def play_edit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Play:
    play = player(tmp_path, monkeypatch)
    play(EDIT, "Mended.")
    return play


def until_true(firefox: Firefox, expression: str) -> None:
    """Wait in the page, as far as it goes, and over what it loads."""
    wait = "new Promise(done => { const look = () => (%s) ? done(true) : setTimeout(look, 50); look(); })"
    for _ in range(5):
        try:
            assert firefox.evaluate(wait % expression)
            return
        except AssertionError:  # the page was left meanwhile
            continue
    raise AssertionError(expression)


# --- pictures --------------------------------------------------------------------------------

# A picture at a twenty-fourth of its size, in grey. Letters of another font change hardly any of its cells
# by more than 16 shades where lines break as they did. A lost panel changes 2 of 100 cells at least, on a
# telephone 7.
SHRINK: Final = """async (data) => {
  const whole = await createImageBitmap(await (await fetch(`data:image/png;base64,${data}`)).blob());
  const canvas = new OffscreenCanvas(Math.round(whole.width / 24), Math.round(whole.height / 24));
  const context = canvas.getContext("2d");
  context.filter = "grayscale(1)";
  context.imageSmoothingQuality = "high";
  context.drawImage(whole, 0, 0, canvas.width, canvas.height);
  const bytes = new Uint8Array(await (await canvas.convertToBlob()).arrayBuffer());
  return btoa(String.fromCharCode(...bytes));
}"""
COMPARE: Final = """async ([one, other]) => {
  const pixels = async (data) => {
    const image = await createImageBitmap(await (await fetch(`data:image/png;base64,${data}`)).blob());
    const canvas = new OffscreenCanvas(image.width, image.height), context = canvas.getContext("2d");
    context.drawImage(image, 0, 0);
    return context.getImageData(0, 0, image.width, image.height);
  };
  const [a, b] = [await pixels(one), await pixels(other)];
  if (a.width !== b.width || a.height !== b.height) return 1;
  let far = 0;
  for (let n = 0; n < a.data.length; n += 4) far += Math.abs(a.data[n] - b.data[n]) > 16;
  return far / (a.data.length / 4);
}"""
SHOWN: Final = {  # the page, its width, and the part of the picture that may differ
    "sessions": ("/", 1440, 0.015),
    "question": ("/sessions/full", 1440, 0.015),
    "tools": ("/tools", 1440, 0.015),
    "phone": ("/sessions/full", 390, 0.05),
}


def picture(tab: Tab) -> str:
    """The page as it is seen now, made small."""
    with tab.page.context.new_page() as blank:
        small: str = blank.evaluate(SHRINK, base64.b64encode(tab.page.screenshot()).decode())
    return small


def difference(tab: Tab, one: str, other: str) -> float:
    with tab.page.context.new_page() as blank:
        far: float = blank.evaluate(COMPARE, [one, other])
    return far


@pytest.mark.parametrize("name", SHOWN)
def test_a_page_looks_as_it_did(tabs: Tabs, serving: Serving, name: str) -> None:
    path, width, most = SHOWN[name]
    size = {"width": width, "height": 900}
    tab = tabs(serving, path, viewport=size, color_scheme="light", reduced_motion="reduce")
    tab.page.wait_for_function("() => document.documentElement.classList.contains('lively')")
    kept = PICTURES / f"{name}.png"
    if DRAWN_ANEW:
        kept.write_bytes(base64.b64decode(picture(tab)))
    before = base64.b64encode(kept.read_bytes()).decode()
    assert difference(tab, picture(tab), before) < most
    tab.page.evaluate(
        "document.querySelectorAll('.tools, aside, .compose, .review').forEach(each => { each.hidden = 1 })"
    )
    assert difference(tab, picture(tab), before) > most, "a part that is missing is noticed"
