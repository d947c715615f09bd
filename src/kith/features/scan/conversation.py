"""`/init` in a conversation."""

from kith.edits import summarise
from kith.features.scan.guide import keep_guide, propose_guide
from kith.terminal.conversation.talk import Talk, read_settings
from kith.terminal.rendering.diffs import changes_lines
from kith.view.printing import printable


async def init(talk: Talk, rest: str) -> None:
    """Write an AGENTS.md from what a scan finds, once the person has seen it. Raises KithError."""

    talk.project.check_writable()
    changes = await propose_guide(talk.project, talk.hear)
    talk.voice.rest()
    if not changes:
        talk.say("The notes for agents say all of it already.")
        return
    screen, path = talk.terminal, printable(changes[0].path)
    screen.show_lines(changes_lines(summarise(changes), screen.width, screen.look.glyphs))
    if await screen.press(f"Write {path}?  [y]es  [n]o", "yn") != "y":
        talk.say("Nothing was written.")
        return
    _, counts = await keep_guide(talk.project, changes)
    await read_settings(talk)
    how = "New conversations begin with it." if counts else "It counts once you trust this folder: kith trust"
    talk.say(f"{path} is written. {how}", "green")
