"""Why the files that a folder brings along for kith do not count, in one sentence."""

from kith.settings import Brought


def ignored_words(brought: Brought) -> str:
    """ "" where there are none, where they count, or where the person has said already that they do not."""
    holds = f"{brought.names} {'hold' if ' and ' in brought.names else 'holds'}"
    match brought.standing:
        case "new":
            return f"What {holds} here is ignored until you trust it: kith trust shows it."
        case "changed":
            return f"What {holds} here has changed since you trusted it, so it is ignored: see kith trust."
        case "unfit":
            return f"What {holds} here is ignored: {brought.fault}"
        case _:
            return ""
