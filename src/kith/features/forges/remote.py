"""Git over the network: only here may it reach other machines, and it shows a token to one origin alone."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from kith.core.errors import TreeError
from kith.core.processes import run_program
from kith.trees.git import GitRan

_REMOTE_S: Final = 1800.0  # a large repository over a slow line
# Protocols that run no program: an address may come from others.
_PROTOCOLS: Final = "file:git:http:https:ssh"
_SECRET: Final = "KITH_GIT_TOKEN"  # in the environment of one git, never among its words


def bare_environment(environ: Mapping[str, str] = os.environ) -> dict[str, str]:
    """An environment for git: without kith's own tokens, and those of a fleet's database and store."""
    return {name: value for name, value in environ.items() if not name.startswith(("KITH_", "PG", "AWS_"))}


async def run_remote(*args: str, secret: tuple[str, str] = ("", "")) -> GitRan:
    """Run git outside any tree, with this machine's own credentials. Raises TreeError where it fails.

    `secret`: an origin, and the token that git shows there and nowhere else.
    """
    quiet = {"GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C", "GIT_ALLOW_PROTOCOL": _PROTOCOLS}
    origin, token = secret
    settings = list[str]()
    if origin:
        quiet[_SECRET] = token
        helper = f"!f() {{ echo username=x-access-token; echo password=${_SECRET}; }}; f"
        for each in ("", helper):  # the first takes the helpers of this machine away
            settings += ["-c", f"credential.{origin}.helper={each}"]
    return checked(await run_words([*settings, *args], {**bare_environment(), **quiet}))


async def run_words(words: Sequence[str], env: Mapping[str, str]) -> GitRan:
    """Run git with this environment. Raises TreeError where it cannot be run."""
    try:
        ended = await run_program(["git", *words], seconds=_REMOTE_S, env=env)
    except TimeoutError:
        raise TreeError(f"git took longer than {_REMOTE_S:.0f} s") from None
    except OSError as error:
        raise TreeError(f"git cannot be run: {error.strerror}") from error
    return GitRan(ended.code, ended.stdout, ended.stderr)


def checked(ran: GitRan) -> GitRan:
    """A command of git that did its work. Raises TreeError for another."""
    if not ran.ok:
        said = ran.stderr.decode(errors="replace").splitlines()  # the first error is the cause
        causes = [line for line in said if line.startswith(("fatal: ", "error: ", "remote: "))] or said[-1:]
        raise TreeError(f"git says: {causes[0] if causes else f'exit code {ran.code}'}")
    return ran


async def find_heads(
    target: str, branches: Sequence[str], secret: tuple[str, str]
) -> tuple[str, dict[str, str]]:
    """The default branch of a repository ("" for none), and the commits of those branches that it has."""
    refs = [f"refs/heads/{each}" for each in branches]
    listed = await run_remote("ls-remote", "--symref", "--", target, "HEAD", *refs, secret=secret)
    default, heads = "", dict[str, str]()
    for line in listed.stdout.decode(errors="replace").splitlines():
        value, _, name = line.partition("\t")
        if value.startswith("ref: refs/heads/") and name == "HEAD":
            default = value.removeprefix("ref: refs/heads/")
        elif name in refs:
            heads[name.removeprefix("refs/heads/")] = value
    return default, heads


async def push_commit(
    store: Path, target: str, commit: str, branch: str, seen: str, secret: tuple[str, str]
) -> None:
    """Make a commit of the bare repository `store` the branch of a repository.

    `seen` is where that branch is now, "" where it is absent. Raises TreeError where it is elsewhere, or git
    cannot.
    """
    ref = f"refs/heads/{branch}"
    lease = f"--force-with-lease={ref}:{seen}"
    await run_remote(
        *("--git-dir", str(store), "push", "--quiet", "--no-verify", lease),
        *("--", target, f"{commit}:{ref}"),
        secret=secret,
    )
