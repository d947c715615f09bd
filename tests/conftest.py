"""What every test gets, a home of its own, and what some ask for: a repository, a tiny model, an engine."""

import gc
import itertools
import os
import platform
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from places import SUPPORT

# Properties are tried on fewer examples in the ordinary run; CI's slow run tries many. How long one takes
# says more of what else the machine does.
settings.register_profile("quick", max_examples=30, deadline=None)
settings.register_profile("thorough", max_examples=120, deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "quick"))

# What is loaded and collected lives to the end. To look through it for garbage, again and again, took a tenth
# of the time of the processes that run the tests.
gc.disable()

# A job in the background of a shell may ignore Ctrl-C, and so would every kith that a test starts and stops.
signal.signal(signal.SIGINT, signal.default_int_handler)

# kith is started hundreds of times: what it is made of is compiled once, whatever the environment says.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

# kith as a process with servers beside it, and packages of others to build in: for every folder of tests.
pytest_plugins = ["outside_fixtures", "package_fixtures", "postgres", "disturbed", "rewritten"]

ROOT = Path(__file__).parent.parent
_numbers = itertools.count()
_reports: list[str] = []  # the test whose report is being made
PATIENCE = {"ordinary": 100, "slow": 900}  # seconds, also on a machine that has much else to do
AUTHOR = {"NAME": "A Person", "EMAIL": "person@example.org"}
FOREIGN = (
    "KITH_",
    "OPENAI_",
    "ANTHROPIC_",
    "GEMINI_",
    "GOOGLE_",
    "OLLAMA_",
    "GIT_",
)  # a developer's own settings

UTILS = '''\
"""Small helpers for numbers."""


def mean(numbers):
    """The arithmetic mean; of no numbers at all it is 0."""
    return sum(numbers) / (len(numbers) + 1)


def clamp(number, low, high):
    """The number, moved into the range from low to high."""
    return max(low, min(number, high))
'''
TEST_UTILS = """\
import unittest

from utils import clamp, mean


class TestUtils(unittest.TestCase):
    def test_mean(self):
        self.assertEqual(mean([2, 4]), 3)

    def test_mean_of_nothing(self):
        self.assertEqual(mean([]), 0)

    def test_clamp(self):
        self.assertEqual(clamp(11, 0, 10), 10)
"""
README = "# numbers\n\nTwo helpers. Run the tests with `python -m unittest discover -s tests -t .`.\n"


def pytest_collection_finish() -> None:
    gc.freeze()
    gc.enable()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """No alarm goes off while pytest words a failure: that would end the whole run."""
    _reports.append(item.nodeid)
    try:
        return (yield)
    finally:
        _reports.pop()


@pytest.fixture(autouse=True)
def patience(request: pytest.FixtureRequest) -> Iterator[None]:
    """No test waits for ever, say for a child that has died: it fails where it waits."""
    if not hasattr(signal, "setitimer"):
        yield
        return
    seconds = PATIENCE["slow" if request.node.get_closest_marker("slow") else "ordinary"]

    def end(*_: object) -> None:
        if not _reports:
            pytest.fail(f"It did not end within {seconds} s.")

    before = signal.signal(signal.SIGALRM, end)
    signal.setitimer(signal.ITIMER_REAL, seconds, 30)  # and again, for what is cleaned up behind it
    yield
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


@pytest.fixture(autouse=True)
def home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty home for each test: nothing is read from the developer's, nothing is written there."""
    folder = _new_folder(tmp_path_factory, "home")
    for name in tuple(os.environ):
        if name.startswith(FOREIGN):
            monkeypatch.delenv(name)
    for name, place in {
        "HOME": ".",
        "USERPROFILE": ".",
        "XDG_CONFIG_HOME": ".config",
        "XDG_STATE_HOME": ".local/state",
        "XDG_DATA_HOME": ".local/share",
        "XDG_CACHE_HOME": ".cache",
    }.items():
        monkeypatch.setenv(name, str(folder / place))
    for key, value in AUTHOR.items():
        monkeypatch.setenv(f"GIT_AUTHOR_{key}", value)
        monkeypatch.setenv(f"GIT_COMMITTER_{key}", value)
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    monkeypatch.setenv("KITH_DISCOVERY", "off")  # the developer's own model servers are none of a test's
    return folder


@pytest.fixture
def tmp_path(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An empty folder for each test, as pytest's own gives it."""
    return _new_folder(tmp_path_factory, re.sub(r"\W", "_", request.node.name)[:26])


def _new_folder(factory: pytest.TempPathFactory, name: str) -> Path:
    """A folder with a number of its own; pytest would look through thousands of folders for a free one."""
    folder = factory.getbasetemp() / f"{name}{next(_numbers)}"
    folder.mkdir(mode=0o700)
    return folder


@pytest.fixture(scope="session")
def committed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The repository that each test gets a copy of."""
    folder = tmp_path_factory.mktemp("committed") / "repository"
    (folder / "tests").mkdir(parents=True)
    (folder / "utils.py").write_text(UTILS)
    (folder / "tests" / "__init__.py").write_text("")
    (folder / "tests" / "test_utils.py").write_text(TEST_UTILS)
    (folder / "README.md").write_text(README)
    (folder / ".gitignore").write_text("__pycache__/\n")
    person = {f"GIT_{who}_{key}": value for who in ("AUTHOR", "COMMITTER") for key, value in AUTHOR.items()}
    for command in (["init", "-q", "-b", "main"], ["add", "."], ["commit", "-q", "-m", "Two helpers"]):
        subprocess.run(["git", *command], cwd=folder, check=True, env={**os.environ, **person})
    for sample in (folder / ".git" / "hooks").iterdir():
        sample.unlink()
    return folder


@pytest.fixture
def repository(tmp_path: Path, home: Path, committed: Path) -> Path:
    """A git repository with one commit: a small Python project whose `mean` is wrong, as a test shows."""
    return Path(shutil.copytree(committed, tmp_path / "repository"))


@pytest.fixture
def sandbox() -> None:
    """For tests that need commands to be confined: skipped, with the reason, where they cannot be."""
    from confined import find_abilities

    if reason := find_abilities().no_sandbox:
        pytest.skip(reason)


@pytest.fixture(scope="session")
def tiny_gguf(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tiny model, built once for all the processes of a test run."""
    here = tmp_path_factory.getbasetemp()
    shared = here.parent if "PYTEST_XDIST_WORKER" in os.environ else here
    model = shared / "tiny.gguf"
    if not model.exists():
        # Two processes may build it at once: the rename is atomic, and both have made the same bytes.
        made = here / "making.gguf"
        script = ROOT / "tools" / "make_tiny_gguf.py"
        subprocess.run([sys.executable, script, made], check=True, capture_output=True)
        made.replace(model)
    return model


@pytest.fixture(scope="session")
def engine_url(tiny_gguf: Path) -> Iterator[str]:
    """The address of a real llama.cpp engine with the tiny model: one slot, a window of 16,384 tokens."""
    if reason := _no_engine():
        pytest.skip(reason)
    command = [sys.executable, str(SUPPORT / "run_engine.py"), str(tiny_gguf)]
    # It also ends when its standard input does: a test run that is killed leaves no engine behind.
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as engine:
        assert engine.stdout
        url = engine.stdout.readline().strip()
        assert url, "the engine ended before it was ready"
        yield url
        engine.terminate()


def _no_engine() -> str:
    """Why a real engine cannot run here, or nothing."""
    processor = Path("/proc/cpuinfo")
    if processor.exists() and "x86" in platform.machine() and " avx2 " not in processor.read_text():
        return "needs a processor with AVX2"
    tried = subprocess.run([sys.executable, "-c", "import xllamacpp"], capture_output=True, text=True)
    if tried.returncode:  # not installed, or a system library such as libgomp is missing
        return f"xllamacpp cannot be loaded: {tried.stderr.strip().splitlines()[-1]}"
    return ""
