"""The result of a run as plain data: the object that `--output-format json` prints."""

from collections.abc import Sequence
from typing import Any

from kith.core.codec import encode
from kith.core.events import Called, Judged
from kith.core.values import CacheUse, Ran
from kith.memory.past import Past


def describe_run(session: str, past: Past) -> dict[str, Any]:
    """Status, words, changes, receipt, usage: all of it seen by the harness, not told by a model.

    The status of a task that has not ended is "unfinished": somebody works on it, or it waits, or was killed.
    """
    ended, started = past.ended, past.started
    applied = past.applied[-1] if past.applied else None
    return {
        "status": ended.status if ended else "unfinished",
        "text": ended.text if ended else "",
        "answer": ended.answer if ended else None,
        "session": session,
        "applied": applied.change_id if applied else None,
        "changes": [
            {
                "path": file.path,
                "added": file.added,
                "removed": file.removed,
                "diff": file.diff,
                "planned": past.plan.covers(file.path) if past.plan else None,
            }
            for file in (applied.files if applied else past.proposed)
        ],
        "plan": encode(past.plan),
        "evidence": past.evidence.grade if past.evidence else None,
        "receipt": _receipt(past),
        "notes": [encode(finding) for finding in past.findings],
        "usage": _usage(past),
        "model": past.calls[-1].model if past.calls else (started.model if started else ""),
        "models": [_share(past, name) for name in dict.fromkeys(call.model for call in past.calls)],
        "usd": _money(past.calls),
    }


def _receipt(past: Past) -> dict[str, Any]:
    return {
        "commands": [_command(ran) for ran in past.commands],
        "checks": {
            "before": [_check(each) for each in past.verdicts if each.when == "before"],
            "after": [
                _check(each) | {"of_this_change": past.is_of_this_change(each)}
                for each in past.verdicts
                if each.when == "after" and each.ran
            ],
        },
        "evidence": encode(past.evidence) if past.evidence else None,
        "not_checked": list(past.unchecked),
        "warnings": past.notices,
    }


def _usage(past: Past) -> dict[str, Any]:
    usage, timing = past.usage, past.timing
    return {
        "calls": len(past.calls),
        "input": usage.input,
        "cached": usage.cached,
        "output": usage.output,
        "window": past.calls[-1].window if past.calls else 0,
        "cache": _cache(past),
        "compactions": past.compactions,
        "seconds": {
            "load": timing.load_s,
            "queue": timing.queue_s,
            "prefill": timing.prefill_s,
            "decode": timing.decode_s,
            "total": timing.total_s,
        },
    }


def _share(past: Past, model: str) -> dict[str, Any]:
    """Sum up one model's share; `gave_up` says why another model continued in its place."""
    calls = [call for call in past.calls if call.model == model]
    return {
        "model": model,
        "calls": len(calls),
        "input": sum(call.usage.input for call in calls),
        "cached": sum(call.usage.cached for call in calls),
        "output": sum(call.usage.output for call in calls),
        "window": calls[-1].window,
        "seconds": round(sum(call.timing.total_s for call in calls), 3),
        "usd": _money(calls),
        "gave_up": next((each.why for each in past.routes if each.after == model), ""),
    }


def _money(calls: Sequence[Called]) -> float | None:
    """US dollars of calls that have a price; None when none has."""
    prices = [call.usd for call in calls if call.usd is not None]
    return round(sum(prices), 6) if prices else None


def _cache(past: Past) -> dict[str, Any] | None:
    """Sum up the use of the server's prompt cache over all counted calls; None when none was.

    `reused`: the share of cacheable tokens that came from the cache; None when there were none.
    """
    uses = [call.cache for call in past.calls if call.cache]
    if not uses:
        return None
    total = CacheUse(sum(use.evaluated for use in uses), sum(use.unavoidable for use in uses))
    sent = sum(call.usage.input for call in past.calls if call.cache)
    could = sent - total.unavoidable
    return {
        "evaluated": total.evaluated,
        "unavoidable": total.unavoidable,
        "efficiency": round(total.efficiency, 3),
        "reused": round((sent - total.evaluated) / could, 3) if could > 0 else None,
        "estimated": any(use.estimated for use in uses),
        "causes": list(dict.fromkeys(use.cause for use in uses if use.cause)),
    }


def _command(ran: Ran) -> dict[str, Any]:
    told = {"command": ran.command, "exit_code": ran.code, "seconds": round(ran.seconds, 3)}
    return told | ({"network": encode(ran.reached)} if ran.reached else {})


def _check(verdict: Judged) -> dict[str, Any]:
    return {
        "gate": verdict.gate,
        "ok": verdict.ok,
        "attempt": verdict.attempt,
        "reason": "" if verdict.ok else next(iter(verdict.feedback.strip().splitlines()), ""),
        "commands": [_command(ran) for ran in verdict.ran],
    }
