"""What a model cannot know when it is spoken to again: what became of its change, what the person ran."""

from collections.abc import Iterable, Sequence
from typing import Final

from kith.agent.project import Project
from kith.context.budget import fit_middle
from kith.context.rooms import output_room
from kith.core.values import Ran
from kith.edits.left_out import tell_left_out
from kith.memory.applied import holds
from kith.memory.past import Past

NOT_APPLIED: Final = "Your last change was not applied: the files are as they were before it."
ELSEWHERE: Final = "Another model finished your last task. It changed"
PARTLY: Final = "Of your last change the person kept only a part:"
SAID: Final = "They said of it:"
TAKEN_BACK: Final = "Your last change was taken back: the files are as they were before it."
LATER: Final = "Since then, these files were changed:"
READ_AGAIN: Final = "Read before you edit them again."
_MOST: Final = 12_000  # characters of all that the person ran


def with_news(project: Project, past: Past, words: str, window: int) -> str:
    """A task's words, after what the model has to know before it reads them."""
    news = news_of(project, past.last, output_room(window, _MOST)) if past.last and past.threads else ""
    return "\n\n".join(filter(None, (news, tell_commands(past.untold, window), words)))


def news_of(project: Project, last: Past, room: int = _MOST) -> str:
    """What the model cannot know of its last change, at some length; "" when it holds as it was made."""
    if last.started and last.started.options.news is not None:
        return last.started.options.news
    if not last.applied:
        return _with_words(NOT_APPLIED, last) if last.touched else ""
    if not holds(project.log.applied(str(project.root)), last.applied[-1].change_id):
        return TAKEN_BACK
    kept = last.applied[-1].files
    if any(each.after for each in last.routes):
        return name_files(ELSEWHERE, (file.path for file in kept))
    if last.proposed and kept != last.proposed:
        told = f"{PARTLY}\n{tell_left_out(last.proposed, kept, room // 2)}"
        return f"{_with_words(told, last)}\n{READ_AGAIN}"
    return ""


def _with_words(told: str, last: Past) -> str:
    """What became of a change, and what the person said as they decided it."""
    said = last.said
    if said is None or not said.text or said.unasked or said.choice == "revise":
        return told  # what sends a change back is a message of its own
    return f"{told}\n{SAID} {said.text}"


def name_files(what: str, paths: Iterable[str]) -> str:
    """A sentence that ends in these files, and what to do about them."""
    return f"{what} {', '.join(paths)}. {READ_AGAIN}"


def tell_commands(ran: Sequence[Ran], window: int) -> str:
    """The commands that the person ran, with as much output as a window of so many tokens carries."""
    room = output_room(window, _MOST) // max(1, len(ran))
    return "\n\n".join(_told(each, room) for each in ran)


def _told(ran: Ran, room: int) -> str:
    output = fit_middle(ran.output.strip("\n"), room)
    fence = "`" * max(3, _longest_run(output) + 1)
    shown = f"\n{fence}\n{output}\n{fence}" if output else " (it printed nothing)"
    return f"I ran `{ran.command}` (exit code {ran.code}):{shown}"


def _longest_run(text: str) -> int:
    """The longest run of backticks at the beginning of a line."""
    return max((len(line) - len(line.lstrip("`")) for line in text.split("\n")), default=0)
