"""A build at a glance: its tasks with their states, tries, gates and locked tests, and what runs now."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from kith.features.build.builds import KIND, show_build
from kith.features.web.html.diff import show_path
from kith.features.web.part import WebPart
from kith.memory.inbox import last_kind
from kith.memory.log import Log
from kith.view.lines import count
from kith.view.markup import NOTHING, Html, element, joined

_MARKS: Final = {"done": "✓", "active": "▸", "waiting": "·", "rolled back": "✗", "skipped": "–"}
_KINDS: Final = {"done": "good", "active": "now", "rolled back": "bad"}

Data = Mapping[str, Any]


def draw_build(log: Log, session: str) -> Html:
    """Draw the state of a session's build; nothing for a session that builds nothing."""
    return build_html(show_build(log, session)) if last_kind(log, session) == KIND else NOTHING


def build_html(build: Data) -> Html:
    """A build from what `show_build` says of it."""
    tasks, metrics = build["tasks"], build["metrics"]
    done = f"{metrics['done']} of {count(len(tasks), 'task')} done" if tasks else ""
    shown = [element("p", _now(build), class_="now", role="status")]
    if tasks:
        bar = element("progress", value=metrics["done"], max=len(tasks), aria_label="Tasks done")
        shown += [element("div", bar, element("span", done, class_="dim"), class_="how-far")]
        shown.append(element("ol", *(_task(task) for task in tasks), class_="tasks"))
    if build["final"]:
        shown.append(element("div", element("h3", "The whole change"), _gates(build["final"])))
    return element("div", *shown, _figures(build), class_="build")


def _now(build: Data) -> Html:
    """Show the present step, or the final state."""
    now = build["now"]
    if not now:
        waits = (
            f"interrupted before {_spaced(build['step'])}"
            if build["status"] == "interrupted"
            else build["status"]
        )
        return element("span", str(waits), class_="good" if build["status"] == "done" else None)
    of = f", task {now['task']}" if now["task"] else ""
    again = f", try {now['attempt']}" if now["attempt"] > 1 else ""
    doing = element("code", now["doing"], class_="doing") if now["doing"] else NOTHING
    words = element("strong", f"{_spaced(now['step'])}{of}{again}")
    return joined((words, element("span", f" {_took(now['seconds'])}", class_="dim"), doing))


def _task(task: Data) -> Html:
    state = task["state"]
    tries = task["attempts"]
    spent = sum(task["tokens"][each] for each in ("input", "output"))
    facts = [_try(tries), _took(task["seconds"]), f"{spent:,} tokens"] if tries else []
    after = f"after {', '.join(task['after'])}" if task["after"] and state == "waiting" else ""
    mark = element(
        "span", _MARKS.get(state, "·"), class_=f"mark {_KINDS.get(state, 'dim')}", aria_hidden="true"
    )
    title = element("span", f"{task['id']}. {task['title']}", class_="title")
    told = element("span", " · ".join(filter(None, [state, *facts, after])), class_="facts dim")
    return element(
        "li",
        element("details", element("summary", mark, title, told), _inside(task), open=state == "active"),
        element("p", task["why"], class_="why words") if task["why"] else NOTHING,
        _gates(task["gates"]) if task["gates"] else NOTHING,
        class_=state.replace(" ", "-"),
    )


def _inside(task: Data) -> Html:
    """Show a task's details: criteria, expected files, and locked tests."""
    lists = (("Done when", task["criteria"]), ("Files", task["files"]), ("Locked tests", task["tests"]))
    return element(
        "dl",
        *(
            element("div", element("dt", name), element("dd", element("ul", *_items(name, items))))
            for name, items in lists
            if items
        ),
    )


def _items(name: str, items: Sequence[str]) -> list[Html]:
    inner = "span" if name == "Done when" else "code"
    return [element("li", element(inner, show_path(each))) for each in items]


def _gates(gates: Sequence[Data]) -> Html:
    """List the verdicts of the gates: one word each, and the reason for a no."""
    return element("ul", *(_gate(gate) for gate in gates), class_="gates")


def _gate(gate: Data) -> Html:
    figures = gate["figures"]
    mark, kind, word = ("✓", "good", "passed") if gate["ok"] else ("✗", "bad", "failed")
    if gate["skipped"]:
        mark, kind, word = "–", "dim", "not checked"
    if "tests" in figures and not gate["skipped"]:
        word = f"{figures['tests'] - figures.get('failed', 0):.0f} of {figures['tests']:.0f}"
    return element(
        "li",
        element("span", f"{mark} {gate['gate']} {word}", class_=kind),
        element("span", gate["text"], class_="why words dim") if gate["text"] else NOTHING,
    )


def _figures(build: Data) -> Html:
    metrics = build["metrics"]
    rows = [("Time", _took(build["seconds"])), ("of it in tests", _took(metrics["seconds_in_tests"]))]
    if metrics["coverage_after"] is not None:
        before = metrics["coverage_before"]
        was = f"{before:.1f}% → " if before is not None else ""
        rows.append(("Coverage", f"{was}{metrics['coverage_after']:.1f}%"))
    rows += [(name, _role(role)) for name, role in metrics["roles"].items() if _role(role)]
    cells = (element("div", element("dt", name), element("dd", said)) for name, said in rows)
    return element("dl", *cells, class_="figures")


def _role(role: Data) -> str:
    judged, tokens = role["good"] + role["bad"], role["tokens"]
    used = tokens["input"] + tokens["output"]
    good = f"{role['good']} of {judged} good" if judged else ""
    return ", ".join(filter(None, (good, f"{used:,} tokens" if used else "")))


def _try(number: int) -> str:
    return "1 try" if number == 1 else f"{number} tries"


def _took(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 100 else f"{seconds // 60:.0f} min {seconds % 60:.0f} s"


def _spaced(step: str) -> str:
    return step.replace("_", " ")


PART: Final = WebPart(panel=draw_build, title="Build")
