"""`/original` in a conversation."""

from kith.core.errors import UsageError
from kith.features.coach import CoachSettings
from kith.terminal.conversation.talk import Talk, read_settings

_MEANINGS = {"on": True, "off": False}


async def original(talk: Talk, rest: str) -> None:
    """Switch the original way of asking on or off for this conversation. Raises UsageError."""
    now = talk.project.settings.section(CoachSettings).original
    if rest and rest not in _MEANINGS:
        raise UsageError("/original takes on or off.")
    wanted = _MEANINGS.get(rest, not now)
    talk.flags = {**talk.flags, "coach.original": wanted}
    await read_settings(talk)
    how = "as you write it" if wanted else "as kith coach has tuned it"
    talk.say(f"From now on the model is asked {how}.", "dim")
