"""Define the tools' results, from which their schemas are made."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Trial:
    """`diff` is all that differed from the user's files after the check; nothing was applied."""

    ok: bool
    command: str
    exit_code: int
    output: str
    diff: str
    seconds: float
    session: str


@dataclass(frozen=True)
class Applied:
    """`change` is the id that undo takes; "" when nothing was applied, and `text` says why."""

    applied: bool
    change: str
    text: str
    feedback: str
    files: list[str]
    session: str


@dataclass(frozen=True)
class Task:
    """`status` "waiting": a person has to answer first, see `text`."""

    status: str
    text: str
    diff: str
    checks: list[str]
    not_checked: list[str]
    model: str
    tokens: int
    seconds: float
    session: str


@dataclass(frozen=True)
class Finding:
    path: str
    line: int
    severity: str
    rule: str
    text: str
    diff: str


@dataclass(frozen=True)
class Review:
    reviewed: str
    findings: list[Finding]
    text: str


@dataclass(frozen=True)
class Scan:
    summary: str
    languages: list[str]
    tests: list[str]


@dataclass(frozen=True)
class Session:
    id: str
    task: str
    status: str
    at: str


@dataclass(frozen=True)
class Sessions:
    sessions: list[Session]


def slim(schema: Any) -> Any:
    """A schema without what every client can do without: titles, and words that a class was given."""
    if isinstance(schema, list):
        return [slim(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    named = {"properties", "$defs"}
    return {
        key: {name: slim(each) for name, each in value.items()} if key in named else slim(value)
        for key, value in schema.items()
        if not (key == "title" and isinstance(value, str))
    }
