"""How a task ended, for the conversation: its words, unless they were shown as they came, and the receipt."""

from typing import TYPE_CHECKING, Final

from kith.view.printing import printable

if TYPE_CHECKING:
    from kith.agent.project import Result
    from kith.terminal.conversation.talk import Talk

_WAITS: Final = "Nothing applied. The change waits: /diff{id}, /apply{id}, /discard{id}"


def show_result(talk: "Talk", result: "Result") -> None:
    """The last words of a task and what the harness saw."""
    from kith.terminal.rendering.markdown import render_said
    from kith.terminal.rendering.panels import receipt_panel
    from kith.terminal.report import receipt_lines

    text, status = result.report["text"], result.report["status"]
    if status != "done":
        talk.say(printable(text), "red")
    elif text and not talk.voice.has_shown(text):
        talk.terminal.show_lines(render_said(text, talk.terminal.width, talk.terminal.look.glyphs))
    if result.report["changes"]:
        screen, lines = talk.terminal, receipt_lines(result.report)
        screen.show_lines([(), *receipt_panel(lines, screen.width, screen.look.glyphs)])
    if result.report["waiting"]:
        session = result.report["session"]
        talk.say(_WAITS.format(id="" if session == talk.id else f" {session[:6]}"), "dim")
