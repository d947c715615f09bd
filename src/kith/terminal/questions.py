"""Questions to a person: a key, a line of words, a diff to choose from, a text in their own editor."""

from collections.abc import Awaitable, Callable
from typing import Final

from kith.core.feature import Lazy
from kith.core.values import Answer, Question
from kith.terminal.rendering.spans import Span
from kith.terminal.screen import DIFFERENT, Screen
from kith.view.lines import broken, shortened
from kith.view.printing import whole
from kith.view.wording import always_words, question_text

_ask_change: Final[Lazy[Callable[[Screen, Question], Awaitable[Answer]]]] = Lazy(
    "kith.terminal.approving:ask_change"
)  # with diffs, which most questions do without
_KEYS: Final = (
    *(("y", "yes", "[y]es"), ("a", "always", "[a]lways in this project"), ("n", "no", "[n]o")),
    *(("e", "edit", "[e]dit"), ("s", "revise", "[s]ay what to do differently")),
)
_SEEN: Final = 12  # lines of a call that stay on any screen
_BEGINNING: Final = 200  # characters
_WHY_NOT: Final = "[s]ay why not"  # to a tool, which goes with the no
_GIVEN: Final = {"yes": "yes", "always": "yes, always in this project", "no": "no"}


async def ask(screen: Screen, question: Question) -> Answer:
    """Put one question on the terminal."""
    if question.kind == "change":
        return await _ask_change.load()(screen, question)
    _show_words(screen, question)
    if always := always_words(question):
        screen.show(always, style="dim")
    answer = await _ask(screen, question)
    if answer.choice == "always" or (answer.choice in _GIVEN and question.kind != "tool"):
        _show_given(screen, answer)
    return answer


def _show_words(screen: Screen, question: Question) -> None:
    """The words of a question; of a long call its beginning stands below it, too, where it is seen."""
    text = whole(question_text(question))
    if question.kind != "tool":
        screen.show(broken(text, screen.width), style="bold")
        return
    first, *more = text.split("\n")
    screen.show("\n    ".join((first, *more)), style="bold")
    if len(more) > _SEEN:
        begun = shortened(first, _BEGINNING)
        screen.show(f"That was {len(more) + 1:,} lines; the first: `{begun}`", style="bold yellow")


async def _ask(screen: Screen, question: Question) -> Answer:
    """Yes, no, or what else this question takes."""
    choices = {"yes", "no", *question.choices}
    keys = {key: words for key, choice, words in _KEYS if choice in choices}
    if question.kind == "tool":
        keys["s"] = _WHY_NOT
    while True:
        match await screen.press("  ".join(keys.values()), list(keys)):
            case "s":
                if said := await screen.type_line(DIFFERENT if "revise" in choices else "Why not?"):
                    return Answer("revise" if "revise" in choices else "no", said)
            case "e":
                draft = question.draft.encode()
                if (edited := await screen.edit(draft, "tasks.md")) != draft:
                    return Answer("edit", edited.decode("utf-8", "replace"))
                screen.show("Nothing was changed.")
            case key:
                return Answer(next(choice for each, choice, _ in _KEYS if each == key))


def _show_given(screen: Screen, answer: Answer) -> None:
    """Show an answer, so that it stays readable."""
    glyphs, yes = screen.look.glyphs, answer.choice != "no"
    words = f"{glyphs.good if yes else glyphs.bad} {_GIVEN[answer.choice]}"
    screen.show_lines([(Span(words, "good" if yes else "bad"),)])
