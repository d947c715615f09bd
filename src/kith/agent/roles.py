"""Roles as data, read from texts with a few lines of front matter."""

import re
from collections.abc import Awaitable, Callable, Collection
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from kith.core.errors import UsageError
from kith.core.model import Model, Role, Tool
from kith.core.policy import READ_ONLY, TRIAL, UNCONFINED, Policy, Rule
from kith.core.values import CallTarget, Sampling
from kith.settings.values import ROUTE

# Texts that begin with a few `key: value` lines between two `---`: roles and templates.


class Written(Struct, frozen=True):
    """The keys with their values, the line of each (from 1), and the words below."""

    values: dict[str, str]
    lines: dict[str, int]
    words: str


def read_front_matter(text: str, where: str, needed: Collection[str]) -> Written:
    """Take such a text apart; comments (`#`) and empty lines among the keys are left out.

    Raises UsageError naming `where`, the line, and what is wrong with it.
    """
    lines = text.replace("\r\n", "\n").removeprefix("\ufeff").split("\n")
    end = next((at for at, line in enumerate(lines[1:], 1) if line.strip() == "---"), 0)
    if lines[0].strip() != "---" or not end:
        raise UsageError(f"{where}: it should begin with {', '.join(needed)} between two lines of ---.")
    values: dict[str, str] = {}
    places: dict[str, int] = {}
    for at, line in enumerate(lines[1:end], 2):
        if not line.strip() or line.startswith("#"):
            continue
        key, colon, value = (part.strip() for part in line.partition(":"))
        if not colon or not key:
            raise UsageError(f"{where}, line {at}: {line.strip()!r} is no `key: value`.")
        values[key], places[key] = value, at
    missing = [key for key in needed if key not in values]
    if missing:
        raise UsageError(f"{where}: {missing[0]!r} is missing.")
    words = "\n".join(lines[end + 1 :]).strip("\n")
    if not words.strip():
        raise UsageError(f"{where}: there are no words below the second ---.")
    return Written(values, places, words + "\n")


_CONFINED, _ASKED = (
    "Commands have no network.",
    "The user is asked about every command.",
)
# Below this window the prompt's own size counts: fewer tools, fewer words, at most 600 tokens.
SMALL_WINDOW: Final = 8_192
# Where tests live, as patterns for a policy; the gate that guards locked tests looks closer.
_TESTS: Final = (
    *("tests/*", "*/tests/*", "test/*", "*/test/*", "testing/*", "*/testing/*", "spec/*", "*/spec/*"),
    *("test_*", "*/test_*", "*_test.*", "*_tests.*", "*.test.*", "*.spec.*", "*[Tt]est.cpp", "*[Tt]ests.cpp"),
    *("*_unittest.*", "*/unittest_*"),
    *("conftest.py", "*/conftest.py"),
)
_WIRING: Final = ("CMakeLists.txt", "*/CMakeLists.txt", "*.cmake")  # where C++ tests are made known
_TESTS_ONLY: Final = Policy(
    "tests-only",
    (
        *READ_ONLY.rules,
        Rule("exec", "*", "allow"),
        *(Rule("write", each, "allow") for each in (*_TESTS, *_WIRING)),
    ),
)
_CODE_ONLY: Final = Policy("no-tests", (*TRIAL.rules, *(Rule("write", each, "deny") for each in _TESTS)))
POLICIES: Final = {"read-only": READ_ONLY, "trial": TRIAL, "tests": _TESTS_ONLY, "code": _CODE_ONLY}
_KEYS: Final = ("purpose", "model", "panel", "tools", "small-tools", "policy")
_PANEL: Final = (2, 3)  # how many models make a panel
_SMALL: Final = re.compile(r"^--- small ---$\n?", re.M)
_PLACEHOLDER: Final = "{commands}"


class RoleSpec(Struct, frozen=True):
    """A role as it is written down: for whom its words are, what it may use and do.

    `model` is a name as after -m, "" for the one of the session. `small_words` and `small_tools` are for
    models with little room; they are the same where nothing else is written. `panel`: several models that
    confer and answer as one, in place of `model`.
    """

    name: str
    purpose: str
    words: str
    tools: tuple[str, ...]
    policy: str
    model: str = ""
    small_words: str = ""
    small_tools: tuple[str, ...] = ()
    panel: tuple[str, ...] = ()


class Player(Struct, frozen=True):
    """The player of a role in one step. `window` in tokens (0: unknown); `small`: a small window.

    `leg` counts the models that have played it for the task: one that takes over begins its own thread.
    """

    role: Role
    window: int = 0
    small: bool = False
    leg: int = 1


# A role's name -> who plays it, with fresh limits for one step.
Cast = Callable[[str], Awaitable[Player]]


def read_role(name: str, text: str, where: str = "") -> RoleSpec:
    """The role written in `text`: `key: value` lines between two `---`, then its words.

    Raises UsageError naming the file (`where`), the line and what is wrong with it.
    """
    where = where or f"{name}.md"
    written = read_front_matter(text, where, ("purpose", "tools", "policy"))
    given = written.values
    for key in given:
        if key not in _KEYS:
            place = f"{where}, line {written.lines[key]}"
            raise UsageError(f"{place}: a role has no {key!r}; there are: {', '.join(_KEYS)}.")
    if given["policy"] not in POLICIES:
        place = f"{where}, line {written.lines['policy']}"
        raise UsageError(f"{place}: policy must be one of {', '.join(POLICIES)}, not {given['policy']!r}.")
    panel = _names(given.get("panel", ""))
    if panel and (
        given["policy"] != "read-only" or len(set(panel)) not in _PANEL or len(set(panel)) < len(panel)
    ):
        place = f"{where}, line {written.lines['panel']}"
        raise UsageError(f"{place}: a panel is two or three different models, of a role that is read-only.")
    words, *small = _SMALL.split(written.words, maxsplit=1)
    tools = _names(given["tools"])
    return RoleSpec(
        name,
        given["purpose"],
        words.strip("\n") + "\n",
        tools,
        given["policy"],
        "" if given.get("model", ROUTE) == ROUTE else given["model"],
        (small[0] if small else words).strip("\n") + "\n",
        _names(given["small-tools"]) if "small-tools" in given else tools,
        panel,
    )


def hold_to(kith: RoleSpec, project: RoleSpec) -> RoleSpec:
    """A project's role in the place of kith's: its words, and no more tools, freedom or models than that.

    Raises UsageError naming what it may not say.
    """
    where = f"The project's role {kith.name!r}"
    if project.model or project.panel:
        raise UsageError(f"{where} may not choose models; leave `model` and `panel` out.")
    if project.purpose != kith.purpose:
        raise UsageError(f"{where} must keep its purpose, {kith.purpose!r}.")
    if project.policy not in (kith.policy, "read-only") and kith.policy != "trial":
        allowed = " or ".join(dict.fromkeys((kith.policy, "read-only")))
        raise UsageError(f"{where} may be {allowed}, not {project.policy!r}.")
    has = {*kith.tools, *kith.small_tools}
    more = {*project.tools, *project.small_tools} - has
    if "read" in has:
        more.discard("list")  # `read` lists folders as well
    if more:
        raise UsageError(
            f"{where} may not have {', '.join(sorted(more))}; it has {', '.join(kith.tools) or 'no tools'}."
        )
    return replace(project, model=kith.model, panel=kith.panel)


def _names(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(",") if name.strip())


def offer(spec: RoleSpec, tools: tuple[Tool, ...]) -> RoleSpec:
    """The role with tools that it does not name, after its own."""
    names = tuple(tool.name for tool in tools)
    return replace(spec, tools=(*spec.tools, *names), small_tools=(*spec.small_tools, *names))


def make_role(
    spec: RoleSpec,
    model: Model,
    tools: tuple[Tool, ...],
    sampling: Sampling,
    *,
    confined: bool = True,
    small: bool = False,
) -> Role:
    """The role, played by `model` with those of `tools` that it names, in their order.

    `confined`: commands run in a sandbox; elsewhere the person is asked about each.
    """
    names = spec.small_tools if small else spec.tools
    system = make_words(spec, confined=confined, small=small)
    chosen = tuple(tool for tool in tools if tool.name in names)
    return Role(spec.name, system, model, chosen, _policy(spec.policy, confined), spec.purpose, sampling)


def make_words(spec: RoleSpec, *, confined: bool = True, small: bool = False) -> str:
    """The role's own words, as its model gets them."""
    words = spec.small_words if small else spec.words
    return words.replace(_PLACEHOLDER, _CONFINED if confined else _ASKED)


def _policy(name: str, confined: bool) -> Policy:
    """Return a role's policy; without a sandbox it asks about each command."""
    policy = POLICIES[name]
    if confined:
        return policy
    if policy is TRIAL:
        return UNCONFINED
    if policy.decide("exec", CallTarget()) != "allow":
        return policy
    return Policy(policy.name, (*policy.rules, Rule("exec", "*", "ask")))


def is_small(window: int) -> bool:
    """True if a window (in tokens, 0: unknown) leaves little room for instructions."""
    return 0 < window < SMALL_WINDOW


def as_planner(role: Role) -> Role:
    """The same role (and so the same first bytes of every request), which may only read."""
    return replace(role, name="planner", policy=READ_ONLY, purpose="plan")
