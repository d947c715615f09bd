"""`/test` in a conversation."""

from kith.features.testgen.command import report, tests_lines
from kith.features.testgen.generate import TestgenRequest, generate_tests
from kith.terminal.conversation.talk import Talk
from kith.view.printing import printable


async def test(talk: Talk, rest: str) -> None:
    """Write tests that prove something, for a target or for what is not committed. Raises UsageError."""

    told = await generate_tests(talk.allowed, TestgenRequest(rest), talk.answer, [talk.hear])
    talk.voice.rest()
    data = report(told)
    talk.say(printable("\n".join(line for each in data.get("tests", ()) for line in tests_lines(each))))
    if told.result:
        talk.show_result(told.result)
