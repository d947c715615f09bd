"""A person who agrees to everything."""

from kith.core.values import Answer, Question


async def agree(question: Question) -> Answer:
    return Answer("all" if question.kind == "change" else "yes")
