"""A change that the checks let pass, looked at once more, so that it is known how often they are wrong."""

from typing import Any, Final

from kith.context.budget import fit_middle
from kith.core.errors import LimitError, ModelError, NoModelError
from kith.core.events import Judged, Notice
from kith.core.model import Model, Prompt
from kith.core.run import Run
from kith.core.values import Changes, Sampling, say
from kith.edits import summarise

GATE: Final = "audit"
_DIFF: Final = 9_000  # characters
_SYSTEM: Final = (
    "You are shown a task and a change that was made for it; its tests pass. Say whether the change does "
    'what the task asks, for every input. Answer with one JSON object: {"solved": true or false, '
    '"why": "..."}; why: one sentence, with an input for which it goes wrong if there is one.'
)
_SHAPE: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {"solved": {"type": "boolean"}, "why": {"type": "string"}},
    "required": ["solved", "why"],
}


async def audit(run: Run, model: Model, goal: str, changes: Changes) -> None:
    """Have in the log what `model` says of a change. It decides nothing: the person sees it with the diff."""
    diff = fit_middle("".join(file.diff for file in summarise(changes)), _DIFF)
    words = say(f"# Task\n{goal}\n\n# Change\n{diff}", GATE)
    sampling = Sampling(max_tokens=500)
    prompt = Prompt(_SYSTEM, (words,), purpose="judge", sampling=sampling, shape=_SHAPE)
    try:
        reply = await model(prompt, run.emit)
    except (LimitError, ModelError, NoModelError) as error:
        run.emit(Notice(f"The change was not audited: {error}"))
        return
    said = _read(reply.message.text)
    if said is not None:
        # Attempt 0: no try of the model that wrote it, so nothing is sent back.
        run.emit(Judged(GATE, said["solved"], 0, "" if said["solved"] else str(said.get("why", ""))))


def _read(text: str) -> dict[str, Any] | None:
    """The answer's object; None where it holds none."""
    import json_repair

    found = json_repair.loads(text[text.find("{") :]) if "{" in text else None
    return found if isinstance(found, dict) and isinstance(found.get("solved"), bool) else None
