"""Questions to a person: a key, a line of words, a diff to choose from, a text in their own editor."""

from typing import TYPE_CHECKING

from kith.core.values import Answer, Question
from kith.faces.always import always_words
from kith.faces.approving.change import ask_change
from kith.faces.lines import whole

if TYPE_CHECKING:
    from kith.faces.screen import Screen

_KEYS = {
    "y": "[y]es",
    "n": "[n]o",
    "a": "[a]lways in this project",
    "e": "[e]dit",
    "s": "[s]ay what to do differently",
}
_MORE = (("a", "always"), ("e", "edit"), ("s", "revise"))  # beside yes and no, where a question has them


async def ask(screen: "Screen", question: Question) -> Answer:
    """Put one question on the terminal."""
    if question.kind == "change":
        return await ask_change(screen, question)
    screen.show(whole(question.text), style="bold")
    if always := always_words(question):
        screen.show(always, style="dim")
    keys = {"y": "yes", "n": "no"}
    keys |= {key: choice for key, choice in _MORE if choice in question.choices}
    words = "  ".join(_KEYS[key] for key in keys)
    while True:
        match keys[await screen.press(words, tuple(keys))]:
            case "revise":
                if said := await screen.type_line("What should be different?"):
                    return Answer("revise", said)
            case "edit":
                draft = question.draft.encode()
                if (edited := await screen.edit(draft, "tasks.md")) != draft:
                    return Answer("edit", edited.decode("utf-8", "replace"))
                screen.show("Nothing was changed.")
            case choice:
                return Answer(choice)
