"""Where a server is that offers tools: a program that kith starts, or an address."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Program:
    """A program that speaks on its standard input and output.

    It gets a few variables of kith's own (PATH, HOME, the language) and those of `env`.
    """

    command: tuple[str, ...]
    folder: str
    env: Mapping[str, str] = field(default_factory=dict, repr=False)


@dataclass(frozen=True, slots=True)
class Address:
    """A server that is asked by HTTP; `headers` go with each request."""

    url: str
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    here: bool = False  # on this machine or in its network, so that no proxy is asked


Place = Program | Address


@dataclass(frozen=True, slots=True)
class Listed:
    """A tool as its server lists it: `schema` is whatever that says of its arguments."""

    name: str
    description: str
    schema: object


@dataclass(frozen=True, slots=True)
class Said:
    """What a server answered to a call."""

    text: str
    ok: bool = True
