"""`/review` in a conversation."""

from typing import Any, Final

from kith.core.errors import EXIT_DONE
from kith.core.events import Event
from kith.features.review.changed_files import ReviewRequest
from kith.features.review.command import offered_in, review_lines
from kith.features.review.review import FinishedReview, run_review
from kith.terminal.conversation.slash_commands import split_arguments
from kith.terminal.conversation.talk import Talk
from kith.view.lines import count
from kith.view.printing import printable

_KNOWN: Final = 20  # findings that the model is told of


async def review(talk: Talk, rest: str) -> None:
    """Say what is wrong with a change; with --apply, propose what was suggested. Raises UsageError."""

    words = split_arguments(rest)
    apply = "--apply" in words
    wish = ReviewRequest(revision=" ".join(word for word in words if word != "--apply"))
    told = await run_review(talk.allowed, wish, talk.answer, [_without(talk, "Reviewed")], apply=apply)
    talk.voice.rest()
    talk.say("\n".join(review_lines(told, told.review.findings)))
    if told.result.code != EXIT_DONE:
        talk.say(printable(told.result.report["text"]), "red")
    if told.left:
        talk.notes.append(_as_note(told))
        offered = offered_in(told.left)
        more = f" {count(offered, 'suggestion')} to apply: /review --apply" if offered else ""
        talk.say(f"The model gets this with your next message.{more}", "dim")


def _as_note(told: FinishedReview) -> str:
    left = len(told.left) - _KNOWN
    more = [f"and {count(left, 'more finding')}"] if left > 0 else []
    lines = (f"- {each.path}:{each.line}: {each.text}" for each in told.left[:_KNOWN])
    return "\n".join([f"A review of {told.subject.words} found:", *lines, *more])


def _without(talk: Talk, *kinds: str) -> Any:
    """A listener to another session, but for the events that are shown in another way."""

    def hear(event: Event, path: tuple[str, ...]) -> None:
        if type(event).__name__ not in kinds:
            talk.hear(event, path)

    return hear
