"""Convert what `kith run --output-format stream-json` prints to a trajectory (ATIF).

Plain dictionaries: Harbor checks them with its own models, and nothing here needs Harbor or kith.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final

Row = dict[str, Any]

SCHEMA: Final = "ATIF-v1.7"
# Pieces of replies and progress, of which the whole follows in another event.
TRANSIENT: Final = ("Delta", "Progress")


def read_events(lines: Iterable[str]) -> Iterator[Row]:
    """Read the events; a line that was cut, or is none, is left out."""
    for line in lines:
        try:
            event = json.loads(line)
        except ValueError:
            continue
        if isinstance(event, dict) and isinstance(event.get("event"), str):
            yield event


def without_transient(lines: Iterable[str]) -> list[str]:
    """The lines without pieces of replies, which are most of a long stream."""
    marks = tuple(f'{{"event": "{name}"' for name in TRANSIENT)
    return [line for line in lines if not line.startswith(marks)]


@dataclass
class Tally:
    """The tokens and the cost of several calls; `usd` is None while no call had a price."""

    calls: int = 0
    prompt: int = 0
    completion: int = 0
    cached: int = 0
    usd: float | None = None
    seconds: float = 0.0
    failed: int = 0

    def add(self, called: Row) -> None:
        """Count a `Called` event."""
        usage = called.get("usage") or {}
        self.calls += 1
        self.failed += called.get("stop") == "error"
        self.prompt += usage.get("input", 0)
        self.completion += usage.get("output", 0)
        self.cached += usage.get("cached", 0)
        self.seconds += (called.get("timing") or {}).get("total_s", 0.0)
        if called.get("usd") is not None:
            self.usd = (self.usd or 0.0) + called["usd"]

    def metrics(self) -> Row:
        """The metrics of a step."""
        found = {
            "prompt_tokens": self.prompt,
            "completion_tokens": self.completion,
            "cached_tokens": self.cached,
            "extra": {"seconds": round(self.seconds, 3), "failed_calls": self.failed},
        }
        return found | ({} if self.usd is None else {"cost_usd": self.usd})


@dataclass
class Trajectory:
    """A trajectory that grows event by event."""

    model: str = ""
    version: str = "unknown"
    session: str = ""
    steps: list[Row] = field(default_factory=list)
    total: Tally = field(default_factory=Tally)
    end: Row = field(default_factory=dict)
    _agent: Row = field(default_factory=dict)
    _pending: Tally = field(default_factory=Tally)  # calls since the model's last message
    _calls: dict[str, Row] = field(default_factory=dict)  # the step of each tool call
    _ended: dict[str, Row] = field(default_factory=dict)  # how each tool call went

    def take(self, event: Row) -> None:
        """Take the next event of the stream."""
        match event["event"]:
            case "RunStarted":
                self.version = event.get("version") or self.version
            case "Engaged":
                self.model = event.get("model") or self.model
                names = ("server", "window", "quantisation", "parameters", "digest", "machine")
                self._agent = {name: event[name] for name in names if event.get(name)}
            case "Called":
                self.total.add(event)
                self._pending.add(event)
            case "ToolEnded":
                self._ended[event["call_id"]] = event
            case "Said":
                self._hear(event)
            case "Compacted":
                words = event.get("summary") or "Old tool results are left out from here on."
                more = {"compacted_messages": event.get("upto"), "tokens_before": event.get("before")}
                self._add(event, "system", words, extra={**more, "tokens_after": event.get("after")})
            case "RunEnded":
                self.end = event

    def to_dict(self) -> Row | None:
        """The trajectory as ATIF has it; None where nothing was said."""
        if not self.steps:
            return None
        agent: Row = {"name": "kith", "version": self.version}
        agent |= {"model_name": self.model} if self.model else {}
        agent |= {"extra": self._agent} if self._agent else {}
        found: Row = {"schema_version": SCHEMA, "agent": agent, "steps": self.steps}
        found |= {"session_id": self.session} if self.session else {}
        return found | {"final_metrics": self._final()}

    def _final(self) -> Row:
        total = self.total
        ended = {name: self.end.get(name, "") for name in ("status", "text")} if self.end else {}
        extra = {
            "calls": total.calls,
            "failed_calls": total.failed,
            "seconds": round(total.seconds, 3),
            **ended,
        }
        found: Row = {
            "total_prompt_tokens": total.prompt,
            "total_completion_tokens": total.completion,
            "total_cached_tokens": total.cached,
            "total_steps": len(self.steps),
            "extra": extra,
        }
        return found | ({} if total.usd is None else {"total_cost_usd": total.usd})

    def _hear(self, event: Row) -> None:
        message = event["message"]
        parts = message.get("parts") or []
        author = message.get("author", "")
        if message["role"] == "tool":
            self._observe(part for part in parts if part["type"] == "ToolResult")
        elif message["role"] == "assistant":
            self._add_reply(event, parts, author)
        else:
            extra = {} if author == "person" else {"author": author}
            self._add(event, "user", _words(parts, "Text"), extra=extra)

    def _add_reply(self, event: Row, parts: list[Row], author: str) -> None:
        """Add what the model said, with the calls that it took, or what kith said in its place."""
        calls = [part for part in parts if part["type"] == "ToolCall"]
        step = self._add(event, "agent", _words(parts, "Text"))
        if author == "kith":
            step["llm_call_count"] = 0
            return
        if thought := _words(parts, "Thinking"):
            step["reasoning_content"] = thought
        if author and author != self.model:
            step["model_name"] = author
        if calls:
            step["tool_calls"] = [_tool_call(call) for call in calls]
            self._calls |= {call["id"]: step for call in calls}
        if self._pending.calls:
            step["llm_call_count"] = self._pending.calls
            step["metrics"] = self._pending.metrics()
            self._pending = Tally()

    def _observe(self, results: Iterable[Row]) -> None:
        """Put results to the step that called for them."""
        for result in results:
            step = self._calls.get(result["call_id"])
            if step is None:
                continue
            found = {"source_call_id": result["call_id"], "content": result.get("text", "")}
            extra = _outcome(result, self._ended.get(result["call_id"], {}))
            step.setdefault("observation", {"results": []})["results"].append({**found, "extra": extra})

    def _add(self, event: Row, source: str, words: str, extra: Mapping[str, Any] | None = None) -> Row:
        step: Row = {"step_id": len(self.steps) + 1, "source": source, "message": words}
        if isinstance(event.get("at"), int | float):
            step["timestamp"] = datetime.fromtimestamp(event["at"], UTC).isoformat(timespec="milliseconds")
        thread = event.get("thread", "task")
        told = {**(extra or {}), **({} if thread == "task" else {"thread": thread})}
        if told:
            step["extra"] = told
        self.steps.append(step)
        return step


def convert(lines: Iterable[str], *, session: str = "", model: str = "") -> Trajectory:
    """Convert the lines of a stream, which may have been cut anywhere."""
    made = Trajectory(model=model, session=session)
    for event in read_events(lines):
        made.take(event)
    return made


def _words(parts: Iterable[Row], kind: str) -> str:
    return "".join(part.get("text", "") for part in parts if part["type"] == kind)


def _tool_call(call: Row) -> Row:
    found = {"tool_call_id": call["id"], "function_name": call["name"], "arguments": call.get("args") or {}}
    return found | ({"extra": {"fault": call["fault"]}} if call.get("fault") else {})


def _outcome(result: Row, ended: Row) -> Row:
    """How a call went: success, seconds, and the exit code of its command."""
    found: Row = {"ok": result.get("ok", True)}
    if "seconds" in ended:
        found["seconds"] = round(ended["seconds"], 3)
    if ended.get("ran"):
        found["exit_code"] = ended["ran"]["code"]
    if result.get("fault"):
        found["fault"] = result["fault"]
    return found
