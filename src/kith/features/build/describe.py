"""A build in plain data: what `kith status --json` prints and every face of it draws."""

from typing import Any, Final

from kith.core.events import Judged
from kith.core.values import Usage
from kith.features.build.machine import ENDS
from kith.features.build.state import ROLES, Build, Piece, Played

_LINE: Final = 200  # characters of a reason


def describe(build: Build, now: float = 0.0) -> dict[str, Any]:
    """Everything there is to say of a build: tasks, gates, times, what runs now, figures.

    Times are in seconds, `began` since the epoch; `now` is the same clock's, for how long a step has been
    running. Coverage is in percent, None where nobody measured it.
    """
    return {
        "request": build.request,
        "status": _status(build),
        "step": str(build.step),
        "text": build.ended.text if build.ended else "",
        "began": build.began,
        "seconds": round(build.seconds, 1),
        "now": _now(build, now),
        "tasks": [_task(piece) for piece in build.pieces.values()],
        "final": [_gate(judged) for judged in build.final.values()],
        "applied": build.applied.change_id if build.applied else "",
        "metrics": _metrics(build),
    }


def _status(build: Build) -> str:
    """How it ended, or "running", or "interrupted" where nothing moves and it is not over."""
    if build.ended:
        return build.ended.status
    return str(build.step) if build.step in ENDS else "running"


def _now(build: Build, now: float) -> dict[str, Any] | None:
    """What runs at this moment; None between two steps, and when it is over."""
    if not build.running:
        return None
    return {
        "step": str(build.step),
        "task": build.task,
        "attempt": build.attempt,
        "role": ROLES.get(build.step, ""),
        "doing": build.doing,
        "seconds": round(max(0.0, now - build.since), 1) if now else 0.0,
    }


def _task(piece: Piece) -> dict[str, Any]:
    task = piece.task
    return {
        "id": task.id,
        "title": task.title,
        "after": list(task.after),
        "criteria": list(task.criteria),
        "files": list(task.files),
        "state": piece.state,
        "why": piece.why[:_LINE],
        "attempts": piece.attempts,
        "tests": list(piece.locked.tests) if piece.locked else [],
        "gates": [_gate(judged) for judged in piece.gates.values()],
        "seconds": round(piece.seconds, 1),
        "tokens": _tokens(piece.usage),
    }


def _gate(judged: Judged) -> dict[str, Any]:
    said = judged.feedback.strip().split("\n")[0][:_LINE] if judged.skipped or not judged.ok else ""
    return {
        "gate": judged.gate,
        "ok": judged.ok,
        "skipped": judged.skipped,
        "attempt": judged.attempt,
        "figures": dict(judged.figures),
        "text": said,
    }


def _metrics(build: Build) -> dict[str, Any]:
    pieces = list(build.pieces.values())
    tests = build.final.get("tests")
    return {
        "tasks": len(pieces),
        "done": len(build.done),
        "rolled_back": sum(piece.state == "rolled back" for piece in pieces),
        "skipped": sum(piece.state == "skipped" for piece in pieces),
        "retries": sum(max(0, piece.attempts - 1) for piece in pieces),
        "seconds_in_tests": round(build.testing, 1),
        "tests_before": _figure(build.before, "tests"),
        "tests_after": _figure(tests, "tests"),
        "coverage_before": _percent(build.before),
        "coverage_after": _percent(tests),
        "roles": {name: _role(played) for name, played in build.played.items()},
    }


def _role(played: Played) -> dict[str, Any]:
    judged = played.good + played.bad
    return {
        "steps": played.steps,
        "good": played.good,
        "bad": played.bad,
        "success": round(played.good / judged, 3) if judged else None,
        "seconds": round(played.seconds, 1),
        "tokens": _tokens(played.usage),
    }


def _tokens(usage: Usage) -> dict[str, int]:
    return {"input": usage.input, "cached": usage.cached, "output": usage.output}


def _figure(judged: Judged | None, name: str) -> float | None:
    return judged.figures.get(name) if judged else None


def _percent(judged: Judged | None) -> float | None:
    share = _figure(judged, "coverage")
    return None if share is None else round(100 * share, 1)
