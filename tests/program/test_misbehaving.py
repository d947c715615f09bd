"""`kith run` against servers that misbehave: the task ends well all the same, or with one clear sentence."""

import json
import re
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from kith.features.demo.standin import Request
from kith.features.demo.standin.engine import estimate, render_prompt
from outside import Kith, StandIn
from sparing import first

OLD, NEW = "(len(numbers) + 1)", "max(len(numbers), 1)"
CHECK = "grep -q max.len utils.py"
SUMMARY = "mean() divides by the count."
EDIT_ARGS = {"path": "utils.py", "old": OLD, "new": NEW}
EDIT = {"calls": [{"name": "edit", "args": EDIT_ARGS}]}
DONE = {"calls": [{"name": "done", "args": {"summary": SUMMARY}}]}
LOOK = {"calls": [{"name": "read", "args": {"paths": ["utils.py"]}}]}
NOTES = 9  # files that a longer task reads, about 500 tokens each
SERVERS = ("ollama", "llama-server", "lmstudio", "vllm")
both = pytest.mark.parametrize("dialect", first(SERVERS[:2]))

Args = Mapping[str, Any]


def run(kith: Kith, *words: str, code: int = 0) -> str:
    """What a person sees of a task on stderr: never a traceback, and one sentence where it did not end well.

    The task is to fix `mean`, unless the words say otherwise.
    """
    done = kith("run", "--yes", *(words or ("--check", CHECK, "fix mean")), code=code)
    ends = [line for line in done.stderr.splitlines() if line.startswith("kith: ")]
    assert "Traceback" not in done.stderr and len(ends) == (code != 0), done.stderr
    assert done.stdout.strip() == ("" if code else SUMMARY)
    return done.stderr


def fixed(kith: Kith) -> bool:
    return NEW in (kith.folder / "utils.py").read_text()


def end_of(stderr: str) -> str:
    """The sentence with which a task ended."""
    return next(line for line in stderr.splitlines() if line.startswith("kith: "))


def resume_of(stderr: str) -> str:
    """The session that can be gone on with, as a person is told."""
    found = re.search(r"^To go on: kith run --resume (\w+)$", stderr, re.MULTILINE)
    assert found, stderr
    return found[1]


def size(request: Request) -> int:
    return estimate(render_prompt(request["messages"], request.body.get("tools")))


def takes_turns(request: Request) -> bool:
    """Whether roles follow each other as the strictest templates want it."""
    before = {"user": ("system", "assistant"), "assistant": ("user", "tool"), "tool": ("assistant", "tool")}
    return all(one["role"] in before[two["role"]] for one, two in pairwise(request["messages"]))


# --- calls as text ---------------------------------------------------------------------------


def as_json(name: str, args: Args) -> str:
    return json.dumps({"name": name, "arguments": args})


def hermes(name: str, args: Args) -> str:
    return f"<tool_call>\n{as_json(name, args)}\n</tool_call>"


def qwen(name: str, args: Args) -> str:
    rows = "".join(f"<parameter={key}>\n{value}\n</parameter>\n" for key, value in args.items())
    return f"<tool_call>\n<function={name}>\n{rows}</function>\n</tool_call>"


def mistral(name: str, args: Args) -> str:
    return f"[TOOL_CALLS][{as_json(name, args)}]"


def glm(name: str, args: Args) -> str:
    rows = "".join(f"<arg_key>{key}</arg_key>\n<arg_value>{args[key]}</arg_value>\n" for key in args)
    return f"<tool_call>{name}\n{rows}</tool_call>"


def fenced(name: str, args: Args) -> str:
    return f"```json\n{as_json(name, args)}\n```"


def python(name: str, args: Args) -> str:
    return f"[{name}({', '.join(f'{key}={value!r}' for key, value in args.items())})]"


SPOKEN = (hermes, qwen, mistral, glm, fenced, as_json, python)


@both
def test_calls_that_are_printed_as_text_are_made(kith: Kith, stand_in: StandIn, dialect: str) -> None:
    steps = [OLD, *(f"(len(numbers) - {number})" for number in range(1, len(SPOKEN))), NEW]
    edits = [{"path": "utils.py", "old": old, "new": new} for old, new in pairwise(steps)]
    said = [f"Now – this.\n\n{write('edit', args)}" for write, args in zip(SPOKEN, edits, strict=True)]
    server = stand_in([*said, hermes("done", {"summary": SUMMARY})], dialect)
    stderr = run(kith, "--check", "python3 -m unittest -q", "fix mean")
    assert fixed(kith) and stderr.count("· edit   utils.py") == len(SPOKEN)
    made = [m for m in server.requests[-1]["messages"] if m["role"] == "assistant"]
    args = [m["tool_calls"][0]["function"]["arguments"] for m in made]
    assert [json.loads(each) if isinstance(each, str) else each for each in args] == edits
    assert {m["content"] for m in made} == {"Now – this."}, "calls are stored as calls, not as text"


# --- calls that cannot be read ---------------------------------------------------------------

BROKEN = {"calls": [{"name": "edit", "raw": '{"path": "utils.py", "old": "(len'}]}
MENDABLE = {"calls": [{"name": "edit", "raw": json.dumps(EDIT_ARGS)[:-1]}]}
GARBLED = {
    "ollama": {"error": {"status": 500, "text": "error parsing tool call: raw='{', err=unexpected end"}},
    "llama-server": {"error": {"status": 500}},  # in its own words
}


@pytest.mark.slow
@both
def test_broken_arguments_are_mended_or_asked_for_again(kith: Kith, stand_in: StandIn, dialect: str) -> None:
    server = stand_in([BROKEN, MENDABLE, DONE], dialect)
    run(kith)
    assert fixed(kith)
    called, answered = server.requests[1]["messages"][2:]
    assert called["tool_calls"][0]["function"]["arguments"] in ({}, "{}"), "what is broken is never sent back"
    assert "not a JSON object" in answered["content"]


@pytest.mark.slow
@both
def test_a_call_that_the_server_cannot_read_is_asked_for_again(
    kith: Kith, stand_in: StandIn, dialect: str
) -> None:
    once, half = GARBLED[dialect], {"text": "I am", "error": {**GARBLED[dialect]["error"], "status": 200}}
    half["error"].setdefault("text", "output that does not match the expected peg-native format")
    server = stand_in([once, LOOK, once, once, half, EDIT, DONE], dialect)
    stderr = run(kith)
    assert fixed(kith) and stderr.count("could not read the model's tool call") == 2
    assert "each of its replies is one call, as JSON" in stderr
    shaped = [bool(each.body.get("format") or each.body.get("response_format")) for each in server.requests]
    assert shaped == [False, False, False, False, False, True, True]


def test_a_server_that_can_read_no_call_at_all_ends_it_in_one_sentence(kith: Kith, stand_in: StandIn) -> None:
    server = stand_in([GARBLED["llama-server"]] * 20, "llama-server")
    end = end_of(run(kith, code=75))
    assert "plain text fails, too; another model may do better, see `kith models`" in end
    assert len(server.requests) == 10 and not server.requests[-1].body.get("tools")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("dialect", "capabilities", "words"),
    [
        ("ollama", ("completion", "tools"), "registry.ollama.ai/library/standin does not support tools"),
        ("vllm", ("completion",), ""),
    ],
)
def test_refused_tools_become_text_and_the_next_session_knows(
    kith: Kith, stand_in: StandIn, dialect: str, capabilities: tuple[str, ...], words: str
) -> None:
    replies = iter([qwen("edit", EDIT_ARGS), qwen("done", {"summary": SUMMARY}), SUMMARY])

    def script(request: Request) -> Any:
        return {"error": {"status": 400, "text": words}} if request.body.get("tools") else next(replies)

    server = stand_in(script, dialect, capabilities=capabilities)
    assert "takes no tools: from now on tools and calls are plain text" in run(kith)
    assert fixed(kith)
    assert "plain text" not in run(kith, "what does mean do?")
    assert [bool(each.body.get("tools")) for each in server.requests] == [True, False, False, False]
    assert all(map(takes_turns, server.requests))


# --- answers that break off ------------------------------------------------------------------


@pytest.mark.slow
@both
def test_a_failure_in_the_middle_of_a_reply_is_asked_for_once_more(
    kith: Kith, stand_in: StandIn, dialect: str
) -> None:
    failure = {"text": "Let me", "error": {"status": 200, "text": "llama runner process has terminated"}}
    stand_in([failure, EDIT, DONE], dialect)
    assert "failed in the middle of its reply: llama runner process has terminated; trying" in run(kith)
    assert fixed(kith)


WORDS = "Größe – 日本語 🦊"


@both
def test_characters_may_come_in_halves(kith: Kith, stand_in: StandIn, dialect: str) -> None:
    stand_in([WORDS], dialect, chunk=1)
    assert kith("run", "how large?").stdout == f"{WORDS}\n"


@pytest.mark.slow
@pytest.mark.parametrize(("dialect", "cut"), first([("ollama", "end"), ("llama-server", "reset")]))
def test_a_reply_that_breaks_off_twice_can_be_gone_on_with(
    kith: Kith, stand_in: StandIn, dialect: str, cut: str
) -> None:
    server = stand_in([{"text": WORDS * 90, **EDIT}] * 9, dialect, cut_after=2001, cut=cut)
    stderr = run(kith, code=75)
    assert end_of(stderr) == f"kith: {server.url} broke off its reply before the end"
    assert len(server.requests) == 2 and not fixed(kith)
    server = stand_in([EDIT, DONE], dialect)
    run(kith, "--resume", resume_of(stderr))
    assert fixed(kith) and len(server.requests) == 2


@pytest.mark.slow
def test_a_web_page_is_no_answer_but_a_gateways_page_passes(kith: Kith, stand_in: StandIn) -> None:
    server = stand_in(["never"], html=True)
    assert f"{server.url} answered with a web page" in end_of(run(kith, code=1))
    stand_in([EDIT, DONE], fail_first=(502, {}, "<html><h1>502 Bad Gateway</h1></html>", 1))
    assert "answered 502 (Bad Gateway); trying again" in run(kith)
    assert fixed(kith)


def test_a_server_that_wants_an_hour_of_peace_is_left_alone(kith: Kith, stand_in: StandIn) -> None:
    server = stand_in([EDIT, DONE], fail_first=(429, {"Retry-After": "3600"}, {"error": "slow down"}, 1))
    stderr = run(kith, "--max-task-seconds", "600", "--check", CHECK, "fix mean", code=75)
    assert end_of(stderr).endswith("it can be asked again in 1 h")
    assert len(server.requests) == 1 and not fixed(kith)
    run(kith, "--resume", resume_of(stderr))
    assert fixed(kith)


@pytest.mark.slow
def test_a_long_silence_is_waited_for_while_the_server_lives(
    kith: Kith, stand_in: StandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KITH_STALL", "1")
    dead, replies = threading.Event(), iter([{**EDIT, "delay": 2.2}])

    def script(request: Request) -> Any:
        if reply := next(replies, None):
            return reply
        dead.wait(60)  # and nothing else is answered either
        return "too late"

    server = stand_in(script)
    stderr = run(kith, code=75)
    dead.set()
    assert "edit   utils.py" in stderr
    assert end_of(stderr).startswith(
        f"kith: {server.url} sent nothing for 1 s; it seems to hang. If it is only"
    )
    assert resume_of(stderr) and not fixed(kith)


# --- windows ---------------------------------------------------------------------------------


def take_notes(kith: Kith) -> list[dict[str, Any]]:
    """Write long files, and say how a model reads them one by one.

    They are full of digits, of which kith believes that each is a token, and the stand-ins only a quarter.
    """
    for number in range(NOTES):
        lines = (f"{number}.{line} The mean is {'2718281828 ' * 4}" for line in range(35))
        (kith.folder / f"notes{number}.txt").write_text("\n".join(lines))
    return [{"calls": [{"name": "read", "args": {"paths": [f"notes{n}.txt"]}}]} for n in range(NOTES)]


def summing_up(replies: Sequence[Any]) -> Callable[[Request], Any]:
    """A script that also gives a summary, whenever it is asked for one."""
    left = iter(replies)

    def script(request: Request) -> Any:
        asked = "about to be shortened" in request["messages"][-1]["content"]
        return "The task is to fix mean; utils.py is next." if asked else next(left)

    return script


TASK = "fix mean, and spare the periwinkle"


@pytest.mark.parametrize("dialect", first(SERVERS))
def test_a_long_task_fits_a_window_of_4096(kith: Kith, stand_in: StandIn, dialect: str) -> None:
    window = {"ceiling": 4096} if dialect == "ollama" else {"window": 4096}
    server = stand_in(summing_up([*take_notes(kith), EDIT, DONE]), dialect, **window)
    stderr = run(kith, "--check", CHECK, TASK)
    assert fixed(kith) and "the task and open changes are kept" in stderr and "  ! " not in stderr
    first, last = server.requests[0], server.requests[-1]
    assert estimate(render_prompt(first["messages"][:1], first["tools"])) <= 600
    assert max(map(size, server.requests)) < 4096 * 3 // 4
    assert last["messages"][1]["content"].endswith(f"# Task\n{TASK}")
    assert all(map(takes_turns, server.requests))
    assert all(each["tools"] == first["tools"] for each in server.requests)


@pytest.mark.slow
def test_two_sessions_load_the_model_once_with_the_same_options(kith: Kith, stand_in: StandIn) -> None:
    server = stand_in([LOOK, EDIT, DONE, "It divides."])
    run(kith)
    asked = server.visits.count("POST /api/generate")
    report = kith.run("what does mean do?")
    assert (asked, server.visits.count("POST /api/generate")) == (1, 1), "a loaded model is not loaded again"
    assert report["usage"]["seconds"]["load"] < 0.1
    settings = [
        {k: v for k, v in each.body.items() if k not in ("messages", "tools")} for each in server.requests
    ]
    assert len(settings) == 4 and all(each == settings[0] for each in settings)
    assert settings[0]["options"]["num_ctx"] == report["usage"]["window"] > 4096
    assert settings[0]["truncate"] is False


@pytest.mark.slow
def test_an_old_ollama_that_cuts_silently_is_found_out_and_what_kith_says_helps(
    kith: Kith, stand_in: StandIn, home: Path
) -> None:
    old = {"ceiling": 4096, "tells_window": False, "heeds_truncate": False}
    notes = take_notes(kith)
    every = {"calls": [{"name": "read", "args": {"paths": [f"notes{n}.txt" for n in range(NOTES)]}}]}
    stand_in([every, *notes, EDIT, DONE], **old)
    stderr = run(kith, code=4)
    end = end_of(stderr)
    assert re.search(r"whose window seems to be 4,096 tokens and not \d\d,\d{3}, read", end)
    assert "it truncated the prompt" in end
    assert "set `window = 4096` in kith's configuration" in end
    config = home / ".config" / "kith" / "config.toml"
    config.parent.mkdir(parents=True)
    config.write_text("window = 4096")
    server = stand_in(summing_up([*notes, EDIT, DONE]), **old)
    stderr = run(kith, "--resume", resume_of(stderr))
    assert fixed(kith) and "cut off" not in stderr and "had forgotten" not in stderr
    assert max(map(size, server.requests)) < 4096
    assert {each["options"]["num_ctx"] for each in server.requests} == {4096}


@pytest.mark.slow
def test_killed_after_a_compaction_it_goes_on_with_the_same_view(kith: Kith, stand_in: StandIn) -> None:
    thoughts = "I think about how numbers are added, and how they are divided. " * 12
    looks = [{"text": f"{n}. {thoughts}", **look} for n, look in enumerate(take_notes(kith))]
    server = stand_in(summing_up(looks), ceiling=4096)
    command = [sys.executable, "-m", "kith", "run", "--yes", "--output-format", "stream-json"]
    process = subprocess.Popen([*command, "--check", CHECK, TASK], cwd=kith.folder, stdout=subprocess.PIPE)
    assert process.stdout
    summed_up = False
    for line in process.stdout:
        event = json.loads(line)
        summed_up = summed_up or (event["event"] == "Compacted" and bool(event["summary"]))
        if summed_up and event["event"] == "ToolEnded":
            break
    process.kill()
    process.communicate()
    (row,) = json.loads(kith("sessions", "--json").stdout)
    again = stand_in([EDIT, DONE], ceiling=4096)
    stderr = run(kith, "--resume", row["id"])
    before, after = server.requests[-1]["messages"], again.requests[0]["messages"]
    assert fixed(kith) and "Compacted" not in stderr
    assert after[: len(before)] == before and "What was done so far:" in before[2]["content"]
    assert before[1]["content"].endswith(f"# Task\n{TASK}") and takes_turns(again.requests[-1])


# --- circles and limits ----------------------------------------------------------------------


def test_the_same_call_over_and_over_is_answered_with_a_reason_and_then_stopped(
    kith: Kith, stand_in: StandIn
) -> None:
    server = stand_in([LOOK] * 9)
    stderr = run(kith, code=4)
    end = "stopped because the model repeats the same call of read and gets the same answer each time"
    assert end_of(stderr) == f"kith: {end}" and resume_of(stderr)
    told = [m["content"] for m in server.requests[-1]["messages"] if m["role"] == "tool"]
    refused = [words.startswith("Not run. You have made exactly this call") for words in told]
    assert refused == [False, False, True, True]


@pytest.mark.slow
def test_one_line_for_ever_is_stopped(kith: Kith, stand_in: StandIn) -> None:
    line = "I will now look at the file once more, to be quite sure of it.\n"
    stand_in([line * 999, EDIT, DONE])
    assert "The model repeats itself ('I will now" in run(kith)
    assert fixed(kith)
    server = stand_in([line * 999] * 9, "llama-server")
    assert "was stopped twice because it repeats itself" in end_of(run(kith, "what is it?", code=1))
    assert len(server.requests) == 2 and server.disconnected.is_set(), "it was not read to its end"


@pytest.mark.slow
@both
def test_a_reply_cut_at_the_limit_runs_nothing(kith: Kith, stand_in: StandIn, dialect: str) -> None:
    remove = ("bash", {"command": "rm utils.py"})
    native = [{"name": remove[0], "args": remove[1]}, {"name": "write", "args": {"path": "x"}}]
    cut = [{"calls": native, "stop": "length"}, {"text": f"{hermes(*remove)}\n<tool_call>", "stop": "length"}]
    server = stand_in([*cut, EDIT, DONE], dialect)
    stderr = run(kith)
    assert fixed(kith) and "rm utils.py" not in stderr
    told = [m["content"] for m in server.requests[-1]["messages"] if m["role"] == "tool"][:-1]
    assert told and all(words.startswith("Not run: your reply was cut") for words in told)


@pytest.mark.slow
def test_a_task_stops_at_its_limits(kith: Kith, stand_in: StandIn, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KITH_MAX_TASK_TOKENS", "1500")
    stand_in([LOOK, EDIT, DONE])
    stderr = run(kith, code=4)
    assert end_of(stderr).endswith("tokens; a task may use 1,500 (max_task_tokens)")
    monkeypatch.setenv("KITH_MAX_TASK_TOKENS", "100000")
    monkeypatch.setenv("KITH_MAX_TASK_SECONDS", "1")
    stand_in([{**LOOK, "delay": 600}])
    again = run(kith, "--resume", resume_of(stderr), code=4)
    assert end_of(again) == "kith: stopped after 1 s, the time of a task (max_task_seconds)"
