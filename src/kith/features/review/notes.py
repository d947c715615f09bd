"""Review every run: notable points of a change, shown beside its diff, never blocking it."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from msgspec.structs import replace

from kith.core.errors import KithError
from kith.core.events import Notice, Reviewed
from kith.core.model import Prompt, Role
from kith.core.run import Run, Thread
from kith.core.values import Changes, Finding, say
from kith.features.review.changed_files import Sheets, make_sheets
from kith.features.review.checks import find_by_looking
from kith.features.review.evidence import check_claim
from kith.features.review.findings import QUOTED, TRIES, merge, read_claims
from kith.models.dialects.json_text import load_json
from kith.view.lines import shortened

_MOST: Final = 3  # risks, and tests
_AGAIN: Final = "Your reply holds no JSON object. Answer with the JSON object and nothing else."
_REQUEST: Final = """\
Your change passed the checks. Before the user sees it, look at it once more as a reviewer who doubts it. \
Use no tools now. Answer with one JSON object and nothing else:
{"risks": [{"path": "...", "line": 1, "evidence": "a line of your change, copied exactly", "why": "..."}], \
"tests": ["..."]}
risks: inputs and edge cases for which it may go wrong, at most 3, each in a sentence. tests: what should be \
tested and is not, at most 3. Leave a list empty rather than fill it."""


async def tell_notes(
    run: Run, changes: Changes, found: Sequence[Finding], role: Role | None, thread: Thread
) -> None:
    """Emit the notable points of a change as one event, if there are any: what linters found, then more.

    With a `role`, its model is asked too.
    """
    sheets = make_sheets(changes)
    notes = (*found, *find_by_looking(changes, sheets))
    if role is not None:
        notes = (*notes, *await _ask(run, role, thread, sheets))
    if notes:
        run.emit(Reviewed(merge(notes)[0]))


async def _ask(run: Run, role: Role, thread: Thread, sheets: Sheets) -> tuple[Finding, ...]:
    """One question behind the conversation, in the same words up to it, so that the cache holds them.

    It does not join the thread: the model goes on from its change, not from its doubts.
    """
    messages = (*thread.messages, say(_REQUEST, "kith"))
    words = ""
    try:
        with run.step("notes") as step:
            for attempt in range(1, TRIES + 1):
                prompt = Prompt(
                    role.system, messages, role.tools, "notes", attempt, role.sampling, thread.name
                )
                reply = await role.model(prompt, step.emit)
                words = reply.message.text
                if isinstance(load_json(words), Mapping):
                    return read_notes(words, sheets, role.model.name)
                messages = (*messages, reply.message, say(_AGAIN, "kith"))
    except KithError as error:  # a note less is no reason to end
        run.emit(Notice(f"The model wrote no notes: {error}"))
        return ()
    wrote = shortened(" ".join(words.split()), QUOTED)
    run.emit(Notice(f"{role.model.name} wrote notes without JSON, also when asked again: {wrote}", "warning"))
    return ()


def read_notes(words: str, sheets: Sheets, by: str) -> tuple[Finding, ...]:
    """The risks on lines of the change, and the missing tests."""
    data = load_json(words)
    if not isinstance(data, Mapping) or not sheets:
        return ()
    claims, _ = read_claims(json.dumps(_list(data, "risks")))
    checked = (check_claim(claim, sheets, by) for claim in claims[:_MOST])
    risks = (replace(each, severity="note", rule="risk") for each in checked if isinstance(each, Finding))
    path = next(iter(sheets))
    line = min(sheets[path].added, default=1)
    tests = [each for each in _list(data, "tests") if isinstance(each, str) and each.strip()][:_MOST]
    missed = (Finding(path, line, "note", "test", f"Not tested: {text.strip()}", by) for text in tests)
    return (*risks, *missed)


def _list(data: Mapping[str, Any], key: str) -> list[Any]:
    value = data.get(key)
    return value if isinstance(value, list) else []
