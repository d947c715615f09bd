"""Every example of docs/api.md and examples/api, run against a server with a stand-in model."""

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

import pytest

from kith.features.demo.standin.server import Server
from places import ROOT
from serving import Serving

pytestmark = pytest.mark.slow
PAGE: Final = (ROOT / "docs" / "api.md").read_text()
WORDS: Final = "It adds the numbers and divides."
OLD, NEW = "/ (len(numbers) + 1)", "/ max(len(numbers), 1)"
FIX: Final = {"calls": [{"name": "edit", "args": {"path": "utils.py", "old": OLD, "new": NEW}}]}
NEEDS_SDK: Final = pytest.mark.skipif(
    not importlib.util.find_spec("openai"), reason="needs the openai package"
)
NEEDS_NODE: Final = pytest.mark.skipif(not shutil.which("node"), reason="needs node")


def examples(language: str) -> list[str]:
    """The code blocks of the page in one language."""
    found = re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    assert found
    return found


def with_sdk(block: str) -> bool:
    return "from openai" in block


def run(serve: Serving, *command: str) -> str:
    """The output of an example that succeeds."""
    local = [each.replace("127.0.0.1:5484", f"127.0.0.1:{serve.port}") for each in command]
    token = {"KITH_SERVE_TOKEN": serve.token}
    done = subprocess.run(local, env=os.environ | token, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.mark.skipif(not (shutil.which("jq") and shutil.which("curl")), reason="needs curl and jq")
def test_the_examples_with_curl_work(
    stand_in: Any, start_serving: Any, repository: Path, sandbox: None
) -> None:
    stand_in([WORDS, FIX, "Fixed.", WORDS])
    blocks = examples("sh")
    told = run(start_serving(), "bash", "-euc", "set -o pipefail\n" + "\n".join(blocks))
    assert '"status":"ok"' in told and WORDS in told
    assert NEW in (repository / "utils.py").read_text()
    for words in ('"choice":"all"', "event: RunEnded", "Two helpers", "def mean", '"settings"'):
        assert words in told, told


@pytest.fixture
def words(stand_in: Any) -> Server:
    """A model that only says something."""
    server: Server = stand_in([WORDS] * 4, "vllm")
    return server


def test_the_example_in_python_works(words: Server, start_serving: Any) -> None:
    (block,) = (each for each in examples("python") if not with_sdk(each))
    assert WORDS in run(start_serving(), sys.executable, "-c", block)


@NEEDS_NODE
def test_the_example_in_javascript_works(words: Server, start_serving: Any) -> None:
    (block,) = examples("js")
    told = run(start_serving(), "node", "--input-type=module", "-e", block)
    assert told.startswith("true") and WORDS in told


@NEEDS_SDK
def test_the_example_with_the_openai_sdk_works(words: Server, start_serving: Any) -> None:
    (block,) = filter(with_sdk, examples("python"))
    served = block.replace("ollama/qwen3:8b", "openai/standin")
    assert WORDS in run(start_serving(), sys.executable, "-c", served)


@pytest.mark.parametrize(
    "command",
    [
        pytest.param(
            ["sh", "ask.sh"], marks=pytest.mark.skipif(not shutil.which("curl"), reason="needs curl")
        ),
        pytest.param(["node", "ask.mjs"], marks=NEEDS_NODE),
        pytest.param([sys.executable, "complete.py", "openai/standin"], marks=NEEDS_SDK),
    ],
)
def test_the_example_files_work(words: Server, start_serving: Any, command: list[str]) -> None:
    *program, file, model = [*command, ""] if len(command) == 2 else command
    serve = start_serving()
    place = {"KITH_URL": serve.url, "KITH_SERVE_TOKEN": serve.token}
    line = [*program, str(ROOT / "examples" / "api" / file), *filter(None, [model]), "How does mean() work?"]
    done = subprocess.run(line, env=os.environ | place, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and WORDS in done.stdout, done.stderr
