"""Bad input from outside: one clear sentence, the right exit code, nothing lost, and never a traceback."""

import json
import os
import shlex
import shutil
import socket
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from outside import Kith, Serve
from sparing import first
from waiting import until

OLD, NEW = "(len(numbers) + 1)", "max(len(numbers), 1)"
DIRECT = f'replace "{OLD}" with "{NEW}" in utils.py'
EDIT = {"calls": [{"name": "edit", "args": {"path": "utils.py", "old": OLD, "new": NEW}}]}
DONE = {"calls": [{"name": "done", "args": {"summary": "mean() divides by the count."}}]}
FREE = ("--yes", "--check", "none")
ROOT = hasattr(os, "geteuid") and os.geteuid() == 0

Answer = Callable[..., str]


def sentence(done: subprocess.CompletedProcess[str]) -> str:
    """The one line that was said, without its `kith: `."""
    (line,) = done.stderr.splitlines()
    assert line.startswith("kith: ") and done.stdout == ""
    return line.removeprefix("kith: ")


def in_shell(kith: Kith, line: str) -> subprocess.CompletedProcess[str]:
    """A line of shell in the project's folder, `kith` in it being this kith."""
    script = f'kith() {{ {shlex.quote(sys.executable)} -m kith "$@"; }}\n{line}'
    return subprocess.run(
        ["bash", "-c", script],
        cwd=kith.folder,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
    )


def untouched(kith: Kith) -> bool:
    return OLD in (kith.folder / "utils.py").read_text()


@pytest.fixture
def answer(monkeypatch: pytest.MonkeyPatch) -> Iterator[Answer]:
    """A server that says the same to everybody, where kith looks for an OpenAI-compatible one."""
    servers: list[ThreadingHTTPServer] = []

    def start(status: int, body: str, kind: str = "application/json") -> str:
        class Same(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self.rfile.read(int(self.headers.get("content-length", 0)))
                self.send_response(status)
                self.send_header("Content-Type", kind)
                self.end_headers()
                self.wfile.write(body.encode())

            do_POST = do_GET

            def log_message(self, format: str, *args: Any) -> None:
                """Nothing is logged."""

        server = ThreadingHTTPServer(("127.0.0.1", 0), Same)
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        servers.append(server)
        url = f"http://127.0.0.1:{server.server_port}"
        monkeypatch.setenv("OPENAI_BASE_URL", url)
        return url

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


# --- the command line ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["undoo"], "There is no command 'undoo'; did you mean `kith undo`?"),
        (["features", "off", "langauges"], "There is no feature 'langauges'; did you mean languages?"),
        (["run", "--tries", "0", "x"], "--tries: '0' must be 1 or more"),
        (["run", "--max-steps", "x", "x"], "--max-steps: 'x' must be 1 or more"),
        (["run", "--modle", "x", "x"], "There is no '--modle' here; did you mean --model?"),
        (["run", "--plan", "--show-plan", "x"], "--show-plan and --plan exclude each other"),
        (["run", "--read-only", "--check", "make", "x"], "nothing to plan or to check"),
        (["run", "--check", "none", "--check", "make", "x"], "either 'none' or commands"),
        (["run", "--check", "", "x"], "check is empty"),
        (["run", "--resume", "abc"], "There is no session 'abc'"),
        (["run", "--resume", "\udcff"], "There is no session"),
        (["run", "--resume", "abc", "and more"], "leave the new task and --plan out"),
        (["run", "--resume", ""], "--resume: the id is empty"),
        (["run", "-C", "/no/such/folder", "x"], "There is no folder '/no/such/folder'."),
        (["-C", "/no/such/folder", "run", "x"], "There is no folder '/no/such/folder'."),
        (["-m", "x/y", "run", "x"], "Options come after the command: kith run -m"),
        (["run", "-C", "utils.py", "x"], "'utils.py' is not a folder."),
        (["run", ""], "What should be done?"),
        (["undo"], "There is nothing to undo"),
        (["undo", "zzz"], "No change 'zzz' was applied"),
        (["undo", "a", "b"], "There is no 'b' here"),
        (["run", "-m"], "--model needs a value."),
        (["permits", "--forget", "x"], "--forget takes a number, not 'x'."),
        (["permits", "--explain", " "], "--explain takes a command, such as"),
        (["trust", "--yes", "--forget"], "--forget and --yes exclude each other."),
        (["undoo", "-m", "x/y"], "There is no command 'undoo'; did you mean `kith undo`?"),
        (["--json", "models"], "Options come after the command: kith models --json"),
        (["--modle", "x", "fix", "it"], "There is no '--modle' here; did you mean --mode"),
        (["--yolo"], "There is no --yolo: kith run --yes applies without asking"),
        (
            ["--dangerously-skip-permissions", "fix", "it"],
            "There is no --dangerously-skip-permissions: kith run",
        ),
        (["run", "--full-auto", "x"], "There is no --full-auto: kith run --yes applies without asking"),
        (["--auto-approve=1"], "There is no --auto-approve: kith run --yes applies without asking"),
        (
            ["--permission-mode", "plan"],
            "There is no --permission-mode: kith --mode takes ask, plan or auto.",
        ),
        (["--yes"], '--yes belongs to kith run and kith -p "TASK"'),
        ([], "A conversation needs a terminal"),
        (["fix", "the", "test"], "A conversation needs a terminal"),
        (["-m", "x/y", "fix the test"], "A conversation needs a terminal"),
        (["explain"], "A conversation needs a terminal"),
    ],
)
def test_a_wrong_command_is_one_sentence_and_exit_code_2(kith: Kith, words: list[str], expected: str) -> None:
    assert expected in sentence(kith(*words, code=2))


@pytest.mark.parametrize(
    "words",
    [
        ["run", "--tries", "0", "x"],
        ["run", "--resume", "abc"],
        ["run", "-m", "olama/x", "x"],
    ],
)
def test_json_is_one_object_however_early_it_fails(kith: Kith, words: list[str]) -> None:
    report = json.loads(kith(*words, "--output-format", "json", code=2).stdout)
    assert report["status"] == "failed" and report["text"] and report["applied"] is None
    assert report.keys() >= {"session", "changes", "receipt", "usage", "model"}
    lines = kith(*words, "--output-format=stream-json", code=2).stdout.splitlines()
    end = json.loads(lines[-1])
    assert (end["event"], end["status"], end["text"]) == ("RunEnded", "failed", report["text"])


def test_a_wrong_configuration_stops_it_before_anything_is_asked(kith: Kith, home: Path) -> None:
    file = home / ".config" / "kith" / "config.toml"
    file.parent.mkdir(parents=True)
    file.write_text("tries = 3\nmodle = 'x'\n")
    for command in (["run", "x"], ["config"], ["undo"]):
        assert f"{file}, line 2: unknown key 'modle'; did you mean 'model'?" in sentence(
            kith(*command, code=2)
        )


def test_too_much_and_binary_text_on_standard_input_is_refused(kith: Kith) -> None:
    assert "over the limit of 200,000 bytes" in sentence(kith("run", "x", input="x" * 2_000_000, code=2))
    assert "binary data" in sentence(kith("run", "x", input="\0\1\2", code=2))


@pytest.mark.slow
def test_resuming_does_not_wait_for_standard_input(kith: Kith) -> None:
    command = [sys.executable, "-m", "kith", "run", "--resume", "abc"]
    with subprocess.Popen(command, cwd=kith.folder, stdin=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.wait(60) == 2


def test_words_that_are_not_utf8_are_a_task_like_any_other(kith: Kith, serve: Serve) -> None:
    server = serve(["Understood."])
    report = kith.run(os.fsdecode(b"explain caf\xe9"))
    assert report["text"] == "Understood."
    assert "explain caf?" in server.requests[0]["messages"][-1]["content"]


# --- the standard streams --------------------------------------------------------------------


@pytest.mark.slow
def test_a_closed_stream_costs_nothing(kith: Kith) -> None:
    run = f"kith run {shlex.join(FREE)} --output-format json {shlex.quote(DIRECT)}"
    done = in_shell(kith, f"{run} <&- 2>&-")
    assert done.returncode == 0 and json.loads(done.stdout)["status"] == "done" and done.stderr == ""
    assert not untouched(kith)
    assert in_shell(kith, "kith undo >&-").returncode == 0 and untouched(kith)
    assert in_shell(kith, "kith <&-").returncode == 2


@pytest.mark.slow
def test_a_reader_that_leaves_ends_it_quietly_and_it_can_be_resumed(kith: Kith, serve: Serve) -> None:
    serve([EDIT, DONE, DONE])
    done = in_shell(kith, "kith run --yes --output-format stream-json fix | head -1; exit ${PIPESTATUS[0]}")
    assert done.returncode == 141 and done.stderr == "" and untouched(kith)
    session = json.loads(kith("sessions", "--json").stdout)[0]
    assert session["status"] in ("interrupted", "unfinished")
    serve([EDIT, DONE])
    assert kith.run(*FREE, "--resume", session["id"])["status"] == "done"


@pytest.mark.slow
def test_a_signal_leaves_one_object_too(kith: Kith, serve: Serve) -> None:
    serve([{"calls": [{"name": "bash", "args": {"command": "sleep 60"}}]}])
    command = [sys.executable, "-m", "kith", "run", *FREE, "--output-format", "json", "fix mean"]
    with subprocess.Popen(
        command, cwd=kith.folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE
    ) as process:
        until(lambda: json.loads(kith("sessions", "--json").stdout))
        process.terminate()
        report = json.loads(process.communicate(timeout=60)[0])
    assert process.returncode == 143 and report["status"] == "interrupted"
    assert report["session"][:6] in report["text"]


@pytest.mark.slow
def test_a_diff_leaves_as_the_bytes_that_it_is(kith: Kith) -> None:
    (kith.folder / "latin.py").write_bytes(b"name = 'caf\xe9'\nnumber = 1\n")
    task = shlex.quote('replace "number = 1" with "number = 2" in latin.py')
    done = in_shell(kith, f"kith run --check none {task} > change.diff; git apply --check change.diff")
    assert done.returncode == 0, done.stderr
    assert b"caf\xe9" in (kith.folder / "change.diff").read_bytes()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_behind_stdout_is_said(kith: Kith) -> None:
    done = in_shell(kith, "kith config > /dev/full")
    assert (done.returncode, done.stderr) == (1, "kith: the output: No space left on device.\n")


# --- folders ---------------------------------------------------------------------------------


@pytest.mark.slow
def test_it_works_without_git_and_takes_it_back(kith: Kith, serve: Serve) -> None:
    shutil.rmtree(kith.folder / ".git")
    serve([EDIT, DONE])
    said = kith("run", *FREE, "fix mean").stderr
    assert said.count("not a git repository") == 1 and not untouched(kith)
    kith("undo")
    assert untouched(kith)


@pytest.mark.slow
def test_an_empty_repository_gets_its_first_file(tmp_path: Path, serve: Serve) -> None:
    subprocess.run(["git", "init", "-q", "empty"], cwd=tmp_path, check=True)
    serve([{"calls": [{"name": "write", "args": {"path": "new.py", "content": "x = 1\n"}}]}, DONE])
    report = Kith(tmp_path / "empty").run(*FREE, "begin")
    assert [change["path"] for change in report["changes"]] == ["new.py"]
    Kith(tmp_path / "empty")("undo")
    assert [each.name for each in (tmp_path / "empty").iterdir()] == [".git"]


def test_a_bare_repository_has_no_files_to_work_on(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", "--bare", "bare.git"], cwd=tmp_path, check=True)
    assert "is a bare git repository" in sentence(Kith(tmp_path / "bare.git")("run", "x", code=2))


@pytest.mark.slow
def test_a_folder_that_is_gone_is_said(kith: Kith) -> None:
    done = in_shell(kith, "mkdir gone && cd gone && rmdir ../gone && kith run x")
    assert done.returncode == 2 and "cannot be used" in sentence(done)


def test_the_home_folder_is_no_project_but_answers_questions(kith: Kith, home: Path) -> None:
    kith(*("run", *FREE, DIRECT))
    here = Kith(home)
    assert "holds kith's own state" in sentence(here("run", "x", code=2))
    here("config"), here("models", code=5)
    assert json.loads(here("sessions", "--all", "--json").stdout)[0]["task"] == DIRECT


def test_a_state_folder_that_cannot_be_written_is_said(
    kith: Kith, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("not a folder")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    assert "cannot be written: Not a directory" in sentence(kith("run", *FREE, DIRECT, code=1))
    assert untouched(kith)
    kith("config")


@pytest.mark.skipif(not ROOT or shutil.which("setpriv") is None, reason="needs root and setpriv")
def test_a_person_whom_the_system_does_not_know_is_told_to_set_home(
    kith: Kith, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name)
    stranger = ["setpriv", "--reuid", "12345", "--clear-groups", sys.executable, "-m", "kith", "config"]
    done = subprocess.run(stranger, cwd="/", capture_output=True, text=True)
    if "Permission denied" in done.stderr or "No module named" in done.stderr:
        pytest.skip("this Python is out of other users' reach")
    assert done.returncode == 2 and "set HOME" in sentence(done)


@pytest.mark.parametrize("place", first(["state", "tree"]))
@pytest.mark.skipif(not ROOT, reason="needs root, to mount a small disk")
def test_a_full_disk_changes_nothing_and_loses_nothing(
    kith: Kith, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    if subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=1m", "none", disk], capture_output=True
    ).returncode:
        pytest.skip("nothing can be mounted here")
    try:
        if place == "state":
            monkeypatch.setenv("XDG_STATE_HOME", str(disk))
        else:
            shutil.copytree(kith.folder, disk, dirs_exist_ok=True)
            kith = Kith(disk)
        filler = disk / ".git" / "filler" if place == "tree" else disk / "filler"
        with filler.open("wb", buffering=0) as file, pytest.raises(OSError, match="No space"):
            while True:
                file.write(b"x" * 4096)
        done = kith("run", *FREE, DIRECT, code=1)
        assert "Traceback" not in done.stderr and untouched(kith)
        filler.unlink()
        kith("run", *FREE, DIRECT)
        kith("undo")
        assert untouched(kith)
    finally:
        subprocess.run(["umount", "-l", disk], check=True)


@pytest.mark.slow
def test_a_read_only_file_is_respected(kith: Kith, serve: Serve) -> None:
    (kith.folder / "utils.py").chmod(0o444)
    serve([EDIT, DONE])
    done = kith("run", *FREE, "fix mean")
    assert "utils.py is read-only" in done.stderr and untouched(kith)


def test_a_log_that_is_none_is_said_and_kept_aside(kith: Kith, home: Path) -> None:
    file = home / ".local" / "state" / "kith" / "log.sqlite3"
    file.parent.mkdir(parents=True)
    file.write_bytes(b"garbage" * 1000)
    assert "nothing of it could be read" in kith("sessions").stderr
    assert file.with_name("log.sqlite3.damaged-1").read_bytes() == b"garbage" * 1000
    kith("run", *FREE, DIRECT)
    assert "replace" in kith("sessions").stdout


def test_an_event_that_cannot_be_read_refuses_nothing(kith: Kith, home: Path) -> None:
    kith("run", *FREE, DIRECT)
    with sqlite3.connect(home / ".local" / "state" / "kith" / "log.sqlite3") as log:
        log.execute("UPDATE events SET body = '{' WHERE kind = 'RunStarted'")
    kith("sessions")
    kith("run", *FREE, f'replace "{NEW}" with "{OLD}" in utils.py')
    assert untouched(kith)


# --- what is in the tree ---------------------------------------------------------------------


@pytest.mark.slow
def test_pipes_sockets_and_stray_links_are_stepped_around(
    kith: Kith, serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree = kith.folder
    os.mkfifo(tree / "pipe")
    monkeypatch.chdir(tree)  # a socket's path must be short
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind("socket")
    for name, target in {"loop": "loop", "out": "/etc/passwd", "up": "..", "lost": "nowhere"}.items():
        (tree / name).symlink_to(target)
    (tree / "AGENTS.md").write_bytes(bytes(range(256)) * 100)
    (tree / "huge.txt").write_bytes(b"x" * 70_000_000)
    (tree / ("deep/" * 60)).mkdir(parents=True)
    odd = ["pipe", "socket", "loop", "out", "up/x", "lost", "huge.txt"]
    write = {"calls": [{"name": "write", "args": {"path": path, "content": "x\n"}} for path in odd[:5]]}
    read = {"calls": [{"name": "read", "args": {"paths": [path]}} for path in odd]}
    server = serve([read, write, EDIT, DONE], "ollama", "--window", "100000")
    report = kith.run(*FREE, "fix mean")
    assert [change["path"] for change in report["changes"]] == ["utils.py"]
    told = [m["content"] for m in server.requests[-1]["messages"] if m["role"] == "tool"]
    for path, words in zip(odd, told, strict=False):
        assert path in words and any(w in words for w in ("not a regular", "link", "not exist", "too large"))
    assert not any("root:" in words for words in told)


@pytest.mark.slow
def test_files_that_are_not_utf8_are_edited_byte_for_byte_and_taken_back(kith: Kith, serve: Serve) -> None:
    latin, odd = kith.folder / "latin.py", Path(os.fsdecode(os.fsencode(kith.folder) + b"/f\xff.py"))
    latin.write_bytes(b"name = 'caf\xe9'\nnumber = 1\n")
    odd.write_bytes(b"number = 1\n")
    serve(
        [
            {
                "calls": [
                    {"name": "edit", "args": {"path": "latin.py", "old": "number = 1", "new": "number = 2"}}
                ]
            },
            DONE,
        ]
    )
    kith.run(*FREE, "count on")
    assert latin.read_bytes() == b"name = 'caf\xe9'\nnumber = 2\n"
    kith("undo")
    assert latin.read_bytes() == b"name = 'caf\xe9'\nnumber = 1\n"
    report = kith.run(*FREE, 'replace "number = 1" with "number = 3" in f*.py')
    assert odd.read_bytes() == b"number = 3\n"
    assert report["changes"][0]["path"] == odd.name


def test_a_configuration_that_is_a_pipe_is_not_waited_for(kith: Kith) -> None:
    (kith.folder / ".kith").mkdir()
    os.mkfifo(kith.folder / ".kith" / "config.toml")
    done = kith("run", "x", code=5)
    assert "The configuration in .kith is ignored: .kith/config.toml is not a file." in done.stderr


# --- models ----------------------------------------------------------------------------------


def test_without_a_model_it_says_where_it_looked_and_how_to_get_one(
    kith: Kith, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OLLAMA_HOST", "127.0.0.1:9")
    report = kith.run("fix mean", code=5)
    assert report["status"] == "unavailable"
    for words in (
        "Ollama at http://127.0.0.1:9",
        "ollama pull",
        "llama-server -hf",
        "kith demo",
        "GB of memory",
    ):
        assert words in report["text"]
    listed = kith("models", "--json", code=5)
    assert json.loads(listed.stdout) == []
    assert "No model was found" in kith("models", code=5).stderr


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("olama/x", "There is no provider 'olama'; did you mean ollama?"),
        ("ollama/", "'ollama/' names no model"),
        ("replay/none.json", "none.json is not a script that can be replayed"),
    ],
)
def test_a_name_that_cannot_be_one_is_a_usage_error(kith: Kith, name: str, expected: str) -> None:
    assert expected in kith.run("-m", name, "fix mean", code=2)["text"]


@pytest.mark.slow
def test_a_server_without_a_model_is_told_from_no_server(kith: Kith, answer: Answer) -> None:
    url = answer(200, json.dumps({"object": "list", "data": [], "models": [], "version": "0.12.0"}))
    assert f"{url}, which runs but has no model" in kith.run("fix mean", code=5)["text"]


def test_a_model_that_is_not_there_is_answered_with_those_that_are(kith: Kith, serve: Serve) -> None:
    serve([])
    for name in ("ollama/standing", "stadnin"):
        report = kith.run("-m", name, "fix mean", code=5)
        assert "did you mean" in report["text"] and "standin:latest" in report["text"]
    (row,) = json.loads(kith("models", "--json").stdout)
    assert row["name"] == "ollama/standin:latest"


@pytest.mark.parametrize(
    ("status", "body", "kind", "code", "expected"),
    [
        (200, "<html>Please sign in</html>", "text/html", 1, "answered with a web page"),
        (401, '{"error": "who are you?"}', "application/json", 1, "refused the key (401): who are you?"),
        (404, '{"error": "nothing here"}', "application/json", 1, "answered 404 (Not Found): nothing here"),
        (200, "data: hello\n\n", "text/event-stream", 1, "not JSON"),
    ],
)
def test_a_server_that_answers_nonsense_is_named(
    kith: Kith, answer: Answer, status: int, body: str, kind: str, code: int, expected: str
) -> None:
    url = answer(status, body, kind)
    report = kith.run("-m", "openai/any", "fix mean", code=code)
    assert expected in report["text"] and url in report["text"] and untouched(kith)


@pytest.mark.slow
def test_a_server_that_is_down_or_busy_for_ever_is_try_again_later(
    kith: Kith, serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = serve([{"error": {"status": 503, "text": "busy", "after_s": 0}}] * 9)
    report = kith.run("fix mean", code=75)
    assert report["status"] == "unavailable" and "503" in report["text"]
    assert len(server.requests) == 5 and len(report["receipt"]["warnings"]) == 4
    monkeypatch.setenv("OLLAMA_HOST", "127.0.0.1:9")
    assert "is it running?" in kith.run("-m", "ollama/any", "fix mean", code=75)["text"]


@pytest.mark.slow
def test_a_stream_that_breaks_off_or_stalls_can_be_tried_again_later(
    kith: Kith, serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KITH_STALL", "1")
    serve(["never comes to its end", EDIT, DONE], "ollama", "--pause", "3")
    report = kith.run("fix mean", code=75)
    assert report["status"] == "unavailable" and "sent nothing for 1 s" in report["text"]
    serve([EDIT, DONE])
    assert kith.run(*FREE, "--resume", report["session"])["status"] == "done"


@pytest.mark.slow
def test_a_prompt_larger_than_the_window_is_refused_not_cut(kith: Kith, serve: Serve) -> None:
    serve(["never said"])
    report = json.loads(kith("run", "--output-format", "json", input="word " * 39_000, code=4).stdout)
    assert report["status"] == "limit"
    assert "task do not fit the model's window (" in report["text"]


@pytest.mark.slow
def test_a_model_that_goes_round_in_circles_is_stopped(kith: Kith, serve: Serve) -> None:
    serve([{"calls": [{"name": "read", "args": {"paths": ["utils.py"]}}]}] * 9)
    report = kith.run("--max-steps", "3", "fix mean", code=4)
    assert report["status"] == "limit" and "3 steps" in report["text"] and report["usage"]["calls"] == 3


@pytest.mark.slow
def test_a_model_that_calls_nonsense_is_corrected_and_goes_on(kith: Kith, serve: Serve) -> None:
    nonsense = [("fly", {}), ("edit", {"path": 3}), ("edit", {}), ("read", {"paths": ["/etc/passwd"]})]
    server = serve([{"calls": [{"name": name, "args": args} for name, args in nonsense]}, EDIT, DONE])
    assert kith.run(*FREE, "fix mean")["status"] == "done"
    told = [m["content"] for m in server.requests[-1]["messages"] if m["role"] == "tool"]
    for words, expected in zip(
        told, ("There is no tool 'fly'", "is missing", "is missing", "outside"), strict=False
    ):
        assert expected in words


# --- checks ----------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_check_that_never_ends_or_does_not_exist_holds_the_change_back(
    kith: Kith, serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KITH_CHECK_TIMEOUT", "1")
    for check, reason in (("sleep 60", "out_of_time"), ("no-such-command", "same_failure")):
        serve([EDIT, DONE])
        report = kith.run("--yes", "--check", check, "--tries", "1", "fix mean", code=6)
        assert report["receipt"]["evidence"]["reason"] == reason and untouched(kith)


# --- sessions and undo -----------------------------------------------------------------------


@pytest.mark.slow
def test_a_session_that_is_over_stays_as_it_was(kith: Kith, tmp_path: Path) -> None:
    kith("run", *FREE, DIRECT)
    (row,) = json.loads(kith("sessions", "--json").stdout)
    report = kith.run("--resume", row["id"], code=2)
    assert "is over (done)" in report["text"] and report["changes"] == []
    (tmp_path / "other").mkdir()
    assert "belongs to" in sentence(Kith(tmp_path / "other")("run", "--resume", row["id"], code=2))
    assert json.loads(kith("sessions", "--json").stdout) == [row]


@pytest.mark.slow
def test_a_change_is_taken_back_once(kith: Kith) -> None:
    applied = kith.run(*FREE, DIRECT)["applied"]
    kith("undo", applied)
    assert untouched(kith)
    assert "already undone" in sentence(kith("undo", applied, code=2))
    assert "nothing to undo" in sentence(kith("undo", code=2))


@pytest.mark.usefixtures("sandbox")
@pytest.mark.slow
def test_two_kiths_in_one_project_do_not_get_in_each_others_way(kith: Kith, serve: Serve) -> None:
    serve([{"calls": [{"name": "bash", "args": {"command": "sleep 3"}}]}, EDIT, DONE])
    command = [sys.executable, "-m", "kith", "run", *FREE, "--output-format", "stream-json", "fix mean"]
    with subprocess.Popen(
        command, cwd=kith.folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True
    ) as first:
        assert first.stdout
        for line in first.stdout:
            if '"ToolBegan"' in line:
                break
        (row,) = json.loads(kith("sessions", "--json").stdout)
        busy = kith.run("--resume", row["id"], code=75)
        assert busy["status"] == "unavailable" and "open in another kith" in busy["text"]
        kith("run", *FREE, 'append "# two" to README.md')
        first.communicate()
    assert first.returncode == 0 and not untouched(kith)
    assert "# two" in (kith.folder / "README.md").read_text()


def test_a_variable_that_names_no_setting_stops_nothing(kith: Kith, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KITH_SERVICE_HOST", "10.0.0.7")  # as Kubernetes does
    monkeypatch.setenv("KITH_MODLE", "x")
    done = kith("config", "get", "tries")
    assert done.stdout.strip().isdigit()
    words = " ".join(done.stderr.split())
    assert "KITH_MODLE is no setting and is ignored; did you mean KITH_MODEL?" in words
    assert "KITH_SERVICE_HOST" in words
    monkeypatch.setenv("KITH_TRIES", "many")
    assert "tries must be a whole number" in kith("config", code=2).stderr
