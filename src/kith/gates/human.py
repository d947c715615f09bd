"""The last gate: a person reads one diff and says yes, no, or what to do differently."""

from kith.core.run import Gate, Run, new_id
from kith.core.values import Answer, Changes, Question, Verdict
from kith.edits import summarise

CHOICES = ("all", "none", "some", "edit", "revise")


def human_gate(text: str = "Apply this change?") -> Gate:
    """Asks about the change. "some" and "edit" keep what the answer holds; "revise" sends words back."""

    async def judge(run: Run, changes: Changes) -> Verdict:
        answer = await run.ask(Question(new_id(), "change", text, CHOICES, changes, files=summarise(changes)))
        return _verdict(answer)

    return judge


def _verdict(answer: Answer) -> Verdict:
    match answer.choice:
        case "all":
            return Verdict(True, by="person")
        case "some" | "edit" if answer.changes:
            return Verdict(True, by="person", changes=answer.changes)
        case "revise" if answer.text:
            return Verdict(False, answer.text, by="person")
        case _:
            return Verdict(False, by="person")
