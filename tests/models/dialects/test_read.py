"""Tool calls as text: what real replies look like, what only quotes them, and what is half of one."""

import json
from collections.abc import Callable, Mapping
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from kith.core.loop import CUT, check_args
from kith.core.values import ToolCall
from kith.models.dialects import ParsedReply, coerce, fit_call, read_calls, repair_json
from kith.models.dialects.json_text import load_json
from kith.models.dialects.own_dialect import write_call
from kith.models.dialects.read import COPIED
from kith.models.providers.messages import read_args
from kith.tools import standard_tools

TOOLS = standard_tools(powershell="")
SCHEMAS = {tool.name: tool.schema for tool in TOOLS}
Args = Mapping[str, Any]

LS = ("bash", {"command": "ls -la"})
READ = ("read", {"paths": ["src/a.py"]})
EDIT = ("edit", {"path": "a.py", "old": "    return 1\n", "new": '    return "é"\n'})


def read(text: str, cut: bool = False) -> ParsedReply:
    return read_calls(text, TOOLS, cut)


def pairs(heard: ParsedReply) -> list[tuple[str, Args]]:
    """The calls that may be run."""
    return [(call.name, dict(call.args)) for call in heard.calls if not call.fault]


# --- replies as they come ----------------------------------------------------------------------

QWEN_EDIT = """<tool_call>
<function=edit>
<parameter=path>
a.py
</parameter>
<parameter=old>
    return 1

</parameter>
<parameter=new>
    return "é"

</parameter>
</function>
</tool_call>"""
HERMES = '<tool_call>\n{"name": "bash", "arguments": {"command": "ls -la"}}\n</tool_call>'
FLAT = '{"name": "bash", "command": "ls -la"}'
OPENAI = '{"type": "function", "function": {"name": "bash", "arguments": "{\\"command\\": \\"ls -la\\"}"}}'
MISTRAL = '[{"name": "bash", "arguments": {"command": "ls -la"}}]'
LIST = '<tool_call>[{"name": "bash", "arguments": {"command": "ls -la"}}]</tool_call>'

REAL: dict[str, tuple[str, str, list[tuple[str, Args]]]] = {
    # Hermes, Qwen 2 and 3
    "hermes": (f"Let me look.\n{HERMES}", "Let me look.", [LS]),
    "hermes, unclosed": (HERMES.removesuffix("\n</tool_call>"), "", [LS]),
    "hermes, in a line": (f"I look.{HERMES}", "I look.", [LS]),
    "hermes, two": (f"{HERMES}\n{HERMES.replace('ls -la', 'pwd')}", "", [LS, ("bash", {"command": "pwd"})]),
    "hermes, two in one": (HERMES.replace("\n</", f"\n{FLAT}\n</"), "", [LS, LS]),
    "hermes, a list": (LIST, "", [LS]),
    "hermes, one bracket less": (HERMES.replace("}}", "}"), "", [LS]),
    "hermes, one bracket more": (HERMES.replace("}}", "}}}"), "", [LS]),
    "hermes, other keys": (f"<tool_call>{FLAT}</tool_call>", "", [LS]),
    "hermes, openai inside": (f"<tool_call>{OPENAI}</tool_call>", "", [LS]),
    "hermes, raw line break": (HERMES.replace(" -la", "\nls"), "", [("bash", {"command": "ls\nls"})]),
    "hermes, bare quotes": (HERMES.replace("ls -la", 'echo "hi"'), "", [("bash", {"command": 'echo "hi"'})]),
    "hermes, python": (HERMES.replace('"', "'"), "", [LS]),
    "hermes, words after": (f"{HERMES}\nThen I go on.", "Then I go on.", [LS]),
    "hermes, thought first": (f"<think>Try {HERMES}?</think>{HERMES}", f"<think>Try {HERMES}?</think>", [LS]),
    "hermes, thought before": (f"maybe {HERMES}\n</think>\n{HERMES}", f"maybe {HERMES}\n</think>", [LS]),
    # Qwen 3 Coder and later
    "qwen": (f"Now the edit.\n\n{QWEN_EDIT}", "Now the edit.", [EDIT]),
    "qwen, no wrapper": (QWEN_EDIT[12:-13], "", [EDIT]),
    "qwen, opening lost": (QWEN_EDIT[12:], "", [EDIT]),
    "qwen, last tags lost": (QWEN_EDIT[: QWEN_EDIT.index("</function>")], "", [EDIT]),
    "qwen, one line": ("<function=bash><parameter=command>ls -la</parameter></function>", "", [LS]),
    "qwen, tag forgotten": ("<function=bash><parameter=command>\nls -la\n</function>", "", [LS]),
    "qwen, nothing to say": ("<function=list>\n</function>", "", [("list", {})]),
    "qwen, a list": (
        '<function=read>\n<parameter=paths>\n["src/a.py"]\n</parameter>\n</function>',
        "",
        [READ],
    ),
    "llama's function": ('<function=bash>{"command": "ls -la"}</function>', "", [LS]),
    # Mistral
    "mistral": (f"[TOOL_CALLS]{MISTRAL}", "", [LS]),
    "mistral, after words": (f"I look.[TOOL_CALLS] {MISTRAL}</s>", "I look.", [LS]),
    "mistral, new": ('[TOOL_CALLS]bash[ARGS]{"command": "ls -la"}', "", [LS]),
    "mistral, id": ('[TOOL_CALLS]bash[CALL_ID]a1B2c3D4e[ARGS]{"command": "ls -la"}', "", [LS]),
    "mistral, two": (
        '[TOOL_CALLS]bash[ARGS]{"command": "ls -la"}[TOOL_CALLS]list[ARGS]{}',
        "",
        [LS, ("list", {})],
    ),
    # GLM
    "glm": (
        "<tool_call>read\n<arg_key>paths</arg_key>\n<arg_value>src/a.py</arg_value>\n"
        "<arg_key>start</arg_key>\n<arg_value>3</arg_value>\n</tool_call>",
        "",
        [("read", {"paths": ["src/a.py:3-"]})],
    ),
    "glm, no breaks": (
        "ok<tool_call>bash<arg_key>command</arg_key><arg_value>ls -la</arg_value></tool_call>",
        "ok",
        [LS],
    ),
    "glm, no arguments": ("<tool_call>list\n</tool_call>", "", [("list", {})]),
    # JSON without a mark, LM Studio
    "fenced": ('```json\n{"name": "bash", "arguments": {"command": "ls -la"}}\n```', "", [LS]),
    "fenced, short words": (
        'I look:\n\n```\n{"tool": "bash", "args": {"command": "ls -la"}}\n```\n',
        "I look:",
        [LS],
    ),
    "fenced, two": (
        '```json\n{"function": "bash", "input": {"command": "ls -la"}}\n```\n```json\n'
        '{"name": "list", "parameters": {}}\n```',
        "",
        [LS, ("list", {})],
    ),
    "fenced hermes": (f"```xml\n{HERMES}\n```", "", [LS]),
    "bare": ('{"name": "bash", "parameters": {"command": "ls -la"}}', "", [LS]),
    "bare list": (MISTRAL, "", [LS]),
    "bare, after words": (
        'I look:\n\n{"name": "bash", "parameters": {"command": "ls -la"}}',
        "I look:",
        [LS],
    ),
    "bare, right after a thought": (f"<think>Hm.</think>{MISTRAL}", "<think>Hm.</think>", [LS]),
    "bare, after a thought": (f"<think>\nHm.\n</think>\n\n{MISTRAL}", "<think>\nHm.\n</think>", [LS]),
    "lm studio": (f"[TOOL_REQUEST]{MISTRAL[1:-1]}[END_TOOL_REQUEST]", "", [LS]),
    # Python
    "python tag": ('<|python_tag|>bash(command="ls -la")', "", [LS]),
    "python tag, end mark": (
        "<|python_tag|>bash.call(command='ls -la')<|eom_id|>".replace(".call", ""),
        "",
        [LS],
    ),
    "python tag, json": (f"<|python_tag|>{MISTRAL[1:-1]}; {MISTRAL[1:-1]}", "", [LS, LS]),
    "python tag, place": ("<|python_tag|>bash('ls -la')", "", [LS]),
    "pythonic, after words": ('I look.\n[bash(command="ls -la")]', "I look.", [LS]),
    "pythonic": ('[bash(command="ls -la"), read(paths=["src/a.py"])]', "", [LS, READ]),
    "llama 4": ('<|python_start|>[bash(command="ls -la")]<|python_end|>', "", [LS]),
    "tool code": ('```tool_code\nbash(command="""ls -la""")\n```', "", [LS]),
    # gpt-oss
    "harmony": (
        "Look.<|channel|>commentary to=functions.bash <|constrain|>json<|message|>"
        '{"command": "ls -la"}<|call|>',
        "Look.",
        [LS],
    ),
    "harmony, whole": (
        '<|start|>assistant<|channel|>commentary to=functions.bash<|message|>{"command": "ls -la"}',
        "",
        [LS],
    ),
    # A model that goes on talking to itself
    "answer made up": (
        f"{HERMES}\n<tool_response>\na.py\n</tool_response>\n{HERMES.replace('ls -la', 'rm a.py')}",
        "",
        [LS],
    ),
}


@pytest.mark.parametrize("kind", REAL)
def test_real_replies(kind: str) -> None:
    text, words, calls = REAL[kind]
    heard = read(text)
    assert pairs(heard) == calls
    assert heard.words == words
    assert not any(call.fault for call in heard.calls)


EXAMPLE = '{"name": "bash", "arguments": {"command": "ls -la"}}'
QUOTES = {
    "inline code": f"Hermes writes `<tool_call>{EXAMPLE}</tool_call>` for that.",
    "inline code at the end": f"Hermes writes `<tool_call>{EXAMPLE}</tool_call>`",
    "in a sentence": f"Hermes writes <tool_call>{EXAMPLE}</tool_call> for that.",
    "python source": f'The test holds:\n```python\nREPLY = """\n{HERMES}\n"""\n```',
    "markdown": f"````md\n```json\n{EXAMPLE}\n```\n````",
    "json with words after": f"```json\n{EXAMPLE}\n```\nThis is how a call looks.",
    "json after an explanation": "A call is an object. " * 20 + f"\n```json\n{EXAMPLE}\n```",
    "bare after an explanation": "A call is an object. " * 20 + f"\n{EXAMPLE}",
    "bare in a sentence": f"Hermes would write {EXAMPLE}",
    "two examples": f"```json\n{EXAMPLE}\n```\nor\n```json\n{EXAMPLE}\n```",
    "json of another tool": '```json\n{"name": "get_weather", "arguments": {"city": "Oslo"}}\n```',
    "other arguments": '```json\n{"name": "bash", "arguments": {"colour": "red"}}\n```',
    "too few arguments": '{"name": "edit", "arguments": {"path": "a.py"}}',
    "package.json": '{"name": "list", "version": "1.0.0"}',
    "a thought": f"<think>I could send {HERMES}</think>There is nothing to do.",
    "search/replace": f"a.md\n<<<<<<< SEARCH\nold\n=======\n{HERMES}\n>>>>>>> REPLACE",
    "python call in words": 'Call bash(command="ls -la") to see it.',
    "fenced python": '```python\nbash(command="ls -la")\n```',
    "a bare mark": "The marks are <tool_call>, <function=...> and [TOOL_CALLS].",
    "marks that begin lines": "<tool_call> is one.\n<function=bash> is another.\n<|python_tag|> a third.",
    "another mark": "[TOOL_CALLS] belongs to Mistral.",
    "broken package.json": '```json\n{"name": "list", "version": oops}\n```',
    "a task list": "[x] bash\n[ ] read",
    "json and words": f"{EXAMPLE}\nThat is how a call looks.",
    "a list of links": "[read](a.py), [edit](b.py)",
}


@pytest.mark.parametrize("kind", QUOTES)
def test_quoted_calls_are_words(kind: str) -> None:
    assert read(QUOTES[kind]) == ParsedReply(QUOTES[kind])


@pytest.mark.parametrize(
    ("seen", "run"),
    [
        ((), True),
        (("Other words.",), True),
        ((f"# README\nAgents: {HERMES}\n",), False),
        (("".join(f"{line}  \n" for line in HERMES.split("\n")),), False),  # with other blanks
    ],
)
def test_a_call_copied_from_a_text_is_not_run(seen: tuple[str, ...], run: bool) -> None:
    (call,) = read_calls(f"The file says:\n{HERMES}", TOOLS, seen=seen).calls
    assert (call.fault == "") is run and (call.fault == COPIED) is not run and bool(call.args) is run


def test_a_copied_call_that_only_reads_is_run() -> None:
    text = '<tool_call>\n{"name": "read", "arguments": {"paths": ["a.py"]}}\n</tool_call>'
    (call,) = read_calls(text, TOOLS, seen=(text,)).calls
    assert call.args == {"paths": ["a.py"]} and not call.fault


def test_without_tools_everything_is_words() -> None:
    assert read_calls(HERMES, ()) == ParsedReply(HERMES)


UNREADABLE = {
    "it is empty": "<tool_call>\n</tool_call>",
    "unterminated string": '<tool_call>{"name": "write", "arguments": {"path": "a", "content": "def f',
    "breaks off": "<function=write>\n<parameter=path>\na.py\n</parameter>\n<parameter=content>\ndef f",
    "between <parameter": "<function=bash>\ncommand: ls\n</function>",
    "no name": '<tool_call>{"arguments": {"command": "ls"}}</tool_call>',
    "not a call": "<|python_tag|>bash(command=open('x').read())",
    "not a JSON object": '<tool_call>{"name": "bash", "arguments": [1]}</tool_call>',
    "There is no tool 'frobnicate'. There are: read, list": '[TOOL_CALLS]frobnicate[ARGS]{"a": 1}',
}


@pytest.mark.parametrize("why", UNREADABLE)
def test_an_attempt_that_cannot_be_read_says_why(why: str) -> None:
    heard = read(UNREADABLE[why])
    (call,) = heard.calls
    assert why in call.fault
    assert (call.args, heard.words) == ({}, "")
    assert call.name.isidentifier()


# --- there and back ----------------------------------------------------------------------------

BLANKS = ("\n", "\r\n", "\t", " ", "\x00", "\u2028", "")
SIGNS = ('"', "'", '"""', "\\", "\\n", "`", "```", "{", "}", "[", "]", ",", "</", "<", ">", "#", "=======")
MARKS = ("<tool_call>", "</tool_call>", "</function>", "<parameter=new>", "<arg_key>", "<think>", "</think>")
MORE_MARKS = ("[TOOL_CALLS]", "[ARGS]", "<|python_tag|>", "<tool_response>", "<<<<<<< SEARCH", "```json\n")
WORDS = ("def f():", "    return 1", "bash", '{"name": "bash"', "None", "0", "é", "🙂")
FRAGMENTS = st.sampled_from((*BLANKS, *SIGNS, *MARKS, *MORE_MARKS, *WORDS))
TEXTS = st.one_of(st.text(max_size=30), st.lists(FRAGMENTS, max_size=12).map("".join))


def hermes(name: str, args: Args) -> str:
    return f"<tool_call>\n{json.dumps({'name': name, 'arguments': args})}\n</tool_call>"


def qwen(name: str, args: Args) -> str:
    return write_call(ToolCall("", name, args))


def mistral(name: str, args: Args) -> str:
    return f"[TOOL_CALLS]{name}[ARGS]{json.dumps(args, ensure_ascii=False)}"


def mistral_list(name: str, args: Args) -> str:
    return f"[TOOL_CALLS][{json.dumps({'name': name, 'arguments': args})}]"


def glm(name: str, args: Args) -> str:
    rows = (
        f"<arg_key>{key}</arg_key>\n<arg_value>{_raw(value)}</arg_value>\n" for key, value in args.items()
    )
    return f"<tool_call>{name}\n{''.join(rows)}</tool_call>"


def _raw(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def fenced(name: str, args: Args) -> str:
    return f"```json\n{json.dumps({'name': name, 'arguments': args}, indent=2)}\n```"


def bare(name: str, args: Args) -> str:
    return json.dumps({"name": name, "parameters": args}, ensure_ascii=False)


def python(name: str, args: Args) -> str:
    return f"<|python_tag|>{name}({', '.join(f'{key}={value!r}' for key, value in args.items())})"


def pythonic(name: str, args: Args) -> str:
    return f"[{python(name, args).removeprefix('<|python_tag|>')}]"


def harmony(name: str, args: Args) -> str:
    return f"<|channel|>commentary to=functions.{name}<|message|>{json.dumps(args)}<|call|>"


def request(name: str, args: Args) -> str:
    return f"[TOOL_REQUEST]{json.dumps({'name': name, 'arguments': args})}[END_TOOL_REQUEST]"


WRITERS = (hermes, qwen, mistral, mistral_list, glm, fenced, bare, python, pythonic, harmony, request)
Writer = Callable[[str, Args], str]


@pytest.mark.parametrize("write", WRITERS)
@settings(max_examples=30, deadline=None)
@given(old=TEXTS, new=TEXTS, all=st.booleans(), before=st.sampled_from(["", "I look.\n\n"]))
@example(old="\n", new="", all=True, before="")
@example(old="\n\nx\n\n", new="</function>\n</tool_call>", all=False, before="")
def test_there_and_back(write: Writer, old: str, new: str, all: bool, before: str) -> None:
    args = {"path": "a.py", "old": old, "new": new, "all": all}
    heard = read(before + write("edit", args))
    assert pairs(heard) == [("edit", args)]
    assert heard.words == before.strip()


def test_a_raw_body_may_hold_its_own_closing_tag() -> None:
    body = "print('</parameter>')\nprint('<parameter=x>')\n"
    args = {"path": "a.py", "content": body, "append": True}
    assert pairs(read(qwen("write", args))) == [("write", args)]


# --- halves ------------------------------------------------------------------------------------

FILE = 'def mean(numbers):\n    """The mean."""\n    return sum(numbers) / len(numbers)\n'
WRITE = {"path": "a.py", "content": FILE}


@pytest.mark.parametrize("write", WRITERS)
def test_half_a_file_never_passes_for_a_whole_one(write: Writer) -> None:
    text = "Now I write it.\n" + write("write", WRITE)
    for end in range(len(text) + 1):
        assert not pairs(read(text[:end], cut=True))
        for name, args in pairs(read(text[:end])):
            checked, fault = check_args(args, SCHEMAS[name])
            assert fault or checked == WRITE
    assert [call.fault for call in read(text, cut=True).calls] == [CUT]


@pytest.mark.parametrize("write", (hermes, qwen, mistral, glm, python, harmony, request))
def test_a_call_that_was_cut_is_a_fault(write: Writer) -> None:
    text = write("write", WRITE)
    half = text[: text.index("mean") + 2]
    heard = read(f"I write.\n{half}", cut=True)
    (call,) = heard.calls
    assert (call.name, call.args, call.fault, heard.words) == ("write", {}, CUT, "I write.")


def test_a_cut_block_of_json_is_a_fault_too() -> None:
    (call,) = read(fenced("write", WRITE)[:70], cut=True).calls
    assert (call.name, call.fault) == ("write", CUT)


# --- whatever comes ----------------------------------------------------------------------------

UNKNOWN = st.sampled_from(["frobnicate", '"name": "frobnicate"', '"arguments": {}', "<function=frobnicate>"])
SOUP = st.lists(st.one_of(FRAGMENTS.filter(lambda each: "bash" not in each), UNKNOWN), max_size=20).map(
    "".join
)


@settings(deadline=None)
@given(st.one_of(st.text(), SOUP), st.booleans())
def test_nothing_is_invented(text: str, cut: bool) -> None:
    """A call that runs names an offered tool; all other text is kept as it is, or said to be a fault."""
    heard = read(text, cut)
    assert not pairs(heard)
    assert heard.calls or heard.words == text


@settings(deadline=None)
@given(
    st.lists(st.one_of(FRAGMENTS, st.sampled_from([HERMES, QWEN_EDIT, MISTRAL])), max_size=12).map("".join)
)
def test_nothing_breaks_it(text: str) -> None:
    for call in read(text).calls:
        assert call.name in SCHEMAS or call.fault
        json.dumps(dict(call.args), allow_nan=False)


@pytest.mark.parametrize(
    "noise",
    [
        "<tool_call>",
        "`",
        "<function=x>",
        "[TOOL_CALLS]{",
        "```\n",
        "\n",
        "<think>",
        '{"name": "bash", ',
        "[a(",
    ],
)
def test_long_noise_is_read(noise: str) -> None:
    read(noise * (20_000 // len(noise)))


# --- arguments and names -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "args", "wanted"),
    [
        ("read", {"path": "a.py"}, {"paths": ["a.py"]}),
        ("read", {"file_path": "a.py", "start_line": "3"}, {"paths": ["a.py:3-"]}),
        ("read", {"path": "a.py", "offset": 3, "line_end": "8"}, {"paths": ["a.py:3-8"]}),
        ("read", {"paths": '["a.py", "b.py"]'}, {"paths": ["a.py", "b.py"]}),
        ("read", {"paths": "['a.py']", "end": 9.0}, {"paths": ["a.py:1-9"]}),
        ("read", {"paths": ["a", "b"], "start": 2}, {"paths": ["a", "b"], "start": 2}),
        ("bash", {"cmd": "ls", "timeout": "60"}, {"command": "ls", "timeout": 60}),
        ("bash", {"arguments": {"command": "ls"}}, {"command": "ls"}),
        ("edit", {"filePath": "a", "oldString": "x", "newString": "y"},
         {"path": "a", "old": "x", "new": "y"}),
        ("edit", {"file": "a", "search": "x", "replace": "y"}, {"path": "a", "old": "x", "new": "y"}),
        ("edit", {"path": "a", "old": "x", "new": "y", "replace_all": "True"},
         {"path": "a", "old": "x", "new": "y", "all": True}),
        ("write", {"path": "a", "content": "1.0", "append": "false"},
         {"path": "a", "content": "1.0", "append": False}),
        ("write", {"path": "a", "text": 5}, {"path": "a", "content": "5"}),
        ("search", {"regex": "x", "directory": "src"}, {"pattern": "x", "path": "src"}),
        ("todo", {"items": '[{"text": "a", "state": "done"}]'}, {"items": [{"text": "a", "state": "done"}]}),
        ("done", {"message": "Done."}, {"summary": "Done."}),
        # what is not clear stays as it is
        ("edit", {"path": "a", "file": "b", "old": "x", "new": "y"},
         {"path": "a", "file": "b", "old": "x", "new": "y"}),
        ("read", {"paths": ["a"], "start": "three"}, {"paths": ["a"], "start": "three"}),
        ("write", {"path": "a", "content": {"x": 1}}, {"path": "a", "content": {"x": 1}}),
        ("write", {"path": "a", "content": '["x"]'}, {"path": "a", "content": '["x"]'}),
    ],
)  # fmt: skip
def test_arguments_fit_where_one_meaning_is_possible(name: str, args: Args, wanted: Args) -> None:
    assert coerce(args, SCHEMAS[name]) == wanted


@settings(deadline=None)
@given(
    st.sampled_from(sorted(SCHEMAS)), st.dictionaries(st.text(max_size=8), st.integers() | TEXTS | st.none())
)
def test_arguments_that_fit_stay_as_they_are(name: str, args: Args) -> None:
    once = coerce(args, SCHEMAS[name])
    assert coerce(once, SCHEMAS[name]) == once


@pytest.mark.parametrize(
    ("name", "args", "wanted"),
    [
        ("read_file", {"path": "a"}, "read"),
        ("functions.Read", {"path": "a"}, "read"),
        ("str_replace", {"path": "a", "old_str": "x", "new_str": "y"}, "edit"),
        ("run_shell_command", {"command": "ls"}, "bash"),
        ("serach", {"pattern": "x"}, "search"),
        ("serach", {"what": "x"}, "serach"),
        ("exit", {}, "exit"),  # one letter from edit, and no edit at all
        ("frobnicate", {"path": "a"}, "frobnicate"),
    ],
)
def test_names_learnt_elsewhere(name: str, args: Args, wanted: str) -> None:
    assert fit_call(ToolCall("c1", name, args), TOOLS).name == wanted


PATCH = "*** Begin Patch\n*** Delete File: a.py\n*** End Patch"


@pytest.mark.parametrize(
    ("name", "args", "tool", "wanted"),
    [
        ("apply_patch", {"input": PATCH}, "bash", {"command": PATCH}),
        ("shell", {"command": ["apply_patch", PATCH]}, "bash", {"command": PATCH}),
        ("container.exec", {"cmd": ["bash", "-lc", "ls | wc"]}, "bash", {"command": "ls | wc"}),
        ("shell", {"command": ["cat", "a b"]}, "bash", {"command": "cat 'a b'"}),
        ("execute_bash", {"command": "ls", "is_input": "false"}, "bash", {"command": "ls"}),
        (
            "str_replace_editor",
            {"command": "str_replace", "path": "a", "old_str": "x", "new_str": "y"},
            "edit",
            {"path": "a", "old": "x", "new": "y"},
        ),
        (
            "str_replace_based_edit_tool",
            {"command": "create", "path": "a", "file_text": "x"},
            "write",
            {"path": "a", "content": "x"},
        ),
        (
            "str_replace_editor",
            {"command": "view", "path": "a", "view_range": [3, -1]},
            "read",
            {"paths": ["a:3-"]},
        ),
        ("str_replace_editor", {"command": "view", "path": "a"}, "read", {"paths": ["a"]}),
        (
            "str_replace_editor",
            {"command": "view", "path": "a", "view_range": "[3, 5]"},
            "read",
            {"paths": ["a:3-5"]},
        ),
        ("str_replace_editor", {"command": "view", "path": "a", "view_range": 7}, "read", {"paths": ["a"]}),
    ],
)
def test_calls_of_tools_that_models_learnt(name: str, args: Args, tool: str, wanted: Args) -> None:
    """Codex's, gpt-oss's, OpenHands' (Devstral) and Anthropic's."""
    assert fit_call(ToolCall("c1", name, args), TOOLS) == ToolCall("c1", tool, dict(wanted))


def test_a_servers_own_tool_of_such_a_name_gets_its_call_as_it_is() -> None:
    bash = next(tool for tool in TOOLS if tool.name == "bash")
    words: Args = {
        "type": "object",
        "properties": {"command": {"type": "array", "items": {"type": "string"}}},
    }
    editor: Args = {
        "type": "object",
        "properties": {"command": {"type": "string"}, "path": {"type": "string"}},
    }
    own = (
        replace(bash, name="run_in_box", schema=words),
        replace(bash, name="str_replace_editor", schema=editor),
    )
    for call in (
        ToolCall("c1", "run_in_box", {"command": ["ls", "-l"]}),
        ToolCall("c2", "str_replace_editor", {"command": "view", "path": "a"}),
    ):
        assert fit_call(call, (*TOOLS, *own)) == call


def test_such_a_call_is_read_from_text_too() -> None:
    call = '{"name": "str_replace_editor", "arguments": {"command": "view", "path": "a"}}'
    for text in (call, f"<tool_call>{call}</tool_call>"):
        (found,) = read_calls(text, TOOLS).calls
        assert (found.name, found.args) == ("read", {"paths": ["a"]})


@pytest.mark.parametrize(
    ("name", "args", "wanted"),
    [
        ("list", {}, {"paths": ["."]}),
        ("ls", {"path": "src"}, {"paths": ["src"]}),
        ("glob", {"paths": ["*.py"]}, {"paths": ["*.py"]}),
        ("list_dir", {"directory": "src"}, {"paths": ["src"]}),
    ],
)
def test_without_a_tool_that_lists_reading_does(name: str, args: Args, wanted: Args) -> None:
    asked = ToolCall("c1", name, args)
    fewer = tuple(tool for tool in TOOLS if tool.name != "list")
    assert fit_call(asked, fewer) == ToolCall("c1", "read", dict(wanted))
    assert fit_call(asked, TOOLS).name == "list"


def test_only_reading_means_the_whole_project_where_nothing_is_said() -> None:
    """A tool of a server may do anything with the paths it gets."""
    read = next(tool for tool in TOOLS if tool.name == "read")
    remove = replace(read, name="remove", effect="call")
    assert fit_call(ToolCall("c1", "remove", {}), (remove,)).args == {}
    assert fit_call(ToolCall("c1", "read", {}), (read,)).args == {"paths": ["."]}


def test_a_name_that_may_mean_two_tools_means_none() -> None:
    both = standard_tools(powershell="pwsh")
    call = ToolCall("c1", "run_command", {"command": "ls"})
    assert fit_call(call, both) == call
    assert fit_call(call, TOOLS).name == "bash"


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ('{"a": 1,}', {"a": 1}),
        ("{'a': True, 'b': None}", {"a": True, "b": None}),
        ('{"a": {"b": "c"}', {"a": {"b": "c"}}),
        ("{a: b}", {"a": "b"}),
        ('{"a": "b', None),
        ('{"a": "b",', None),
        ("{'a': 1e999}", None),
        ("words", None),
        ("", None),
        ('{"a": ' * 30_000, None),
    ],
)
def test_mending_loses_nothing(text: str, wanted: Any) -> None:
    assert repair_json(text) == wanted


def test_native_arguments_are_not_closed_in_the_middle_of_a_string() -> None:
    args, fault = read_args('{"path": "a.py", "content": "def f')
    assert (args, "JSON object" in fault) == ({}, True)


def test_json_is_found_among_words_with_brackets() -> None:
    assert load_json('Line [42] guards it. {"real": false}') == {"real": False}
    assert load_json('Found: [{"a": 1}], no more.') == [{"a": 1}]
