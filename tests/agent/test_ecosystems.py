"""Which ecosystems are asked follows the features that are on."""

from collections.abc import Iterator

import pytest

from kith.agent.ecosystems import ecosystems
from kith.settings.features import features


@pytest.fixture
def off(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("KITH_FEATURES_OFF", "languages")
    features.cache_clear()
    yield
    monkeypatch.undo()
    features.cache_clear()


def test_a_feature_that_is_on_finds_tests() -> None:
    assert len(ecosystems()) == 10


@pytest.mark.usefixtures("off")
def test_a_feature_that_is_off_finds_no_tests() -> None:
    assert ecosystems() == ()
