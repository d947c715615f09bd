"""The errors a person can do something about, each with its exit code; anything else is a bug."""

from typing import Final

from kith.core.numbers import time_text
from kith.core.values import FileChange

EXIT_DONE = 0
EXIT_FAILED = 1
EXIT_USAGE = 2
EXIT_REJECTED = 3
EXIT_LIMIT = 4
EXIT_NO_MODEL = 5
EXIT_HELD_BACK = 6
EXIT_PARTLY = 7
EXIT_HALF_DONE = 8
EXIT_UNRECORDED = 74  # sysexits' EX_IOERR
EXIT_TRY_LATER = 75
LONG_WAIT_S: Final = 60.0  # that a server asks for, and from which on a person hears of it


class KithError(Exception):
    """One sentence for the person, and the exit code of the command that met it."""

    code = EXIT_FAILED


class UsageError(KithError):
    """The command, a configuration key, a path or a name was wrong."""

    code = EXIT_USAGE


class LimitError(KithError):
    """A budget that the user set is spent: steps, tries, time, size."""

    code = EXIT_LIMIT


class HopelessError(KithError):
    """A model will not solve this: it takes far longer than when it does, or fails in the same way again."""


class NoModelError(KithError):
    """There is no model to ask, or not the one that was named."""

    code = EXIT_NO_MODEL


class NewerError(KithError):
    """A newer kith wrote this: it is left as it is."""


class TreeError(KithError):
    """A path, a file or the disk refused; nothing was changed."""


class AbsentError(TreeError):
    """The file that is to be read or taken away is not there."""


class HiddenError(TreeError):
    """The file is kept from the model. `why` is the reason alone, without the advice for the model."""

    def __init__(self, why: str, advice: str) -> None:
        super().__init__(f"{why}, so {advice}")
        self.why = why


class BusyError(KithError):
    """Another kith holds what this one needs."""

    code = EXIT_TRY_LATER


class UnrecordedError(KithError):
    """A change is in the person's files, but kith's own files refused to take down that it is.

    `files` are its diffs, where they are at hand.
    """

    code = EXIT_UNRECORDED

    def __init__(self, change_id: str, why: object, files: tuple[FileChange, ...] = ()) -> None:
        super().__init__(
            f"The change is applied, but not recorded: {str(why).rstrip('.')}. To undo it: "
            f"kith undo {change_id}"
        )
        self.change_id, self.files = change_id, files


_NAMED: Final = 5  # files of each side, in a sentence


class HalfDoneError(KithError):
    """Some files of a change are new and others are old, and the disk refused to finish it and to revert it.

    The journal has both sides of each file; the next recovery goes on.
    """

    code = EXIT_HALF_DONE

    def __init__(self, change_id: str, why: object, new: tuple[str, ...], old: tuple[str, ...]) -> None:
        sides = (("new", new), ("old", old))
        stands = "; ".join(f"{side}: {_named(paths)}" for side, paths in sides if paths)
        super().__init__(
            f"The change is half done ({stands}): {str(why).rstrip('.')}. Nothing is lost. When the disk "
            f"works again, revert it: kith undo {change_id}"
        )
        self.change_id, self.new, self.old = change_id, new, old


def _named(paths: tuple[str, ...]) -> str:
    more = len(paths) - _NAMED
    return ", ".join((*paths[:_NAMED], *([f"{more} more"] if more > 0 else [])))


class RevertedError(KithError):
    """A change that was half done was to be undone, and recovery has just reverted it: all is well."""

    code = EXIT_DONE

    def __init__(self, change_id: str) -> None:
        super().__init__(f"Change {change_id} was half done; kith has reverted it. Nothing else was undone.")
        self.change_id = change_id


class ModelError(KithError):
    """A model's server refused or failed.

    `retryable`: the same request may succeed later. `overflow`: the prompt does not fit the window.
    `after_s`: the server's `Retry-After` in seconds. Of an overflow, `tokens` is the prompt's size and
    `window` the context window, 0 where the server does not say.
    """

    code = EXIT_TRY_LATER

    def __init__(
        self,
        text: str,
        *,
        retryable: bool = False,
        overflow: bool = False,
        after_s: float | None = None,
        tokens: int = 0,
        window: int = 0,
    ) -> None:
        super().__init__(text)
        self.tokens = tokens
        self.window = window
        self.retryable = retryable
        self.overflow = overflow
        self.after_s = after_s
        self.code = EXIT_LIMIT if overflow else EXIT_TRY_LATER if retryable else EXIT_FAILED

    def __str__(self) -> str:
        said = super().__str__()
        if self.after_s is None or self.after_s < LONG_WAIT_S:
            return said
        return f"{said.rstrip('.')}; it can be asked again in {time_text(self.after_s)}"
