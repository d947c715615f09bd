"""Every choice a user can make, as frozen values with their defaults."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Final, Literal, TypeVar

from msgspec import Meta, Struct, field

from kith.core.structs import repr_without
from kith.core.values import Sampling, ServerKind
from kith.settings.brought import Brought

ROUTE: Final = "route"  # in place of a model's name: kith chooses for each task

T = TypeVar("T")

# The keys from the top of a file down to a value; entries of a list are numbered from 0.
KeyPath = tuple[str | int, ...]


class NamedEndpoint(Struct, frozen=True):
    """A model server that the user named: `kith -m NAME/model` asks it.

    `headers` go with every request, those of `headers_env` with the values of variables. Some servers speak
    nearly OpenAI's protocol: theirs is the `path` in place of /v1. Requests get more `fields`, and
    `renames` gives their fields other names ("": left out).
    """

    kind: ServerKind
    url: str
    key_env: str = ""
    cloud: bool | None = None  # it is outside of the person's own network; None: its address says so
    headers: Mapping[str, str] = field(default_factory=dict)
    headers_env: Mapping[str, str] = field(default_factory=dict)
    path: str = "/v1"
    fields: Mapping[str, Any] = field(default_factory=dict)
    renames: Mapping[str, str] = field(default_factory=dict)
    __repr__ = repr_without("headers", "fields")

    @property
    def key_variables(self) -> tuple[str, ...]:
        """The names of variables whose values go to this server, and to nobody else."""
        return tuple(filter(None, (self.key_env, *self.headers_env.values())))


class Building(Struct, frozen=True):
    """The settings of `kith build`: its limits, and its work beside the tasks."""

    max_retries: Annotated[int, Meta(ge=0)] = 3  # of a task, after its first try
    max_tasks: Annotated[int, Meta(ge=1)] = 12
    max_files: Annotated[int, Meta(ge=1)] = 40  # that a task may change
    max_lines: Annotated[int, Meta(ge=1)] = 1_500
    coverage: Annotated[float | None, Meta(ge=0, le=100)] = None  # percent of lines that the tests must run
    refine: bool = True
    auto_commit: bool = False
    step_seconds: Annotated[float, Meta(ge=1)] = 1_800.0
    step_tokens: Annotated[int | None, Meta(ge=1)] = None


class Routing(Struct, frozen=True):
    """The settings of `-m route`: its models, and the value of a solved task in money and time."""

    local: tuple[str, ...] = ()  # models asked first, by name; none: the one that kith finds by itself
    frontier: str = ""  # the model for what these cannot do; none: there is only the local one
    dial: Literal["frugal", "balanced", "quality"] = "balanced"
    second_usd: Annotated[float, Meta(ge=0)] = 0.0002  # what a second of waiting is worth
    audit: Annotated[float, Meta(ge=0, le=1)] = 0.03  # share of local successes that frontier reviews
    cap: bool = True  # stop a local run after more effort than pays off


class Hook(Struct, frozen=True):
    """A command that kith runs at a moment of its work, with JSON on its input.

    `tool` are patterns for tool names. `where` is the person's machine, or the trial's sandbox, where
    every hook runs that the project `brought`. `place` is where it is written.
    """

    on: Literal["start", "before_tool", "after_tool", "stop"]
    command: str
    tool: tuple[str, ...] = ("*",)
    seconds: float = 60.0
    where: Literal["machine", "trial"] = "machine"
    brought: bool = False
    place: str = ""


class ToolServer(Struct, frozen=True):
    """A program (`command`) or an address (`url`) that offers tools, by the Model Context Protocol.

    A program gets the variables of `env`, and those of kith's own that `pass_env` names. `key_env` names the
    variable with the key that goes to an address, `headers_env` those of other headers. `tools` are patterns
    for its tools that are offered, `allow` for those that need no question. `seconds`: to connect in.
    `cloud`: it passes on what it gets; None: decided by the address; a program may do so.
    """

    command: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    pass_env: tuple[str, ...] = ()
    cwd: str = "~"
    url: str = ""
    key_env: str = ""
    headers_env: Mapping[str, str] = field(default_factory=dict)
    tools: tuple[str, ...] = ("*",)
    allow: tuple[str, ...] = ()
    seconds: float = 20.0
    cloud: bool | None = None
    off: bool = False
    __repr__ = repr_without("env")


class Settings(Struct, frozen=True):
    """Every choice, read once. `origin` tells where each value that is not a default came from."""

    model: str = ""
    # Tokens; 0: from the model and the memory where kith starts it, else what the server runs.
    window: Annotated[int, Meta(ge=256)] = 0
    think: bool | None = None
    think_tokens: Annotated[int | None, Meta(ge=0)] = None
    stall: Annotated[float, Meta(ge=1)] = 600.0  # seconds that a server may be silent
    connect: Annotated[float | None, Meta(ge=0.1)] = None  # seconds; None: `stall` here, 10 elsewhere
    retries: Annotated[int, Meta(ge=0)] = 4  # of a model call that fails
    retry_seconds: Annotated[float, Meta(ge=0)] = 180.0  # after which no call is sent again
    discovery: Literal["on", "off"] = "on"  # off: only servers that are configured are asked
    model_folders: tuple[str, ...] = ()
    check: tuple[str, ...] = ()
    no_worse: tuple[str, ...] = ()  # commands that must not get worse, whether or not they succeed
    check_timeout: Annotated[float, Meta(ge=1)] = 600.0
    edit_check_seconds: Annotated[float, Meta(ge=0)] = 3.0  # for a look at the change after edits; 0: none
    require: Literal["unproven", "held", "proven"] = "unproven"  # what --yes needs
    unproven: bool = False  # --yes applies what would be held back, too
    # A C++ project of middling size builds from nothing on two cores.
    command_timeout: Annotated[float, Meta(ge=1)] = 600.0
    tries: Annotated[int, Meta(ge=1)] = 3
    max_steps: Annotated[int, Meta(ge=1)] = 50
    max_task_tokens: Annotated[int | None, Meta(ge=1)] = None
    max_task_seconds: Annotated[float | None, Meta(ge=1)] = None
    lint: Literal["notes", "require", "off"] = "notes"  # the model gets findings once; require: they reject
    review: bool = False  # a model's notes on each change, beside what linters say
    read_only: bool = False
    allow_file: tuple[str, ...] = ()  # patterns for files that run by themselves and may change with --yes
    offline: bool = False
    hosts: tuple[str, ...] = ()  # that commands may reach without a question
    pass_env: tuple[str, ...] = ()  # names of variables that commands get beside the known ones
    cloud: Literal["never", "ask", "allow"] = "ask"
    max_task_usd: Annotated[float | None, Meta(ge=0)] = None
    max_day_usd: Annotated[float | None, Meta(ge=0)] = None
    sandbox: Literal["auto", "require", "off", "outside"] = (
        "auto"  # outside: a container confines kith itself
    )
    max_file_bytes: Annotated[int, Meta(ge=1)] = 1_000_000
    max_change_bytes: Annotated[int, Meta(ge=1)] = 2_000_000
    keys: Literal["emacs", "vi"] = "emacs"  # of the line that a conversation is typed into
    mode: Literal["ask", "plan", "auto"] = "ask"  # in which a conversation begins
    theme: Literal["auto", "dark", "light", "none"] = "auto"  # none: without colours
    notify: Literal["auto", "bell", "off"] = "auto"  # at questions and the end of a task, while nobody looks
    screen_reader: bool = False  # plain lines in their order: nothing moves, nothing is drawn again
    features_off: tuple[str, ...] = ()  # names of features that are switched off
    editor: str = ""  # the command for texts too long for a line; none: $VISUAL, then $EDITOR
    system: str = ""  # a file with the words that a model begins with, in place of kith's own
    append_system: str = ""  # a file with words to add to them
    sampling: Sampling = Sampling()
    build: Building = Building()
    route: Routing = Routing()
    sections: Mapping[str, Any] = field(default_factory=dict)  # of features, by their names
    gates: Mapping[str, str] = field(default_factory=dict)  # a project's own: name -> command
    endpoints: Mapping[str, NamedEndpoint] = field(default_factory=dict)
    hooks: tuple[Hook, ...] = ()  # the person's, then the project's
    pools: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # name -> endpoints
    mcp: Mapping[str, ToolServer] = field(default_factory=dict)  # servers that offer tools
    ollama_host: str = ""
    openai_base_url: str = ""
    openai_api_key: str = ""
    anthropic_base_url: str = ""
    anthropic_api_key: str = ""
    gemini_base_url: str = ""
    gemini_api_key: str = ""
    state: Path = Path()
    cache: Path = Path()
    config: Path = Path()
    origin: Mapping[str, str] = field(default_factory=dict)
    brought: Brought = Brought()  # what the project's folder holds for kith
    __repr__ = repr_without("openai_api_key", "anthropic_api_key", "gemini_api_key")

    @property
    def is_routed(self) -> bool:
        """True if kith chooses the model of each task, instead of the person."""
        return self.model == ROUTE

    def section(self, kind: type[T]) -> T:
        """A feature's own settings; its defaults where nothing was chosen."""
        return next((each for each in self.sections.values() if isinstance(each, kind)), kind())

    @property
    def reachable(self) -> tuple[str, ...]:
        """The hosts that every command may reach."""
        return () if self.offline else self.hosts

    @property
    def roles(self) -> Path:
        """The folder of the person's own roles."""
        return self.config / "roles"


class MistakeError(Exception):
    """A mistake in a text, with its line (0: unknown)."""

    def __init__(self, words: str, line: int = 0) -> None:
        super().__init__(words)
        self.line = line
