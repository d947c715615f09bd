"""Structs: secrets stay out of what they show, and those that cache have a place for it."""

import importlib
import pkgutil
from collections.abc import Iterator
from contextlib import suppress
from functools import cached_property

import pytest
from msgspec import Struct

import kith
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


def structs(kind: type[Struct] = Struct) -> Iterator[type[Struct]]:
    for each in kind.__subclasses__():
        yield each
        yield from structs(each)


def test_structs_that_cache_have_a_dict() -> None:
    for module in pkgutil.walk_packages(kith.__path__, "kith."):
        if not module.name.endswith("__main__"):
            with suppress(ImportError):  # an optional package is missing
                importlib.import_module(module.name)
    own = [each for each in structs() if each.__module__.startswith("kith.")]
    caching = {each for each in own for part in vars(each).values() if isinstance(part, cached_property)}
    assert caching and all("__dict__" in dir(each) for each in caching)
    assert len(own) > 500
