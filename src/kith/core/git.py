"""Run git safely: no setting of a repository may start a program or reach the network."""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Commit:
    """A commit that is no merge: its time (seconds since 1970), its message, and the files it changed.

    `paths` is empty where it changed too many for any of them to mean something.
    """

    name: str
    at: int
    message: str
    paths: tuple[str, ...]


# Every setting through which a repository's own configuration does so, for `git -c`.
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
