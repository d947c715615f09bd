"""A command in the box sees the tree and the system's programs, and cannot reach anything else."""

import asyncio
import os
import signal
import socket
import stat
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from confined import find_abilities
from kith.core.errors import TreeError
from kith.core.event_loop import let_start
from kith.core.values import Ran
from kith.core.workspace import ExecLimits, ShellCommand
from kith.trees.environment import Surroundings, environment_of, find_surroundings
from kith.trees.local import open_tree
from kith.trees.sandbox import Box, mounts_of, run_boxed
from waiting import running, soon, until


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "tree"
    root.mkdir()
    (root / "file").write_text("content\n")
    reason = find_abilities().no_sandbox
    if reason:
        pytest.skip(reason)
    return root


def run(root: Path, line: str, writable: bool = True) -> Ran:
    box = Box(root, root, writable, find_surroundings(root))
    return asyncio.run(run_boxed(box, ShellCommand(line), ExecLimits(seconds=60)))


def test_the_tree_is_there_and_writable_only_when_asked(root: Path) -> None:
    ran = run(root, "pwd; cat file; echo new > other")
    assert (ran.code, ran.output, ran.sandboxed) == (0, f"{root}\ncontent\n", True)
    assert (root / "other").read_text() == "new\n"
    assert run(root, "echo x > file", writable=False).code == 1
    assert (root / "file").read_text() == "content\n"


def test_a_command_starts_before_a_thread_that_computes(root: Path) -> None:
    # Whoever begins such a thread lets the loop turn a few times first.
    children = Path(f"/proc/self/task/{os.getpid()}/children")

    async def start() -> bool:
        before = children.read_text().split()
        running = asyncio.ensure_future(run_boxed(Box(root, root, False), ShellCommand("true"), ExecLimits()))
        await let_start()
        after = children.read_text().split()
        await running
        return len(after) > len(before)

    asyncio.run(start())  # the first command also starts what ends others if kith is killed
    assert asyncio.run(start())


def test_nothing_else_can_be_written(root: Path, tmp_path: Path) -> None:
    (root / "out").symlink_to(tmp_path)
    ran = run(
        root,
        "for place in /x /etc/x /usr/x /home/x /root/x /proc/sys/kernel/core_pattern /sys/x out/x"
        f" {tmp_path}/x; do (echo bad > $place) 2>/dev/null && echo $place; done; true",
    )
    assert [line for line in ran.output.splitlines() if "/tmp/" not in line and line != "out/x"] == []
    assert not (tmp_path / "x").exists()


def test_the_machines_devices_keep_their_modes(root: Path) -> None:
    run(root, "chmod 600 /dev/full")  # which succeeds as uid 0
    assert stat.S_IMODE(Path("/dev/full").stat().st_mode) == 0o666


def test_mounts_cannot_be_undone_and_no_namespace_can_be_made(root: Path) -> None:
    assert run(root, "mount -o remount,rw,bind /usr; touch /usr/x").code != 0
    assert run(root, "umount /tmp").code != 0
    assert run(root, "unshare -U true").code != 0
    assert "CapEff:\t0000000000000000" in run(root, "cat /proc/self/status").output


def test_the_home_and_secrets_are_hidden(root: Path) -> None:
    home = Path.home()
    ran = run(root, f"ls -A {home}; ls -A /home; cat /etc/shadow; ls /etc/ssh /run; ls -A ~; echo $HOME")
    for word in (".ssh", ".bashrc", ".config", ".gitconfig", ".netrc", ".aws"):
        assert word not in ran.output
    assert "root:" not in ran.output and ran.output.strip().endswith("/tmp/home")


def test_no_credential_reaches_the_command(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "canary-1")
    monkeypatch.setenv("SSH_AUTH_SOCK", "/tmp/canary-1")
    monkeypatch.setenv("LC_TIME", "C")
    monkeypatch.setenv("LC_TOKEN", "canary-1")
    ran = run(root, "env; cat /proc/*/environ /proc/*/cmdline | tr '\\0' '\\n'")
    assert "canary-1" not in ran.output
    assert "LC_TIME=C" in ran.output and "GIT_OPTIONAL_LOCKS=0" in ran.output
    given = asyncio.run(
        run_boxed(Box(root, root, True), ShellCommand("echo $MINE", env={"MINE": "yes"}), ExecLimits())
    )
    assert given.output == "yes\n"


def test_there_is_no_network_but_loopback_works_inside(root: Path) -> None:
    server = socket.create_server(("127.0.0.1", 0))
    port = server.getsockname()[1]
    script = (
        "import socket, sys\n"
        "for place in (('127.0.0.1', int(sys.argv[1])), ('1.1.1.1', 53)):\n"
        "    try: socket.create_connection(place, 2); print('reached', place)\n"
        "    except OSError as error: print('no', place[0])\n"
        "own = socket.create_server(('127.0.0.1', 0))\n"
        "socket.create_connection(own.getsockname()); print('own')\n"
    )
    (root / "net.py").write_text(script)
    assert run(root, f"python3 net.py {port}").output == "no 127.0.0.1\nno 1.1.1.1\nown\n"
    server.close()


def test_nobody_listens_on_the_sockets_that_it_sees(root: Path, tmp_path: Path) -> None:
    tool = tmp_path / "tool"
    tool.mkdir()
    places = (root / "socket", tool / "socket")
    with socket.socket(socket.AF_UNIX) as one, socket.socket(socket.AF_UNIX) as other:
        for ear, place in zip((one, other), places, strict=True):
            ear.bind(str(place))
            ear.listen()
        script = (
            "import socket, sys\n"
            "for place in sys.argv[1:]:\n"
            "    try: socket.socket(socket.AF_UNIX).connect(place); print('reached')\n"
            "    except OSError as error: print('no')\n"
        )
        (root / "net.py").write_text(script)
        line = f"/usr/bin/python3 net.py {places[0]} {places[1]}"
        ran = asyncio.run(
            run_boxed(Box(root, root, False, Surroundings((tool,))), ShellCommand(line), ExecLimits())
        )
    assert ran.output == "no\nno\n"


@pytest.mark.parametrize("bound", ["relative", "renamed", "through a link", "in a linked toolchain"])
@pytest.mark.slow
def test_a_socket_is_found_whatever_it_was_called(root: Path, tmp_path: Path, bound: str) -> None:
    (tool := tmp_path / "tool").mkdir()
    (tmp_path / "link").symlink_to(tool)
    code = (
        "import os, socket, sys\n"
        "os.chdir(sys.argv[1])\n"
        "ear = socket.socket(socket.AF_UNIX)\n"
        "ear.bind(sys.argv[2])\n"
        "ear.listen()\n"
        "os.path.exists('first') and os.rename('first', 'socket')\n"
        "print(flush=True)\n"
        "sys.stdin.read()\n"
    )
    place = {
        "relative": "socket",
        "renamed": str(tool / "first"),
        "through a link": str(tmp_path / "link/socket"),
        "in a linked toolchain": str(tool / "socket"),
    }
    argv = (sys.executable, "-c", code, str(tool), place[bound])
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as server:
        assert server.stdout and server.stdout.readline()
        with socket.socket(socket.AF_UNIX) as caller:
            caller.connect(str(tool / "socket"))
        shown = tmp_path / "link" if bound == "in a linked toolchain" else tool
        script = f"import socket; socket.socket(socket.AF_UNIX).connect({str(shown / 'socket')!r})"
        box = Box(root, root, False, Surroundings((shown,)))
        ran = asyncio.run(run_boxed(box, ShellCommand(f'/usr/bin/python3 -c "{script}"'), ExecLimits()))
        server.kill()
    assert "ConnectionRefusedError" in ran.output


def test_a_trial_tells_no_command_where_it_is_kept(root: Path, tmp_path: Path) -> None:
    state = tmp_path / "state"
    tree = open_tree(root, state, tmp_path / "cache")

    async def main() -> str:
        async with tree.trial() as trial:
            return (await trial.exec(ShellCommand("cat /proc/1/environ /proc/1/cmdline; env"))).output

    assert str(state) not in asyncio.run(main())


def test_no_list_of_processes_tells_variables_or_hidden_places(root: Path, tmp_path: Path) -> None:
    box, token = Box(root, root, True, hidden=(tmp_path / "state",)), f"97{os.getpid()}"

    async def main() -> str:
        line = f"sleep {token}; cat /proc/[0-9]*/environ /proc/[0-9]*/cmdline"
        command = ShellCommand(line, env={"MINE": "canary-2"})
        task = asyncio.create_task(run_boxed(box, command, ExecLimits(seconds=60)))
        await soon(lambda: running(f"sleep\0{token}"))
        assert not running("canary-2")
        assert not running(str(tmp_path / "state"))
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
        return (
            await run_boxed(box, ShellCommand("cat /proc/1/environ /proc/1/cmdline"), ExecLimits())
        ).output

    assert str(tmp_path) not in asyncio.run(main())


THREADS = "import threading as t\nt.stack_size(1 << 16)\nwhile True: t.Thread(target=t.Event().wait).start()"
SHARED = "import mmap; x = []\nwhile True: x.append(mmap.mmap(-1, 1 << 26)); x[-1].write(bytes(1 << 26))"
LIMITS = {
    "b() { b | b & b; }; b": "started more than 200 processes",
    f"python3 -c '{THREADS}'": "started more than 200 processes",
    f"python3 -c '{SHARED}'": "bytes of memory",
    "head -c 9000000 /dev/zero > big": "File size limit",
    "exec >&- 2>&-; sleep 600": "",
}


@pytest.mark.slow
@pytest.mark.parametrize("line", LIMITS)
def test_limits_hold_for_root_too(root: Path, line: str) -> None:
    seconds = 60 if LIMITS[line] else 1
    limits = ExecLimits(seconds=seconds, processes=200, memory=300_000_000, file_size=4_000_000)
    ran = asyncio.run(run_boxed(Box(root, root, True, find_surroundings(root)), ShellCommand(line), limits))
    assert LIMITS[line] in ran.output if LIMITS[line] else ran.timed_out, ran


def test_other_processes_are_out_of_sight(root: Path) -> None:
    ran = run(root, f"ls /proc | grep -c '^[0-9]*$'; kill -0 {os.getpid()} && echo seen")
    assert int(ran.output.split()[0]) < 10 and "seen" not in ran.output


def test_git_hooks_and_settings_are_read_only(root: Path) -> None:
    subprocess.run(["git", "init", "-q", root], check=True)
    (root / ".git/hooks").mkdir(exist_ok=True)
    for line in ("echo x > .git/hooks/post-commit", "echo x >> .git/config", "git config user.name x"):
        assert run(root, line).code != 0, line
    assert run(root, "git add file && git -c user.name=A -c user.email=a@b.c commit -qm x").code == 0


def test_time_out_kills_children_that_left_the_session(root: Path) -> None:
    token = f"95{os.getpid()}"
    box = Box(root, root, True)
    line = f"setsid sleep {token} & (setsid setsid sleep {token} &) ; trap '' TERM; sleep {token}"
    ran = asyncio.run(run_boxed(box, ShellCommand(line), ExecLimits(seconds=0.4)))
    assert ran.timed_out and ran.code == 124
    assert not running(token)


def test_background_children_end_with_the_command(root: Path) -> None:
    token = f"94{os.getpid()}"
    ran = run(root, f"setsid sleep {token} & sleep {token} & echo done")
    assert ran.output == "done\n" and ran.code == 0
    until(lambda: not running(token))  # the kernel has ended them all, but one may still be leaving


def test_cancelling_leaves_nothing(root: Path) -> None:
    token = f"93{os.getpid()}"

    async def main() -> None:
        task = asyncio.create_task(
            run_boxed(
                Box(root, root, True), ShellCommand(f"setsid sleep {token} & sleep {token}"), ExecLimits()
            )
        )
        await soon(lambda: running(f"sleep\0{token}"))
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    for _ in range(3):
        asyncio.run(main())
        until(lambda: not running(token))


DIES = """
import asyncio, os, signal, sys, threading, time
from pathlib import Path
from kith.core.workspace import ShellCommand, ExecLimits
from kith.trees.sandbox import run_boxed
from kith.trees.sandbox import Box
def die():
    time.sleep(float(sys.argv[2]))
    os.kill(os.getpid(), signal.SIGKILL)
threading.Thread(target=die).start()
box = Box(Path(sys.argv[1]), Path(sys.argv[1]), True)
asyncio.run(run_boxed(box, ShellCommand(sys.argv[3]), ExecLimits()))
"""


@pytest.mark.slow
def test_nothing_outlives_a_crash_at_any_moment_of_the_start(root: Path) -> None:
    token = f"91{os.getpid()}"
    for step in range(12):
        argv = [sys.executable, "-c", DIES, str(root), str(0.02 + step * 0.003), f"sleep {token}"]
        assert subprocess.run(argv).returncode == -signal.SIGKILL
    try:
        until(lambda: not running(token))
    finally:
        for pid in running(token):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


def test_a_sandbox_that_fails_is_not_a_command_that_failed(root: Path) -> None:
    with pytest.raises(TreeError, match="not start"):
        asyncio.run(run_boxed(Box(root, root, True), ShellCommand("true", "no such folder"), ExecLimits()))
    with pytest.raises(TreeError):
        asyncio.run(run_boxed(Box(root, root, True), ShellCommand("true", "../elsewhere"), ExecLimits()))
    assert run(root, "echo 'bwrap: no'; exit 1").code == 1


def test_hidden_folders_are_covered_where_they_would_show(root: Path) -> None:
    (root / "state").mkdir()
    (root / "state/secret").write_text("x")
    box = Box(root, root, True, hidden=(root / "state",))
    assert asyncio.run(run_boxed(box, ShellCommand("ls state"), ExecLimits())).output == ""


def test_odd_paths_need_no_quoting(tmp_path: Path, root: Path) -> None:
    odd = tmp_path / "a b,c:d'e\"f\ng"
    odd.mkdir()
    (odd / "x").write_text("odd\n")
    assert run(odd, "cat x").output == "odd\n"


# --- toolchains and variables ------------------------------------------------------------------


def test_the_running_interpreter_can_be_used(root: Path) -> None:
    ran = run(root, f"{sys.executable} -c 'import sys; print(sys.base_prefix)'")
    if not Path(sys.executable).is_relative_to(root) and ran.code:
        ran = run(root, f"{Path(sys.executable).resolve()} -c 'import sys; print(sys.base_prefix)'")
    assert ran.output.strip() == sys.base_prefix


def test_a_venv_at_its_own_path_works_and_comes_first(root: Path) -> None:
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", root / ".venv"], check=True)
    (root / ".venv/bin/tool").write_text(f"#!{root}/.venv/bin/python\nprint('tool')\n")
    (root / ".venv/bin/tool").chmod(0o755)
    ran = run(
        root,
        "for python in .venv/bin/python python; do $python -c 'import sys; print(sys.prefix)'; done; tool",
    )
    assert ran.output.splitlines() == [f"{root}/.venv", f"{root}/.venv", "tool"]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.delenv("VIRTUAL_ENV", raising=False)
    return home


def test_version_managers_are_found_but_never_the_home(home: Path, tmp_path: Path) -> None:
    shown = (".cargo/bin", ".cargo/registry", ".nvm", ".local/share/uv/python", "go/bin", "go/pkg", "sdk")
    for name in (*shown, ".ssh", ".config", ".local/share/uv/credentials", ".aws", "go/src/other", ".gradle"):
        (home / name).mkdir(parents=True)
    (home / ".cargo/credentials.toml").write_text("token")
    found = {
        path.relative_to(home)
        for path in find_surroundings(tmp_path / "tree").folders
        if path.is_relative_to(home)
    }
    assert found == {Path(name) for name in shown}
    variables = environment_of(tmp_path, find_surroundings(tmp_path / "tree"), {})
    assert variables["CARGO_HOME"] == str(home / ".cargo") and variables["NVM_DIR"] == str(home / ".nvm")


def test_version_managers_are_found_where_their_variables_say(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree, tools = tmp_path / "tree", tmp_path / "tools"
    for name in ("pyenv", "cargo/bin", "one/bin", "two/pkg", "jdk"):
        (tools / name).mkdir(parents=True)
    (tools / "cargo/credentials.toml").write_text("token")
    (tree / "jdk").mkdir(parents=True)
    (home / ".pyenv").mkdir()
    (home / ".config/nvm").mkdir(parents=True)
    monkeypatch.setenv("NVM_DIR", str(home / ".config/nvm"))  # where nvm installs itself with XDG's folders
    named = {"PYENV_ROOT": "pyenv", "CARGO_HOME": "cargo", "JAVA_HOME": "jdk"}
    for variable, name in named.items():
        monkeypatch.setenv(variable, str(tools / name))
    monkeypatch.setenv("GOPATH", f"{tools}/one:{tools}/two:{tree}")
    monkeypatch.setenv("GOROOT", "jdk")
    monkeypatch.chdir(tree)
    found = find_surroundings(tree)
    shown = {path.relative_to(tools) for path in found.folders if path.is_relative_to(tools)}
    assert shown == {Path(name) for name in ("pyenv", "cargo/bin", "one/bin", "two/pkg", "jdk")}
    assert home / ".config/nvm" in found.folders and home / ".config" not in found.folders
    (home / ".config/maven").mkdir()
    monkeypatch.setenv("M2_HOME", str(home / ".config/maven"))  # its settings, named by mistake
    assert home / ".config/maven" not in find_surroundings(home / "project").folders
    assert home / ".pyenv" not in found.folders and not [p for p in found.folders if p.is_relative_to(tree)]
    variables = environment_of(tree, found, {})
    assert {name: variables[name] for name in named} == {
        name: str(tools / path) for name, path in named.items()
    }
    assert variables["GOPATH"] == f"{tools}/one:{tools}/two" and "GOROOT" not in variables


@pytest.mark.parametrize(
    ("variable", "place"),
    [
        ("M2_HOME", "{home}/.m2"),
        ("GRADLE_HOME", "{home}/.gradle"),
        ("JAVA_HOME", "{home}/.ssh"),
        ("PYENV_ROOT", "{home}/.config"),
        ("GOROOT", "/etc"),
        ("JAVA_HOME", "{home}"),
        ("DOTNET_ROOT", "{home}/.."),
    ],
)
def test_a_variable_that_names_a_folder_of_settings_shows_nothing(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variable: str, place: str
) -> None:
    for name in (".m2", ".gradle", ".ssh", ".config/gcloud"):
        (home / name).mkdir(parents=True)
    named = Path(place.format(home=home))
    monkeypatch.setenv(variable, str(named))
    found = find_surroundings(tmp_path / "tree")
    assert not [path for path in found.folders if path.resolve().is_relative_to(named.resolve())]


def test_looking_for_the_surroundings_leaves_no_file_open(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    before = len([*Path("/proc/self/fd").iterdir()])
    for _ in range(20):
        find_surroundings(tmp_path)
    assert len([*Path("/proc/self/fd").iterdir()]) <= before + 1


def test_what_the_jvm_has_fetched_is_found_without_the_home(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fetched = home / ".m2/repository"
    fetched.mkdir(parents=True)
    (home / ".m2/settings.xml").write_text("<password>")
    monkeypatch.setenv("MAVEN_OPTS", "-Dhttp.proxyPassword=secret")
    found = find_surroundings(tmp_path / "tree")
    assert found.variables["MAVEN_OPTS"] == f"-Dmaven.repo.local={fetched}"
    assert fetched in found.folders and "GRADLE_RO_DEP_CACHE" not in found.variables


def test_choices_of_versions_compilers_and_flags_are_passed_and_no_credential(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("CC", "PYENV_VERSION", "CFLAGS", "GITHUB_TOKEN", "DJANGO_SETTINGS_MODULE", "HOME", "PATH"):
        monkeypatch.setenv(name, f"/my/{name}")
    named = ("DJANGO_SETTINGS_MODULE", "NOT_SET", "PATH", "HOME")
    variables = environment_of(tmp_path, find_surroundings(tmp_path, named), {})
    passed = {name for name in variables if variables[name] == f"/my/{name}"}
    assert passed == {"CC", "PYENV_VERSION", "CFLAGS", "DJANGO_SETTINGS_MODULE", "HOME", "PATH"}
    assert "NOT_SET" not in variables


@pytest.mark.parametrize(
    "claim", ["{home}/bin", "{home}/.ssh/bin", "/bin", "{home}/../home/bin", "relative/bin"]
)
def test_a_project_cannot_claim_folders_of_the_home_as_its_interpreter(
    home: Path, tmp_path: Path, claim: str
) -> None:
    (home / ".ssh/bin").mkdir(parents=True)
    (home / "bin").mkdir()
    (home / "bin/python3").write_text("")
    (home / "lib/python3.11").mkdir(parents=True)
    (home / "lib/python3.11/os.py").write_text("")
    (tmp_path / "tree/.venv").mkdir(parents=True)
    (tmp_path / "tree/.venv/pyvenv.cfg").write_text("home = " + claim.format(home=home))
    assert not [
        path
        for path in find_surroundings(tmp_path / "tree").folders
        if home.is_relative_to(path) or path.is_relative_to(home)
    ]


def test_the_interpreter_below_a_venv_is_found(home: Path, tmp_path: Path) -> None:
    base = home / "pythons/3.99"
    (base / "lib/python3.99").mkdir(parents=True)
    (base / "lib/python3.99/os.py").write_text("")
    (tmp_path / "tree/.venv").mkdir(parents=True)
    (tmp_path / "tree/.venv/pyvenv.cfg").write_text(f"version = 3.99\nhome = {base}/bin\n")
    assert base in find_surroundings(tmp_path / "tree").folders


def test_git_works_in_a_linked_worktree_and_only_for_its_own_repository(tmp_path: Path, root: Path) -> None:
    def git(place: Path, *args: object) -> None:
        names = ("-c", "user.name=A", "-c", "user.email=a@example.org")
        subprocess.run(["git", *names, *map(str, args)], cwd=place, check=True, capture_output=True)

    git(root, "init", "-q")
    git(root, "add", ".")
    git(root, "commit", "-q", "-m", "first")
    linked = tmp_path / "linked"
    git(root, "worktree", "add", "-q", linked)
    (linked / "file").write_text("changed\n")
    assert root / ".git" in find_surroundings(linked).folders
    assert run(linked, "git diff --name-only").output == "file\n"
    stolen = tmp_path / "stolen"
    stolen.mkdir()
    (stolen / ".git").write_text((linked / ".git").read_text())
    assert root / ".git" not in find_surroundings(stolen).folders


def test_a_tree_that_says_it_is_a_worktree_shows_nothing_but_a_repository(tmp_path: Path, root: Path) -> None:
    private, made = tmp_path / "private", root / "made"
    private.mkdir()
    made.mkdir()
    (root / ".git").write_text("gitdir: made\n")
    (made / "gitdir").write_text(f"{root / '.git'}\n")
    (made / "commondir").write_text("../../private\n")
    assert not any(private.is_relative_to(each) for each in find_surroundings(root).folders)


def test_what_a_tree_brings_along_is_never_read_without_an_end(root: Path) -> None:
    for name, make in ((".venv", lambda place: place.symlink_to("/dev/zero")), ("venv", os.mkfifo)):
        (root / name).mkdir()
        make(root / name / "pyvenv.cfg")
    os.mkfifo(root / ".git")
    assert not any(each.is_relative_to(root) for each in find_surroundings(root).folders)


def test_the_tree_is_mounted_after_the_toolchains(tmp_path: Path) -> None:
    argv = mounts_of(Box(tmp_path / "go/x", tmp_path / "go/x", True, Surroundings((tmp_path / "go",))))
    assert argv.index(str(tmp_path / "go")) < argv.index(str(tmp_path / "go/x"))
