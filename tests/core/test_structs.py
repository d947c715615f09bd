"""Secrets stay out of what a value shows of itself."""

import pytest
from msgspec import Struct

from kith.core.structs import repr_without
from kith.models.discovery.servers import Places
from kith.models.providers.wire import Endpoint
from kith.settings.values import Settings, ToolServer


class Account(Struct, frozen=True):
    name: str
    key: str
    __repr__ = repr_without("key")


def test_a_repr_leaves_out_the_named_fields() -> None:
    assert repr(Account("ann", "sk-1")) == "Account(name='ann')"


@pytest.mark.parametrize(
    "value",
    [
        Settings(openai_api_key="sk-1", anthropic_api_key="sk-1", gemini_api_key="sk-1"),
        ToolServer(env={"TOKEN": "sk-1"}),
        Endpoint("http://host", "sk-1", headers={"x": "sk-1"}),
        Places(openai_key="sk-1"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_no_key_is_shown(value: Struct) -> None:
    assert "sk-1" not in repr(value)
