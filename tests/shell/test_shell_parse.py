"""A command is plain, and then its words are exactly those that bash gives the program, or it is not."""

import subprocess

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from kith.shell import NotPlainError, Simple, Word, parse


def words(line: str) -> list[list[str]]:
    return [[word.text for word in command.words] for command in parse(line)]


def test_programs_and_their_words() -> None:
    assert words("ls -la | head -3 && echo 'a b' \"c d\"; pwd") == [
        ["ls", "-la"],
        ["head", "-3"],
        ["echo", "a b", "c d"],
        ["pwd"],
    ]
    assert [each.joint for each in parse("a || b | c && d ; e\nf")] == ["", "||", "|", "&&", ";", ";"]


def test_quotes_are_taken_off_and_patterns_of_names_are_told_apart() -> None:
    (command,) = parse("grep -rn --include='*.py' \"foo$\" src/*.c '?' HEAD~2")
    assert command.words[2:] == (
        Word("--include=*.py"),
        Word("foo$"),
        Word("src/*.c", glob=True),
        Word("?"),
        Word("HEAD~2"),
    )


def test_output_may_go_nowhere_and_input_come_from_a_file() -> None:
    assert parse("tr a b < a.txt 2>/dev/null") == (
        Simple((Word("tr"), Word("a"), Word("b")), "", (Word("a.txt"),)),
    )
    assert words("make test > /dev/null 2>&1") == [["make", "test"]]


@pytest.mark.parametrize(
    "line",
    [
        *("", "  ", "\n", "ls &", "ls |& cat", "! ls", "(ls)", "{ ls; }", "ls # all", "a() { ls; }"),
        *(
            "$x",
            "ls $x",
            "ls ${x}",
            'ls "$x"',
            "ls $(pwd)",
            "ls `pwd`",
            'ls "`pwd`"',
            "ls <(pwd)",
            "ls $((1))",
        ),
        *(
            "x=1 ls",
            "x=1",
            "export x=1",
            "unset x",
            "ls $'a'",
            'ls $"a"',
            "ls a{b,c}",
            "ls a{1..3}",
            "{ls,a}",
        ),
        *("ls > a", "ls >> a", "ls 2> a", "ls &> a", "ls >| a", "ls 3<> a", "ls <<< a", "cat <<a\nb\na"),
        *("xxd -c 0<a -l 5 b", "ls x2>&1"),  # a number before `<` is no word to bash
        *("ls > /dev/nullx", "ls < *.txt", "ls <&3", "ls >&a", "ls ~", "ls ~/a", "ls a=~/b", "ls a:~"),
        *("l\\s", "ls \\-a", "ls a\\ b", "ls \\\n-a", "ls [ab]", "ls !(a)", "ls @(a|b)", "ls !!", "ls ^a^b!"),
        *(
            "ls 'a",
            'ls "a',
            "ls &&",
            "&& ls",
            "| ls",
            "ls ||",
            "ls ;; pwd",
            "if ls; then pwd; fi",
            "[ -f a ]",
        ),
        *("[[ -f a ]]", "for x in a; do ls; done", "while true; do ls; done", "case a in a) ls;; esac"),
        *(
            "ls\ta",
            "ls\ra",
            "ls\r\nrm a",
            "ls\0a",
            "ls\u00a0a",
            "ls\u3000a",
            "ls \u202ea",
            "ls \ud800",
            "ls\x1ba",
        ),
        *("/bin/ls", "./ls", "'ls'", "l''s", "*", "l?", "ls\\", "coproc ls a &", "ls 'a\nb'", "a" * 4001),
        *("ls " + "| ls " * 60, "(" * 200 + ")" * 200, "ls " + "$(" * 100 + ")" * 100),
    ],
)
def test_anything_else_is_not_plain(line: str) -> None:
    with pytest.raises(NotPlainError):
        parse(line)


def test_the_reason_is_in_words() -> None:
    for line, why in (("ls $(a)", "a command inside"), ("ls > a", "output"), ("ls & a", "background")):
        with pytest.raises(NotPlainError, match=why):
            parse(line)


_PIECES = st.sampled_from(
    [
        *"abz019-=./:,+@%^*?~!#$&|;<>(){}[]\\'\" \n\t_",
        "''",
        '""',
        "\\\\",
        "$'",
        "&&",
        "||",
        "2>&1",
        "é",
        "HEAD~1",
    ]
)


@settings(max_examples=150, deadline=None)
@given(st.lists(_PIECES, min_size=1, max_size=14).map("".join))
@example("a'b'\"c\"")
@example('"a\\d$"')
@example("a$")
@example("x=~")
@example("a:~b")
@example("a~")
@example("#")
@example("a#b")
@example("{}")
@example("^!")
@example('"a\\!b"')
def test_what_is_plain_are_the_words_that_bash_sees(tail: str) -> None:
    line = f"show {tail}"
    try:
        commands = parse(line)
    except NotPlainError:
        return
    if any(word.glob for command in commands for word in command.words):
        return
    (first, *_) = commands
    names = {command.program for command in commands if command.program != "show"}
    script = 'show() { printf "%s\\0" "$@"; printf "\\n"; exit 0; }\n'
    script += "".join(f"{name}() {{ :; }}\n" for name in names if name.isidentifier())
    if first.inputs or len(commands) > 1:
        return
    ran = subprocess.run(["bash", "--norc", "-c", script + line], capture_output=True, check=False)
    seen = ran.stdout.decode().removesuffix("\n").split("\0")[:-1]
    assert ran.returncode == 0 and not ran.stderr
    wanted = [word.text for word in first.words[1:]]
    assert seen == (wanted or [""]) or (not ran.stdout)  # its output may go nowhere
