"""Commands: the exit code is always said, and PowerShell gets exactly the text that was sent."""

import base64

import pytest

from kith.core.run import Limits
from kith.core.values import Ran
from kith.core.workspace import ExecLimits
from kith.tools.shell import BASH, make_powershell, powershell_program, report
from tools_bench import Bench


def test_output_follows_the_exit_code(bench: Bench) -> None:
    result = bench.use(BASH, command="echo one; echo two >&2")
    assert (result.ok, result.text) == (True, "exit code 0\none\ntwo")
    ran = result.detail["ran"]
    assert isinstance(ran, Ran) and ran.command == "echo one; echo two >&2" and ran.code == 0
    failed = bench.use(BASH, command="echo no; exit 3")
    assert (failed.ok, failed.text) == (False, "exit code 3\nno")
    assert failed.detail["line"].startswith("exit code 3, ")


def test_no_output_is_said(bench: Bench) -> None:
    assert bench.use(BASH, command="true").text == "exit code 0, no output"
    assert bench.use(BASH, command="false").text == "exit code 1, no output"


def test_commands_start_in_the_tree(bench: Bench) -> None:
    assert bench.use(BASH, command="pwd").text == f"exit code 0\n{bench.folder}"


def test_a_command_may_start_in_a_folder_of_the_tree_and_nowhere_else(bench: Bench) -> None:
    (bench.folder / "inner").mkdir()
    assert bench.use(BASH, command="pwd", folder="inner").text == f"exit code 0\n{bench.folder}/inner"
    assert not bench.use(BASH, command="pwd", folder="nowhere").ok
    assert not bench.use(BASH, command="pwd", folder="..").ok


@pytest.mark.slow
def test_a_command_out_of_time_is_stopped_and_its_output_kept(bench: Bench) -> None:
    result = bench.use(BASH, command="echo started; sleep 600", timeout="1")
    assert not result.ok
    assert result.text == "timed out: stopped after 1 s, exit code 124\nstarted"


@pytest.mark.slow
def test_no_command_gets_more_time_than_the_run_allows(bench: Bench) -> None:
    bench.limits = Limits(exec=ExecLimits(seconds=0.3))
    assert bench.use(BASH, command="sleep 20", timeout=500).text.startswith("timed out: stopped after 0.3 s,")
    assert bench.use(BASH, command="sleep 20", timeout=-1).text.startswith("timed out: stopped after 0.3 s,")


def test_a_cut_output_names_the_file_with_all_of_it() -> None:
    ran = Ran("make", 0, "first\n[... 9 bytes left out ...]\nlast", 1.0, cut=9, whole="/tmp/output-1.txt")
    assert report(ran, 60.0).text.startswith(
        "exit code 0, 9 bytes of the output left out: /tmp/output-1.txt has all of it\nfirst"
    )


def test_long_output_keeps_its_end_and_says_what_is_missing(bench: Bench) -> None:
    bench.limits = Limits(exec=ExecLimits(output=3000))
    text = bench.use(BASH, command="seq 1 5000").text
    assert text.startswith("exit code 0, 20,893 bytes of the output left out\n1\n2\n")
    assert text.endswith("\n4999\n5000") and len(text) < 3300


def test_colours_and_progress_bars_are_not_for_models(bench: Bench) -> None:
    coloured = r"printf '\033[1;31mred\033[0m\n10%%\r50%%\r100%%\ndos\r\n\033]0;title\007end'"
    assert bench.use(BASH, command=coloured).text == "exit code 0\nred\n100%\ndos\nend"


@pytest.mark.parametrize("command", ["", "  \n", "a\0b"])
def test_what_is_no_command_is_refused(bench: Bench, command: str) -> None:
    result = bench.use(BASH, command=command)
    assert not result.ok and "ran" not in result.detail


def test_half_a_character_is_refused(bench: Bench) -> None:
    for tool in (BASH, make_powershell("pwsh")):
        result = bench.use(tool, command="echo \ud800")
        assert not result.ok and "half a character ('\\ud800')" in result.text


def test_powershell_gets_the_command_word_for_word(bench: Bench) -> None:
    """Against a program that only repeats what it was given: quoting is what can go wrong here."""
    programs = bench.folder.parent / "programs"
    programs.mkdir()
    (programs / "pwsh").write_text('#!/bin/sh\necho "$@"\n')
    (programs / "pwsh").chmod(0o755)
    bench.path = str(programs)
    command = 'Get-Item "a b" | % { \'$x; `"{0}\' } # é'
    result = bench.use(make_powershell("pwsh"), command=command)
    *options, script = result.text.removeprefix("exit code 0\n").split(" ")
    assert options == ["-NoProfile", "-NonInteractive", "-EncodedCommand"]
    assert command in base64.b64decode(script).decode("utf-16-le").split("\n")
    assert result.detail["ran"].command == command


@pytest.mark.skipif(not powershell_program(), reason="needs PowerShell, which is not installed")
def test_powershell_reports_exit_codes(bench: Bench) -> None:
    tool = make_powershell(powershell_program())
    assert bench.use(tool, command="Write-Output 'a b'").text == "exit code 0\na b"
    assert bench.use(tool, command="exit 3").text.startswith("exit code 3")
    assert not bench.use(tool, command="Get-Item nowhere").ok
