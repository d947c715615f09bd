"""Git as kith uses it: run safely, and the names that it gives to contents."""

import shlex
from collections.abc import Sequence
from hashlib import sha1
from typing import Final

from msgspec import Struct

from kith.core.run import Run
from kith.core.workspace import ExecLimits, ShellCommand


class Commit(Struct, frozen=True):
    """A commit that is no merge: its time (seconds since 1970), its message, and the files it changed.

    `paths` is empty where it changed too many for any of them to mean something.
    """

    name: str
    at: int
    message: str
    paths: tuple[str, ...]


# No setting of a repository may start a program or reach the network: each that could, for `git -c`.
SAFE_SETTINGS: Final = (
    "core.fsmonitor=false",
    "core.hooksPath=/dev/null",
    "core.pager=cat",
    "core.editor=:",
    "core.askPass=",
    "core.sshCommand=/bin/false",
    "core.alternateRefsCommand=/bin/false",
    "core.gitProxy=",
    "sequence.editor=:",
    "diff.external=",
    "credential.helper=",
    "commit.gpgSign=false",
    "tag.gpgSign=false",
    "log.showSignature=false",
    "gpg.program=/bin/false",
    "gpg.openpgp.program=/bin/false",
    "gpg.x509.program=/bin/false",
    "gpg.ssh.program=/bin/false",
    "safe.bareRepository=explicit",
    "protocol.allow=never",
    "submodule.recurse=false",
    "status.submoduleSummary=false",
    "diff.ignoreSubmodules=dirty",  # a look into one is a git of its own, without these settings
    "gc.auto=0",
    "maintenance.auto=false",
)
# What goes with them, and what keeps the person's own configuration and other people's prompts out.
SAFE_ENVIRONMENT: Final = {
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_PAGER": "cat",
    "GIT_EDITOR": ":",
    "GIT_ASKPASS": "/bin/false",
    "GIT_SSH_COMMAND": "/bin/false",
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_LITERAL_PATHSPECS": "1",  # a file named `*` is one file
}


def blob_id(content: bytes) -> str:
    """The SHA-1 of git's blob form, in hexadecimal.

    https://git-scm.com/book/en/v2/Git-Internals-Git-Objects
    """
    return sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()


_GIT: Final = ("git", "--no-pager", *(word for setting in SAFE_SETTINGS for word in ("-c", setting)))
_ENVIRONMENT: Final = SAFE_ENVIRONMENT | {"LC_ALL": "C.UTF-8"}


def git_command(*args: str) -> ShellCommand:
    """Return the command that runs git with the repository's and the person's own programs switched off."""
    return ShellCommand(shlex.join([*_GIT, *args]), env=_ENVIRONMENT)


# Paths that the tree's own git names: a short cut, which may be missing. A repository's attributes can still
# make git run programs, so these commands run confined or not at all.


async def list_paths(run: Run, args: Sequence[str], limits: ExecLimits) -> tuple[str, ...] | None:
    """The paths in the answer of a git command that ends each with a NUL (`-z`).

    None when there is no answer to rely on: no git, no repository, no sandbox, too slow, too long, or names
    that are not UTF-8. A search that finds nothing answers with an empty tuple.
    """
    if not run.workspace.confined:
        return None
    ran = await run.workspace.exec(ShellCommand(git_command(*args).line), limits)
    if ran.timed_out or ran.cut or ran.code > 1 or "\ufffd" in ran.output:
        return None
    if ran.code == 1 and (ran.output or args[0] != "grep"):
        return None
    return tuple(path for path in ran.output.split("\0") if path)


async def list_each(
    run: Run, commands: Sequence[Sequence[str]], limits: ExecLimits
) -> tuple[tuple[str, ...], ...] | None:
    """Like `list_paths` for several commands, in one sandbox: to start one takes longer than git does."""
    if not run.workspace.confined:
        return None
    lines = [f"{git_command(*args).line}; printf '\\0%s\\0' $?" for args in commands]
    ran = await run.workspace.exec(ShellCommand("; ".join(lines)), limits)
    if ran.timed_out or ran.cut or "\ufffd" in ran.output:
        return None
    answers, words = list[tuple[str, ...]](), iter(ran.output.split("\0"))
    for args in commands:
        paths = tuple(iter(lambda: next(words, ""), ""))  # up to an empty word; the exit code follows it
        code = next(words, "")
        if code != "0" and (code != "1" or paths or args[0] != "grep"):
            return None
        answers.append(paths)
    return tuple(answers)
