"""What the tests of `kith serve` share: a server as a process of its own."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from serving import Serving


@pytest.fixture
def start_serving(repository: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Serving]]:
    """Starts `kith serve` with options, in the small repository unless another folder is given.

    It keeps its token when it is restarted. Workers it started end with the test.
    """
    monkeypatch.setenv("KITH_SERVE_TOKEN", "a-token-that-the-tests-of-the-server-use")
    started: list[Serving] = []

    def start(*options: str, folder: Path = repository) -> Serving:
        started.append(Serving(folder, options).start())
        return started[-1]

    yield start
    for each in started:
        if each.process.poll() is None:
            each.stop()
        each.end_workers()


@pytest.fixture
def serve(start_serving: Callable[..., Serving]) -> Serving:
    """`kith serve` for the small repository."""
    return start_serving()
