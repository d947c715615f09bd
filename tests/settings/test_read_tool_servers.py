"""`[mcp.NAME]`: what a server of tools is told in the configuration, and what is wrong with it."""

from pathlib import Path

import pytest

from kith.core.errors import UsageError
from kith.settings import ToolServer, describe_settings, load_settings


def read(home: Path, text: str) -> dict[str, ToolServer]:
    file = home / ".config" / "kith" / "config.toml"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    return dict(load_settings(home, {}).mcp)


def test_what_may_be_written(home: Path) -> None:
    servers = read(
        home,
        """
[mcp.files]
command = "npx -y 'a server' {project} --api-key=abc"
env = { A = "b" }
pass_env = ["TOKEN"]
cwd = "~/work"
tools = "read_*"
allow = ["read_file"]
seconds = 60
cloud = false

[mcp.far]
url = "https://example.org/mcp?team=blue"
key_env = "FAR_KEY"
off = true
""",
    )
    assert servers["files"] == ToolServer(
        ("npx", "-y", "a server", "{project}", "--api-key=abc"),
        {"A": "b"},
        ("TOKEN",),
        "~/work",
        tools=("read_*",),
        allow=("read_file",),
        seconds=60.0,
        cloud=False,
    )
    assert servers["far"].off and servers["far"].key_env == "FAR_KEY"
    shown = {key: value for key, value, _ in describe_settings(load_settings(home, {}))}
    assert shown["mcp.files"] == "npx -y 'a server' '{project}' '--api-key=***'"
    assert "blue" not in shown["mcp.far"]


def test_a_folder_has_servers_of_its_own_beside_the_others(home: Path) -> None:
    text = f"""
[mcp.everywhere]
command = "a"
[mcp.other]
command = "b"
[projects."{home}".mcp.here]
command = "c"
[projects."{home}".mcp.other]
command = "b"
off = true
[projects."/nowhere".mcp.far]
command = "d"
"""
    servers = read(home, text)
    assert list(servers) == ["everywhere", "other", "here"] and servers["other"].off


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[mcp.x]\n", "line 1: mcp.x needs either a command or a url."),
        ('[mcp.x]\ncommand = "a"\nurl = "http://b"\n', "needs either a command or a url."),
        ('[mcp.x]\ncomand = "a"\n', "line 2: unknown key 'comand'; did you mean 'command'?"),
        ('[mcp.x]\ncommand = "./run"\n', "line 2: './run' must be a program's name or an absolute path."),
        ('[mcp.x]\ncommand = "a"\ncwd = "sub"\n', "line 3: 'sub' must be an absolute path"),
        ('[mcp.x]\nurl = "example.org"\n', "line 2: that is not a server address"),
        ('[mcp.x]\nurl = "https://me:pw@example.org"\n', "line 2: that is not a server address"),
        ('[mcp.x]\nurl = "https://b"\nenv = { A = "b" }\n', "line 3: env does not apply to a url."),
        ('[mcp.x]\ncommand = "a"\nkey_env = "K"\n', "line 3: key_env does not apply to a command."),
        ('[mcp.x]\ncommand = "a"\nenv = { A = 1 }\n', "line 3: env must be a table of texts."),
        ('[mcp.x]\ncommand = "a"\nseconds = 0\n', "line 3: seconds must be more than 0 and at most 600."),
        ('[mcp.x]\ncommand = "a"\noff = "maybe"\n', "line 3: off must be true or false, not 'maybe'."),
        ('[mcp."a b"]\ncommand = "a"\n', "cannot be called 'a b'"),
        ("mcp = 3\n", "'mcp' is a table of its own, not a value."),
        ("[mcp]\nx = 3\n", "mcp.x must be a table with a command or a url."),
        ('[mcp.x]\ncommand = "a \'b"\n', "line 2"),
    ],
)
def test_what_is_wrong_is_said_with_its_line(home: Path, text: str, words: str) -> None:
    with pytest.raises(UsageError) as caught:
        read(home, text)
    assert words in str(caught.value) and "\n" not in str(caught.value)
