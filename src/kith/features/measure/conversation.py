"""`/profile` in a conversation."""

import asyncio
import sys

from msgspec.structs import replace

from kith.features.measure.profile import Profile, ProfileScope, read_profile
from kith.features.measure.profile_command import choose_glyphs, profile_lines
from kith.memory.log import Log
from kith.terminal.conversation.talk import Talk


async def profile(talk: Talk, rest: str) -> None:
    """Show the measurements of all models or of one. Raises UsageError for one that was never asked."""

    def read() -> "Profile":
        apart = replace(talk.project, log=Log(talk.project.log.path))  # a thread has a connection of its own
        return read_profile(apart, ProfileScope(model=rest))

    found = await asyncio.to_thread(read)  # a long log is no reason for the model's words to stand still
    if not found.calls:
        talk.say("Nothing was measured here yet. kith measures every task that a model does.")
        return
    talk.say("\n".join(profile_lines(found, choose_glyphs(sys.stdout), detailed=bool(rest))))
