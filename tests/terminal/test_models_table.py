"""The table of models as a person sees it, and the scripts that complete their names."""

import argparse
import json
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kith.core.errors import EXIT_DONE, EXIT_NO_MODEL
from kith.models.discovery.advice import recommend
from kith.models.discovery.catalogue import Entry
from kith.models.discovery.memory import GIB, Memory
from kith.terminal.command_table import commands
from kith.terminal.models import show_models, show_recommendations, table
from kith.terminal.options import FORMATS
from kith.terminal.shell_completion import (
    CompletionChoices,
    choices_of,
    completion_command,
    completion_script,
    plain_names,
)

OLLAMA = "http://127.0.0.1:11434"
ROWS = (
    Entry(
        "ollama/qwen3:8b",
        "Ollama",
        OLLAMA,
        5_030_000_000,
        "8.2B",
        "Q4_K_M",
        16_384,
        40_960,
        True,
        True,
        True,
        True,
        "loaded",
        812.3,
        21.4,
        ("agent work", "edits by tool"),
        ("large prompts",),
    ),
    Entry(
        "ollama/llama3.3:70b-instruct-q4_K_M",
        "Ollama",
        OLLAMA,
        42_500_000_000,
        trained=131_072,
        tools=True,
        thinking=False,
        fits=False,
        why="needs 45.0 GB with a window of 4,096; there is room for 19.3 GB",
    ),
    Entry("llama-server/nano", "llama-server", "http://127.0.0.1:8080", window=4096, trained=4096),
    Entry("file/Mini:Q4_K_M", "Hugging Face", "/models/mini.gguf", 18_600_000_000, quantisation="Q4_K_M"),
)


def drawn(width: int) -> str:
    return "\n".join("".join(text for text, _ in line).rstrip() for line in table(ROWS, width))


def test_the_table_at_eighty_columns() -> None:
    assert (
        drawn(80)
        == """\
  MODEL                          SIZE  QUANT   WINDOW      TOOLS  THINKS  FITS
Ollama at http://127.0.0.1:11434
  ollama/qwen3:8b              5.0 GB  Q4_K_M  16k of 40k  yes    yes     loaded
    reads 812 and writes 21 tokens/s; good for: agent work, edits by tool; not
    for: large prompts
  ollama/llama3.3:70b-instruct-q4_K_M
                              42.5 GB          up to 128k  yes    no      no
    needs 45.0 GB with a window of 4,096; there is room for 19.3 GB
llama-server at http://127.0.0.1:8080
  llama-server/nano                            4k          ?      ?       ?
Hugging Face, on the disk
  file/Mini:Q4_K_M            18.6 GB  Q4_K_M              ?      ?       ?"""
    )


def test_a_wide_terminal_gives_each_name_its_column() -> None:
    lines = drawn(120).splitlines()
    (row,) = (line for line in lines if "llama3.3" in line)
    assert row.endswith("no") and "42.5 GB" in row
    assert lines[0].index("FITS") == row.rindex("no")


@given(st.integers(20, 200))
def test_lines_stay_inside_the_window_and_names_whole(width: int) -> None:
    text = drawn(width)
    assert all(len(line) <= max(width, 80) for line in text.splitlines())
    assert all(row.name in text for row in ROWS)


def test_a_hostile_name_cannot_move_the_cursor() -> None:
    row = Entry("ollama/\x1b[2J\u202ex", "server\x07", "http://h", why="\x1b", fits=False)
    text = "\n".join("".join(part for part, _ in line) for line in table([row], 80))
    assert "\x1b" not in text and "\u202e" not in text and "\x07" not in text


def test_json_has_every_field(capsys: pytest.CaptureFixture[str]) -> None:
    assert show_models(ROWS, True) == EXIT_DONE
    first = json.loads(capsys.readouterr().out)[0]
    assert set(first) == set(Entry.__struct_fields__)
    assert (first["name"], first["trained"], first["good_for"]) == (
        "ollama/qwen3:8b",
        40_960,
        ["agent work", "edits by tool"],
    )


def test_no_models_is_the_advice_and_its_exit_code(capsys: pytest.CaptureFixture[str]) -> None:
    assert show_models((), False, ["No model was found. Try this."]) == EXIT_NO_MODEL
    assert capsys.readouterr() == ("", "No model was found. Try this.\n")
    assert show_models((), True, ["No model was found."]) == EXIT_NO_MODEL
    assert capsys.readouterr().out == "[]\n"


def test_a_pipe_gets_plain_lines(capsys: pytest.CaptureFixture[str]) -> None:
    show_models(ROWS, False, ["", "kith asks ollama/qwen3:8b unless told otherwise."])
    printed = capsys.readouterr().out
    assert printed.endswith("?\n\nkith asks ollama/qwen3:8b unless told otherwise.\n")
    assert "\x1b" not in printed and "ollama/llama3.3:70b-instruct-q4_K_M" in printed
    show_recommendations(recommend(Memory(16 * GIB, 4 * GIB)), False)
    printed = capsys.readouterr().out
    assert "kith models pull Qwen/Qwen3-8B-GGUF:Q4_K_M" in printed and "close other programs" in printed
    show_recommendations(recommend(Memory(16 * GIB, 4 * GIB)), True)
    assert json.loads(capsys.readouterr().out)[0]["command"].startswith("kith models pull")


# --- completion --------------------------------------------------------------------------------

COMMANDS = {
    "": CompletionChoices("", ("-m", "--model")),
    "run": CompletionChoices(
        "do one task",
        ("-m", "--model", "--plan", "-C", "--format", "--tries"),
        {"-m": (), "--model": (), "-C": (), "--format": ("text", "json"), "--tries": ()},
    ),
    "models": CompletionChoices("list 'em", ("--json",)),
    "models pull": CompletionChoices("download", ("--force",)),
    "models probe": CompletionChoices("measure", ("--json",)),
    "engine": CompletionChoices(
        "show or stop", ("-h", "--format"), {"": ("status", "stop"), "--format": ("html",)}
    ),
    "completion": CompletionChoices("print a script", ("-h",), {"": ("bash", "zsh", "fish")}),
}
NAMES = """\
ollama/qwen3:8b
ollama/qwen3:4b
file/Mini:Q4_K_M
two words
$(touch${IFS}owned)
`touch owned`
a;touch owned
*
"""


@pytest.fixture
def shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder in which `kith models --names` is played by a script, hostile names and all."""
    (tmp_path / "names").write_text(NAMES)
    program = tmp_path / "bin" / "kith"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\n[ "$1 $2" = "models --names" ] && cat "{tmp_path}/names"\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:/usr/local/bin:/usr/bin:/bin")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def in_bash(folder: Path, line: str, breaks: str = " \t\n\"'><=;|&(:") -> list[str]:
    """What real bash would offer for a line."""
    bash = shutil.which("bash")
    if bash is None:
        pytest.skip("needs bash")
    (folder / "kith.bash").write_text(completion_script("bash", COMMANDS))
    code = 'source ./kith.bash; COMP_LINE="$1"; COMP_POINT=${#1}; COMP_WORDBREAKS="$2"; _kith; '
    code += 'for each in "${COMPREPLY[@]}"; do printf "%s\\n" "$each"; done'
    command = [bash, "--norc", "--noprofile", "-c", code, "bash", line, breaks]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=60, check=True)
    assert not done.stderr
    return done.stdout.splitlines()


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("kith mo", ["models"]),
        ("kith models p", ["pull", "probe"]),
        ("kith run --pl", ["--plan"]),
        ("kith run -m ", ["ollama/qwen3:8b", "ollama/qwen3:4b", "file/Mini:Q4_K_M"]),
        ("kith run --model file/", ["file/Mini:Q4_K_M"]),
        ("kith run --model=file/", ["file/Mini:Q4_K_M"]),
        ("kith -m oll", ["ollama/qwen3:8b", "ollama/qwen3:4b"]),
        # Bash takes a colon for the end of a word, so only what follows it is put in.
        ("kith run -m ollama/qwen3:", ["8b", "4b"]),
        ("kith models probe f", ["file/Mini:Q4_K_M"]),
        ("kith models probe --j", ["--json"]),
        ("kith models pull --", ["--force"]),
        ("kith completion ", ["bash", "zsh", "fish"]),
        ("kith ", ["run", "models", "engine", "completion"]),
        ("kith engine s", ["status", "stop"]),
        ("kith engine -", ["-h", "--format"]),
        ("kith engine --format ", ["html"]),
        ("kith models pull ", ["--force"]),
        ("kith run --format ", ["text", "json"]),
        ("kith run --tries ", []),
        ("kith run -m nothing", []),
        ("kith run -C ", []),
        ("kith", []),
    ],
)
def test_bash_completes(shell: Path, line: str, offered: list[str]) -> None:
    assert in_bash(shell, line) == offered
    assert not (shell / "owned").exists()


def test_where_a_colon_ends_no_word_the_whole_name_is_put_in(shell: Path) -> None:
    assert in_bash(shell, "kith run -m ollama/qwen3:", " \t\n") == ["ollama/qwen3:8b", "ollama/qwen3:4b"]


@given(st.text(max_size=20))
def test_only_plain_names_reach_a_shell(name: str) -> None:
    for each in plain_names([name, f"ollama/{name}"]):
        assert each.isascii() and not each.startswith("-")
        assert not set(each) & set(" \t\r\n'\"$`\\;&|<>(){}[]*?!~#^%,=")


def test_a_colon_and_a_slash_are_plain() -> None:
    assert plain_names(["hf.co/a/B-GGUF:Q4_K_M", "x y", "--yes", ""]) == ["hf.co/a/B-GGUF:Q4_K_M"]


@pytest.mark.parametrize("name", ["bash", "zsh", "fish"])
def test_the_script_is_one_that_its_shell_reads(
    tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    program = shutil.which(name)
    if program is None:
        pytest.skip(f"needs {name}")
    assert completion_command(argparse.Namespace(shell=name)) == 0
    script = tmp_path / "script"
    script.write_text(capsys.readouterr().out)
    flag = "--no-execute" if name == "fish" else "-n"
    subprocess.run([program, flag, str(script)], check=True, timeout=60)


def test_every_command_and_option_of_kith_is_completed(capsys: pytest.CaptureFixture[str]) -> None:
    for shell_name in ("bash", "zsh", "fish"):
        completion_command(argparse.Namespace(shell=shell_name))
        script = capsys.readouterr().out
        assert all(word in script for name in commands() for word in name.split())
    taken = choices_of(commands()["run"])
    assert {"-m", "--model", "--plan", "--show-plan", "--resume", "-C"} <= set(taken.options)
    assert taken.values["--output-format"] == FORMATS and taken.values["--tries"] == ()
    assert "--plan" not in taken.values and "" not in taken.values
    assert choices_of(commands()["engine"]).values[""] == ("status", "stop", "tune")
