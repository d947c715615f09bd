"""The plain values everything else speaks in: messages, replies, changes, verdicts, questions."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from kith.core.evidence import Evidence, Grade

Role = Literal["system", "user", "assistant", "tool"]
Stop = Literal["end", "tools", "length"]
# call: a program outside of the trial is asked to act.
Effect = Literal["read", "write", "exec", "net", "call"]
Decision = Literal["allow", "ask", "deny"]
# The kinds of model servers: what one speaks, and takes.
ServerKind = Literal["ollama", "openai", "llama-server", "lmstudio", "vllm", "anthropic", "gemini"]
# Why a call did not do what was asked: its arguments cannot be used (malformed), or were cut at the token
# limit; the policy forbids it, or a person or a hook denied it; kith stopped meanwhile (interrupted); it is
# repeated in vain; a file that it names is not there (absent).
Fault = Literal["", "malformed", "cut", "forbidden", "denied", "interrupted", "repeated", "absent"]


# --- what was said ---------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Text:
    """Words, of a person, a gate or a model."""

    text: str


@dataclass(frozen=True, slots=True)
class Thinking:
    """A model's reasoning; `opaque` is a provider's signature, returned to it unread."""

    text: str
    opaque: str = ""


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A model asks for a tool. `fault` says why it cannot be run as sent (broken arguments).

    `opaque` is a provider's signature of the call, returned to it unread.
    """

    id: str
    name: str
    args: Mapping[str, Any]
    fault: str = ""
    opaque: str = ""


@dataclass(frozen=True, slots=True)
class ToolResult:
    """The answer to one call: `text` is for the model, `detail` for people and the receipt.

    `fault`: why it did not do what was asked, where that is known.
    """

    call_id: str
    text: str
    ok: bool = True
    detail: Mapping[str, Any] = field(default_factory=dict)
    fault: Fault = ""


Part = Text | Thinking | ToolCall | ToolResult


@dataclass(frozen=True, slots=True)
class Message:
    """What was said, and by whom: `author` names the model, gate or person."""

    role: Role
    parts: tuple[Part, ...]
    author: str = ""
    complete: bool = True  # False: cut at the token limit

    @property
    def text(self) -> str:
        return "".join(part.text for part in self.parts if isinstance(part, Text))

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        return tuple(part for part in self.parts if isinstance(part, ToolCall))

    @property
    def results(self) -> tuple[ToolResult, ...]:
        return tuple(part for part in self.parts if isinstance(part, ToolResult))


def say(text: str, author: str = "person") -> Message:
    """A user message: the task, a person's correction, or a gate's feedback."""
    return Message("user", (Text(text),), author)


@dataclass(frozen=True, slots=True)
class Spoken:
    """A turn that a fork has copied: the person's words, which came `after` so many of the copied messages.

    `at` counts seconds since the epoch; `changes` are the ids of what was applied in it.
    """

    words: str
    after: int
    at: float
    changes: tuple[str, ...] = ()


# --- what a model answers --------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Sampling:
    """How a model picks tokens; None leaves the server's own default in place."""

    temperature: float | None = None
    top_k: int | None = None
    top_p: float | None = None
    min_p: float | None = None
    max_tokens: int | None = None
    seed: int | None = None
    stop: tuple[str, ...] = ()
    mirostat: int | None = None
    mirostat_tau: float | None = None
    mirostat_eta: float | None = None
    think: bool | None = None
    think_tokens: int | None = None  # the most that one reply may spend on reasoning


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one call; `cached` counts prompt tokens that were not computed again.

    `written` counts those that a provider put into a cache and charges more for, `lasting` those of them that
    stay there for an hour and cost more still. All are part of `input`.
    """

    input: int = 0
    output: int = 0
    cached: int = 0
    written: int = 0
    lasting: int = 0

    @property
    def new(self) -> int:
        """Prompt tokens that had to be computed."""
        return max(0, self.input - self.cached)

    @property
    def total(self) -> int:
        """Tokens read and written."""
        return self.input + self.output

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(
            self.input + other.input,
            self.output + other.output,
            self.cached + other.cached,
            self.written + other.written,
            self.lasting + other.lasting,
        )


@dataclass(frozen=True, slots=True)
class CacheUse:
    """How well the server's cache was used: prompt tokens computed, against those nobody could have spared.

    `cause` names what broke the prefix ("" while the two agree): model, system, tools, message N, evicted,
    recounted, reloaded. `estimated`: the server does not count, and its reading time told, which also grows
    where the machine is busy: then `cause` is only what kith sent, or a load.
    """

    evaluated: int
    unavoidable: int
    cause: str = ""
    estimated: bool = False

    @property
    def efficiency(self) -> float:
        return min(1.0, self.unavoidable / self.evaluated) if self.evaluated else 1.0


@dataclass(frozen=True, slots=True)
class Timing:
    """Seconds of one call, as the server reports them (0.0 where it does not)."""

    load_s: float = 0.0
    queue_s: float = 0.0
    prefill_s: float = 0.0
    decode_s: float = 0.0
    first_token_s: float = 0.0
    total_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Charge:
    """What one call to a model's server took, as budgets count it.

    Of a call that failed or was cancelled, `usage` is estimated: what was sent, and what arrived of the
    reply. `evaluated`: prompt tokens that were computed. `usd`: None where no price is known.
    """

    model: str
    purpose: str
    usage: Usage = Usage()
    evaluated: int = 0
    timing: Timing = Timing()
    stop: Stop | Literal["error"] = "end"
    usd: float | None = None

    @property
    def computed(self) -> int:
        """All tokens that the server had to compute: those of the prompt, and the reply."""
        return self.evaluated + self.usage.output


Bill = tuple[Charge, ...]


@dataclass(frozen=True, slots=True)
class Reply:
    """One answer of a model: why it stopped, and what it cost.

    `cache_told` is False where the server said nothing of cached tokens in this reply. `bill`: all calls that
    it took, also those that failed on the way; () where nobody meters.
    """

    message: Message
    stop: Stop
    model: str
    usage: Usage = Usage()
    timing: Timing = Timing()
    cache_told: bool = True
    bill: Bill = ()


# --- what happens to files -------------------------------------------------------------------

FILE, EXECUTABLE, SYMLINK = 0o100644, 0o100755, 0o120000


@dataclass(frozen=True, slots=True)
class Change:
    """One file, before and after. None means absent; modes are git's (FILE, EXECUTABLE, SYMLINK).

    `path` is relative to the tree's root, with forward slashes; bytes that are not UTF-8 are kept as
    surrogate escapes. A symlink's content is its target.
    """

    path: str
    before: bytes | None
    after: bytes | None
    mode: int = FILE
    mode_before: int = FILE

    @property
    def inverse(self) -> "Change":
        return Change(self.path, self.after, self.before, self.mode_before, self.mode)


Changes = tuple[Change, ...]


@dataclass(frozen=True, slots=True)
class FileChange:
    """One changed file, in numbers and as a unified diff.

    `warning`, in a question: who runs what it makes, or follows it, without being told to.
    """

    path: str
    added: int
    removed: int
    diff: str
    warning: str = ""


@dataclass(frozen=True, slots=True)
class Reached:
    """A place (`host:port`) that a command wanted to reach: bytes each way, or why it could not."""

    place: str
    sent: int = 0
    received: int = 0
    refused: str = ""


@dataclass(frozen=True, slots=True)
class Ran:
    """A command that ended: exit code and output (stdout and stderr together, the middle cut if long)."""

    command: str
    code: int
    output: str
    seconds: float
    timed_out: bool = False
    cut: int = 0  # bytes left out of `output`
    sandboxed: bool = True
    reached: tuple[Reached, ...] = ()  # over the network, where kith stands in between
    whole: str = ""  # the file with all of the output, where commands see it


# --- what is decided -------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Verdict:
    """A gate's yes, or its no and why; `feedback` becomes the next user message."""

    ok: bool
    feedback: str = ""
    by: str = ""
    ran: tuple[Ran, ...] = ()
    changes: Changes | None = None  # what was kept, when a person kept less (or other) than was proposed
    figures: Mapping[str, float] = field(default_factory=dict)  # what was measured: tests, failed, coverage
    evidence: Evidence | None = None  # what checks say of the change, before against after
    unmet: bool = False  # nobody looked, and the evidence is less than was asked for


@dataclass(frozen=True, slots=True)
class CallTarget:
    """What a call is about: files, a command line, or arguments as JSON.

    `hosts` are those that a command wants to reach, `tool` says which one of another program's tools it is.
    """

    text: str = ""
    hosts: tuple[str, ...] = ()
    tool: str = ""

    def __str__(self) -> str:
        """All of it in one line, as rules and patterns see it."""
        before = f"{' '.join(self.hosts)}: " if self.hosts else f"{self.tool} " if self.tool else ""
        return f"{before}{self.text}"


@dataclass(frozen=True, slots=True)
class FolderFiles:
    """The files that a folder brings along for kith, by the digest of all of them ("": whatever they are)."""

    digest: str


@dataclass(frozen=True, slots=True)
class Consent:
    """A model at an address may be sent what work of one group holds."""

    model: str
    server: str
    group: str


Subject = FolderFiles | Consent


@dataclass(frozen=True, slots=True)
class Question:
    """Something only a person can answer. `choices` empty means free text.

    `warnings` are to be read before anything else. Of a call, `target` is what it is about, as it will run.
    `draft` is a text that the person may answer with in their own version (choice "edit"). `files` is what
    `changes` come to, as it is shown: the log holds these, not the contents. `pattern` is what "always"
    allows from then on, of calls with this `effect`. `evidence` is what speaks for the change; `held_back`:
    it is too little for a yes that was given beforehand, which needs at least the grade `required`. `subject`
    is what an answer is about that outlasts the task.
    """

    id: str
    kind: Literal["change", "plan", "tool", "trust"]
    text: str
    choices: tuple[str, ...] = ()
    changes: Changes = ()
    draft: str = ""
    files: tuple[FileChange, ...] = ()
    effect: Effect | Literal[""] = ""
    pattern: str = ""
    evidence: Evidence | None = None
    held_back: bool = False
    required: Grade = "unproven"
    subject: Subject | None = None
    warnings: tuple[str, ...] = ()
    target: CallTarget | None = None


@dataclass(frozen=True, slots=True)
class Kept:
    """Of a changed file, the pieces that a person keeps, by their numbers from 0."""

    path: str
    hunks: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Answer:
    """A person's choice (one of the question's, or "no"), with words or an edited change if they gave any.

    Whoever holds no contents says "some" by the pieces that are `kept` of each file.
    `by`: the face in which it was given. `unasked`: it is the answer of one where nobody could be asked.
    """

    choice: str
    text: str = ""
    changes: Changes | None = None
    kept: tuple[Kept, ...] = ()
    by: str = ""
    unasked: bool = False


@dataclass(frozen=True, slots=True)
class Plan:
    """What a planner means to do before anything is written."""

    steps: tuple[str, ...]
    assumptions: tuple[str, ...] = ()
    read: tuple[str, ...] = ()
    modify: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class BuildTask:
    """One piece of a larger request: what holds when it is done, and the tasks that come before it."""

    id: str
    title: str
    criteria: tuple[str, ...]
    text: str = ""
    after: tuple[str, ...] = ()  # ids
    files: tuple[str, ...] = ()  # where the work is expected


Severity = Literal["error", "warning", "note"]


@dataclass(frozen=True, slots=True)
class Finding:
    """Something wrong at a place: which rule (or model) says so, and what could stand there instead.

    Lines count from 1; `end` is the last one (0: the same as `line`). `replacement` takes the place of these
    lines, whole, None where nobody proposes one.
    """

    path: str
    line: int
    severity: Severity
    rule: str
    text: str
    by: str
    end: int = 0
    replacement: str | None = None


@dataclass(frozen=True, slots=True)
class TodoItem:
    """One line of the model's own list."""

    text: str
    state: Literal["pending", "active", "done"] = "pending"
