"""Each feature can be deleted: kith starts, says what is left, and does its main job."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from kith.settings.features import known_features
from outside import in_thread
from places import SOURCE

NAMES = [each.name for each in known_features()]
# Several commands in one process: to load kith takes longer than most of them. Between them stands a NUL.
IN_TURN = """
import sys
from kith.cli import main
for number, words in enumerate(sys.argv[1:]):
    print("\\0" * bool(number), end="", flush=True)
    try:
        code = main(words.split())
    except SystemExit as ending:
        code = ending.code
    assert not code, words
"""
# The same for many folders of features: all the rest of kith is loaded once, and forked for each of them.
FORKED = f"""
import os, sys
from importlib import import_module
from pathlib import Path
import kith.features
top = Path(kith.__file__).parent
for file in top.rglob("*.py"):
    parts = file.relative_to(top).with_suffix("").parts
    if parts[0] not in ("features", "__main__"):
        import_module(".".join(("kith", *parts)).removesuffix(".__init__"))
assert not [name for name in sys.modules if name.startswith("kith.features.")]
for folder in sys.argv[1:]:
    folder, *commands = folder.split(",")
    if not (child := os.fork()):
        os.dup2(os.open(folder + ".out", os.O_WRONLY | os.O_CREAT), 1)
        kith.features.__path__[:] = [folder]
        sys.argv[1:] = commands
        try:
            {IN_TURN.strip().replace(chr(10), chr(10) + " " * 12)}
            sys.stdout.flush()
        except BaseException:
            import traceback
            traceback.print_exc()
            sys.stderr.flush()
            os._exit(1)
        os._exit(0)
    assert not os.waitpid(child, 0)[1], folder
"""
SHARES = 2  # of the features, for as many processes of tests
# What no other feature mentions only the kernel can miss. It starts without each, and plays one demo without
# all of them.
MENTIONED = {name for each in known_features() for name in (*each.needs, *each.extends) if name != each.name}
LEAVES = [name for name in NAMES if name not in MENTIONED and name != "demo"]


def _link(source: str, target: str) -> None:
    """The same file at another place: it is quicker, and neither is written to."""
    try:
        os.link(source, target)
    except OSError:  # another file system
        shutil.copy2(source, target)


def without(folder: Path, *names: str) -> dict[str, str]:
    """The environment in which a copy of kith without these features is the one that is found."""
    shutil.copytree(SOURCE, folder / "kith", copy_function=_link)  # with what is compiled
    for name in names:
        shutil.rmtree(folder / "kith" / "features" / name)
    if "demo" not in names:
        hurry(folder / "kith" / "features" / "demo")
    return {**os.environ, "PYTHONPATH": str(folder)}


def hurry(demo: Path) -> None:
    """The demo's replies come late for people who read along, and here at once."""
    played = demo / "conversation.json"
    at_once = re.sub(r'"delay": [\d.]+', '"delay": 0', played.read_text())
    played.unlink()  # it may be a link to kith's own
    played.write_text(at_once)


def kith(environ: dict[str, str], *words: str, cwd: Path | None = None) -> str:
    return python(environ, "-m", "kith", *words, cwd=cwd)


def python(environ: dict[str, str], *words: str, cwd: Path | None = None) -> str:
    command = [sys.executable, "-P", *words]
    done = subprocess.run(command, env=environ, cwd=cwd, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    return done.stdout


def check(name: str, said: str) -> None:
    """What kith says without a feature names nothing of it, and the demo is applied, and taken back."""
    help, features, *done = said.split("\0")
    gone = next(each for each in known_features() if each.name == name)
    for command in gone.commands:
        assert f"  {command.name} " not in help
    assert name not in [line.split()[0] for line in features.splitlines()]
    assert all("Undid" in each for each in done), name


def test_without_the_page_kith_starts_and_the_demo_runs(tmp_path: Path) -> None:
    check("web", python(without(tmp_path, "web"), "-c", IN_TURN, "--help", "features", "demo"))


@pytest.mark.slow
@pytest.mark.parametrize("share", range(SHARES))
def test_without_one_feature_kith_starts_and_the_demo_runs(tmp_path: Path, share: int) -> None:
    demo = Path(shutil.copytree(SOURCE / "features" / "demo", tmp_path / "demo"))
    hurry(demo)
    names, words = NAMES[share::SHARES], list[str]()
    for gone in ((*LEAVES,), *((name,) for name in names)):
        folder = tmp_path / f"without-{len(words)}"
        folder.mkdir()
        for name in {*NAMES}.difference(gone):
            (folder / name).symlink_to(demo if name == "demo" else SOURCE / "features" / name)
        plays = ["demo"] if gone[0] in MENTIONED or len(gone) > 1 else []
        words.append(",".join((str(folder), "--help", "features", *plays)))
    python(dict(os.environ), "-c", FORKED, *words)
    leaves, *others = [Path(f"{each.partition(',')[0]}.out").read_text() for each in words]
    assert "Undid" in leaves
    for name, said in zip([*LEAVES, *names], [leaves] * len(LEAVES) + others, strict=True):
        check(name, said)


def test_without_any_feature_the_main_job_is_done(repository: Path, tmp_path: Path) -> None:
    environ = without(tmp_path, *NAMES)
    assert kith(environ, "--version").startswith("kith ")
    features, said = python(environ, "-c", IN_TURN, "features", "--help").split("\0")
    assert features == "" and "run " in said and "scan" not in said
    edit = {"path": "utils.py", "old": "(len(numbers) + 1)", "new": "len(numbers)"}
    with in_thread([{"calls": [{"name": "edit", "args": edit}]}, "Mended."], "vllm") as server:
        environ |= {"OPENAI_BASE_URL": f"{server.url}/v1", "OPENAI_API_KEY": "none"}
        kith(environ, "run", "--yes", "--check", "none", "-m", "openai/standin", "mend mean", cwd=repository)
    assert "sum(numbers) / len(numbers)" in (repository / "utils.py").read_text()


@pytest.mark.slow
def test_with_one_feature_alone_a_task_is_done(repository: Path, tmp_path: Path) -> None:
    environ = without(tmp_path, *(name for name in NAMES if name != "direct"))
    assert kith(environ, "features").split()[0] == "direct"
    kith(environ, "run", "--yes", "rename mean to average", cwd=repository)
    assert "def average" in (repository / "utils.py").read_text()
