"""Events as earlier versions wrote them, in today's form: the one place that knows their old form.

What is a field today stood in a sentence, or in a text that several values were joined into.
"""

import json
from base64 import urlsafe_b64decode
from collections.abc import Callable, Mapping
from typing import Any, Final

from kith.core.decisions import place_of

Data = dict[str, Any]


def renew(kind: str, data: Any) -> tuple[str, Any]:
    """An event's kind and data, with the fields that it was written without; most are as they were."""
    if not isinstance(data, dict):
        return kind, data
    if kind == "Said" and (convened := _convened(data)):
        return "Convened", convened
    change = _CHANGES.get(kind)
    return kind, change(data) if change else data


def _convened(data: Data) -> Data | None:
    """A council's first message held as JSON who confers about what."""
    place = place_of(str(data["thread"]))
    if place is None or place[1]:
        return None
    told = json.loads("".join(part["text"] for part in data["message"]["parts"]))
    found = {"council": place[0], "kind": "", "question": "", "members": {}, **told}
    return found if isinstance(found["members"], dict) else None


def _concluded(data: Data) -> Data:
    return data if "why" in data else {**data, "why": str(data["text"]).rpartition("\n\n")[2]}


def _started(data: Data) -> Data:
    """Options were texts: "yes" and "no", and checks with a line for each."""
    told = {name: text for name, text in (data.get("options") or {}).items() if isinstance(text, str)}
    options: Data = {name: told[name] == "yes" for name in _FLAGS if name in told}
    if "check" in told:
        options["check"] = [each for each in told["check"].split("\n") if each]
    return {**data, "options": {**data["options"], **options}} if options else data


_FLAGS: Final = ("read_only", "goal", "symbols", "agree", "quiet")


def _stepped(data: Data) -> Data:
    """A step's name held its kind, and behind that its number or the id of its task."""
    if "kind" in data:
        return data
    kind, _, rest = str(data["name"]).partition(" ")
    if kind == "attempt" and rest.isdecimal():
        return {**data, "kind": kind, "attempt": int(rest)}
    return {**data, "kind": kind, "task": rest}


def _routed(data: Data) -> Data:
    return data if "cause" in data else {**data, "cause": _known(_CAUSES, str(data["why"]))}


def _ended(data: Data) -> Data:
    hopeless = "cause" not in data and _known(_CAUSES, str(data["text"])) == "hopeless"
    return {**data, "cause": "hopeless"} if hopeless else data


_CAUSES: Final = {
    "stopped as hopeless": "hopeless",
    "it failed": "failed",
    "it cannot be asked": "absent",
}


def _noticed(data: Data) -> Data:
    return data if "topic" in data else {**data, "topic": _known(_TOPICS, str(data["text"]))}


_TOPICS: Final = {"Asking ": "model", "Going on with session ": "resumed"}


def _asked(data: Data) -> Data:
    """A question's text began with warnings, a line each, and ended with the command, behind a colon."""
    question = data["question"]
    if "warnings" in question:
        return data
    text = str(question["text"])
    if question["kind"] == "change":
        *warnings, text = text.split("\n")
        return {**data, "question": {**question, "warnings": warnings, "text": text}}
    words, colon, target = text.partition(": ")
    if question["kind"] != "tool" or not colon:
        return data
    return {**data, "question": {**question, "text": words, "target": {"text": target}}}


def _answered(data: Data) -> Data:
    """The id of a question held what it was about, and one that nobody was asked had a name as its author."""
    if "subject" in data:
        return data
    answer = data["answer"]
    unasked = answer.get("by") == _NOBODY
    return {**data, "answer": {**answer, "unasked": unasked}, "subject": _subject(str(data["question_id"]))}


def _subject(id: str) -> Data | None:
    mark, _, rest = id.partition(".")
    told = rest.partition(".")[0]
    if mark == SUBJECTS["FolderFiles"]:
        return {"type": "FolderFiles", "digest": told}
    if mark == SUBJECTS["Consent"]:
        padded = told + "=" * (-len(told) % 4)
        model, server, group = json.loads(urlsafe_b64decode(padded))
        return {"type": "Consent", "model": model, "server": server, "group": group}
    return None


_NOBODY: Final = "a run without a terminal"
SUBJECTS: Final = {"FolderFiles": "trust", "Consent": "cloud"}  # how such ids began, up to a dot


def _tool_ended(data: Data) -> Data:
    return data if data["ok"] or "fault" in data else {**data, "fault": _fault(str(data.get("line", "")))}


def _judged(data: Data) -> Data:
    if data["ok"] or data["gate"] != "edits" or "fault" in data:
        return data
    return {**data, "fault": _fault(str(data.get("feedback", "")))}


def _said(data: Data) -> Data:
    """What tools answered told the model, and nobody else, why they did not do it."""
    message = data["message"]
    if message["role"] != "tool" or not any(_is_old_result(part) for part in message["parts"]):
        return data
    return {**data, "message": {**message, "parts": [_result(part) for part in message["parts"]]}}


def _is_old_result(part: Data) -> bool:
    return part["type"] == "ToolResult" and not part["ok"] and "fault" not in part


def _result(part: Data) -> Data:
    if not _is_old_result(part):
        return part
    # What the loop refused had no line for people.
    unusable = "" if "line" in part["detail"] else "malformed"
    return {**part, "fault": _fault(str(part["text"])) or unusable}


def _fault(text: str) -> str:
    return _known(_FAULTS, text) or ("absent" if any(words in text for words in _ABSENT) else "")


_FAULTS: Final = {
    "This is not allowed": "forbidden",
    "This was not allowed": "denied",
    "Not run. You ": "repeated",
    "Not run: your reply was cut": "cut",
    "Interrupted, outcome unknown": "interrupted",
}
_ABSENT: Final = ("does not exist", "no such file")


def _known(beginnings: Mapping[str, str], text: str) -> str:
    """What a sentence that begins so meant."""
    return next((meaning for words, meaning in beginnings.items() if text.startswith(words)), "")


_CHANGES: Final[Mapping[str, Callable[[Data], Data]]] = {
    "RunStarted": _started,
    "RunEnded": _ended,
    "Stepped": _stepped,
    "Said": _said,
    "Asked": _asked,
    "Answered": _answered,
    "Routed": _routed,
    "ToolEnded": _tool_ended,
    "Judged": _judged,
    "Concluded": _concluded,
    "Notice": _noticed,
}
