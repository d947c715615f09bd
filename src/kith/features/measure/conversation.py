"""`/profile` in a conversation."""

import asyncio
import sys

from kith.features.measure.profile import ProfileScope, read_apart
from kith.features.measure.profile_command import choose_glyphs, profile_lines
from kith.terminal.conversation.talk import Talk


async def profile(talk: Talk, rest: str) -> None:
    """Show the measurements of all models or of one. Raises UsageError for one that was never asked."""
    # A long log is no reason for the model's words to stand still.
    found = await asyncio.to_thread(read_apart, talk.project, ProfileScope(model=rest))
    if not found.calls:
        talk.say("Nothing was measured here yet. kith measures every task that a model does.")
        return
    talk.say("\n".join(profile_lines(found, choose_glyphs(sys.stdout), detailed=bool(rest))))
