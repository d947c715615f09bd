"""Run commands: bash, and PowerShell where the machine has it."""

import base64
import os
import re
import shlex
import shutil
from collections.abc import Callable, Mapping
from typing import Any

from msgspec.structs import replace

from kith.core.hosts import parse_hosts
from kith.core.model import Tool
from kith.core.run import Run
from kith.core.values import CallTarget, Effect, Ran, ToolResult
from kith.core.workspace import ShellCommand
from kith.shell import TRUSTING, decide, safe_environment
from kith.tools.answers import in_words, plain_output, refused, told
from kith.tools.patch import apply_patch, patch_in
from kith.tools.paths import inner_path

_SCHEMA = {
    "type": "object",
    "properties": {
        "command": {"type": "string"},
        "folder": {"type": "string"},
        "timeout": {"type": "integer", "description": "seconds"},
        "hosts": {"type": "array", "items": {"type": "string"}},
    },
    "required": ["command"],
}
# How programs say that there is no network: resolvers, the kernel, and the words of curl, npm, Go and Java.
_NO_NETWORK = re.compile(
    r"could ?n[o']t resolve|name resolution|name or service not known|network is unreachable|nameservers?"
    r"|getaddrinfo|\benotfound\b|eai_again|enetunreach|no address associated|dial tcp|unknown ?host"
    r"|failed to establish a new connection|could not connect to server|no servers could be reached",
    re.IGNORECASE,
)
_HOW_TO_REACH = '(There is no network here. A command that needs it names its hosts: hosts=["pypi.org"].)'
# PowerShell forgets the exit code of what it ran, and draws progress bars as XML.
_POWERSHELL = """$ProgressPreference = 'SilentlyContinue'
[Console]::OutputEncoding = [Text.Encoding]::UTF8
{command}
if (-not $?) {{ if ($LASTEXITCODE) {{ exit $LASTEXITCODE }}; exit 1 }}
"""


def make_shell(
    name: str, description: str, line_for: Callable[[str], str], show: Callable[[str, str], str]
) -> Tool:
    """A tool that runs a command; `line_for` turns it into a line for the tree's shell.

    `show` has a folder ("" for the tree's own) and a command as a policy and a person see them.
    """

    def shown(args: Mapping[str, Any]) -> str:
        folder = str(args.get("folder", "."))
        return show("" if folder in ("", ".", "./") else folder, args["command"])

    def target(args: Mapping[str, Any]) -> CallTarget:
        return CallTarget(shown(args), _hosts_of(args))

    @in_words
    async def execute(args: Mapping[str, Any], run: Run) -> ToolResult:
        command = args["command"]
        if not command.strip() or "\0" in command:
            return refused("The command is empty or holds a NUL character: send a command line.")
        if patch := patch_in(args):
            return await apply_patch(patch, run)
        most = run.limits.exec.seconds
        seconds = min(max(args.get("timeout", most), 1), most)
        try:
            hosts = _named(args)
        except ValueError as error:
            return refused(str(error))
        folder = inner_path(run, args.get("folder", "."))
        asked = ShellCommand(line_for(command), folder, _environment(shown(args), run), hosts=hosts)
        ran = await run.workspace.exec(asked, replace(run.limits.exec, seconds=seconds))
        return report(replace(ran, command=command), seconds)

    return Tool(name, description, _SCHEMA, "exec", execute, target, _effect)


def _environment(shown: str, run: Run) -> Mapping[str, str]:
    """Variables for a command that only looks, where no sandbox holds what it starts.

    It may have been allowed without a question: then nothing of the repository's own may start.
    """
    if run.workspace.confined or not decide(shown, TRUSTING).allowed:
        return {}
    return safe_environment(os.environ.get("PATH", os.defpath), str(run.workspace.root))


def _hosts_of(args: Mapping[str, Any]) -> tuple[str, ...]:
    """The hosts that a call names; none where they are no hosts, which the call itself answers."""
    try:
        return _named(args)
    except ValueError:
        return ()


def _named(args: Mapping[str, Any]) -> tuple[str, ...]:
    return parse_hosts(" ".join(map(str, args.get("hosts", ()))))


def _effect(args: Mapping[str, Any]) -> Effect:
    return "net" if _hosts_of(args) else "exec"


def report(ran: Ran, seconds: float) -> ToolResult:
    """Report a command's result: exit code first, then output. `seconds`: its time limit."""
    output = plain_output(ran.output)
    head = f"exit code {ran.code}"
    if ran.timed_out:
        head = f"timed out: stopped after {seconds:g} s, {head}"
    line = f"{head}, {ran.seconds:.1f} s"
    if ran.cut:
        head += f", {ran.cut:,} bytes of the output left out"
        head += f": {ran.whole} has all of it" if ran.whole else ""
    text = f"{head}\n{output}" if output.strip() else f"{head}, no output"
    if notes := _about_network(ran):
        text = "\n".join([text.removesuffix("\n"), *notes])
    return replace(told(text, line, ran=ran), ok=ran.code == 0 and not ran.timed_out)


def _about_network(ran: Ran) -> list[str]:
    """Explain refused network requests to a model."""
    refused = [
        f"refused: {each.place or 'a request'} ({each.refused})" for each in ran.reached if each.refused
    ]
    return [*refused, *([_HOW_TO_REACH] if lacks_network(ran) else [])]


def lacks_network(ran: Ran) -> bool:
    """True if a command seems to have failed for lack of network access."""
    failed = ran.sandboxed and ran.code != 0 and not ran.reached
    return failed and bool(_NO_NETWORK.search(ran.output))


def powershell_program() -> str:
    """The name of this machine's PowerShell, or ""."""
    return next((name for name in ("pwsh", "powershell.exe") if shutil.which(name)), "")


def powershell_line(program: str, command: str) -> str:
    """A line that hands a command to PowerShell, encoded, so that no shell in between reads it."""
    script = _POWERSHELL.format(command=command).encode("utf-16-le")
    return f"{program} -NoProfile -NonInteractive -EncodedCommand {base64.b64encode(script).decode()}"


def make_powershell(program: str) -> Tool:
    """PowerShell, by the name under which this machine has it."""
    description = "Run a PowerShell command."
    return make_shell(
        "powershell",
        description,
        lambda command: powershell_line(program, command),
        lambda folder, command: f"PS {folder}> {command}" if folder else f"PS> {command}",
    )


BASH = make_shell(
    "bash",
    "Run a shell command.",
    lambda command: command,
    lambda folder, command: f"cd {shlex.quote(folder)} && {command}" if folder else command,
)
