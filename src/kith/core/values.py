"""The plain values everything else speaks in: messages, replies, changes, verdicts, questions."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct, field

from kith.core.evidence import Evidence, Grade

Role = Literal["system", "user", "assistant", "tool"]
Stop = Literal["end", "tools", "length"]
# call: a program outside of the trial is asked to act.
Effect = Literal["read", "write", "exec", "net", "web", "call"]
Decision = Literal["allow", "ask", "deny"]
# The kinds of model servers: what one speaks, and takes.
ServerKind = Literal["ollama", "openai", "llama-server", "lmstudio", "vllm", "anthropic", "gemini"]
# Why a call did not do what was asked: its arguments cannot be used (malformed), or were cut at the token
# limit; the policy forbids it, or a person or a hook denied it; kith stopped meanwhile (interrupted); it is
# repeated in vain; a file that it names is not there (absent).
Fault = Literal["", "malformed", "cut", "forbidden", "denied", "interrupted", "repeated", "absent"]


# --- what was said ---------------------------------------------------------------------------


class Text(Struct, frozen=True):
    """Words, of a person, a gate or a model."""

    text: str


class Thinking(Struct, frozen=True):
    """A model's reasoning; `opaque` is a provider's signature, returned to it unread."""

    text: str
    opaque: str = ""


class ToolCall(Struct, frozen=True):
    """A model asks for a tool. `fault` says why it cannot be run as sent (broken arguments).

    `opaque` is a provider's signature of the call, returned to it unread.
    """

    id: str
    name: str
    args: Mapping[str, Any]
    fault: str = ""
    opaque: str = ""


class ToolResult(Struct, frozen=True):
    """The answer to one call: `text` is for the model, `detail` for people and the receipt.

    `fault`: why it did not do what was asked, where that is known.
    """

    call_id: str
    text: str
    ok: bool = True
    detail: Mapping[str, Any] = field(default_factory=dict)
    fault: Fault = ""


class Image(Struct, frozen=True):
    """A picture that a person shows: bytes, their type (`image/png`), a name, and the size in pixels."""

    data: bytes
    media_type: str
    name: str
    width: int
    height: int


Part = Text | Thinking | ToolCall | ToolResult | Image


class Message(Struct, frozen=True):
    """One message of a conversation: `author` names the model, gate or person."""

    role: Role
    parts: tuple[Part, ...]
    author: str = ""
    complete: bool = True  # False: cut at the token limit

    @property
    def text(self) -> str:
        return "".join(part.text for part in self.parts if isinstance(part, Text))

    @property
    def images(self) -> tuple[Image, ...]:
        return tuple(part for part in self.parts if isinstance(part, Image))

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        return tuple(part for part in self.parts if isinstance(part, ToolCall))

    @property
    def results(self) -> tuple[ToolResult, ...]:
        return tuple(part for part in self.parts if isinstance(part, ToolResult))


def say(text: str, author: str = "person", images: tuple[Image, ...] = ()) -> Message:
    """A user message: the task with its pictures, a person's correction, or a gate's feedback."""
    return Message("user", (*images, Text(text)), author)


class Spoken(Struct, frozen=True):
    """A turn that a fork has copied: the person's words, which came `after` so many of the copied messages.

    `at` counts seconds since the epoch; `changes` are the ids of what was applied in it.
    """

    words: str
    after: int
    at: float
    changes: tuple[str, ...] = ()


# --- what a model answers --------------------------------------------------------------------


class Sampling(Struct, frozen=True):
    """Sampling options of a model; None keeps the server's default."""

    temperature: Annotated[float | None, Meta(ge=0, le=5)] = None
    top_k: Annotated[int | None, Meta(ge=0)] = None  # 0: every token
    top_p: Annotated[float | None, Meta(ge=0, le=1)] = None
    min_p: Annotated[float | None, Meta(ge=0, le=1)] = None
    max_tokens: Annotated[int | None, Meta(ge=1)] = None
    seed: Annotated[int | None, Meta(ge=-1, le=2**32 - 1)] = None  # -1: a new one for each reply
    stop: tuple[str, ...] = ()
    mirostat: Annotated[int | None, Meta(ge=0, le=2)] = None  # 0: off; else the version of the algorithm
    mirostat_tau: Annotated[float | None, Meta(ge=0, le=20)] = None
    mirostat_eta: Annotated[float | None, Meta(ge=0, le=1)] = None
    think: bool | None = None
    think_tokens: int | None = None  # the most that one reply may spend on reasoning


class Usage(Struct, frozen=True):
    """Tokens of one call; `cached` counts prompt tokens that were not computed again.

    `written` counts tokens that a provider wrote to a cache at a higher price. `lasting` counts those of them
    that stay there for an hour, which cost more still. All are part of `input`.
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


class CacheUse(Struct, frozen=True):
    """Use of the server's prompt cache: prompt tokens computed, against those that had to be.

    `cause` names what broke the prefix ("" for a match): model, system, tools, message N, evicted, recounted,
    reloaded. `estimated`: the server does not report hits, so they are estimated from its prompt time. A busy
    machine also lengthens that, so `cause` is then only what kith sent, or a load.
    """

    evaluated: int
    unavoidable: int
    cause: str = ""
    estimated: bool = False

    @property
    def efficiency(self) -> float:
        return min(1.0, self.unavoidable / self.evaluated) if self.evaluated else 1.0


class Timing(Struct, frozen=True):
    """Seconds of one call, as the server reports them (0.0 where it does not).

    `refused_s`: the part of `queue_s` in which it was asked again after refusals, such as 429 or 503.
    """

    load_s: float = 0.0
    queue_s: float = 0.0
    prefill_s: float = 0.0
    decode_s: float = 0.0
    first_token_s: float = 0.0
    total_s: float = 0.0
    refused_s: float = 0.0


class Outage(Struct, frozen=True):
    """A model of a plan that could not be asked: after how many `seconds` of waiting, and why.

    `usd` and `plan_s`: the money and time that its plan was to take.
    """

    model: str
    seconds: float
    why: str
    usd: float = 0.0
    plan_s: float = 0.0


class Charge(Struct, frozen=True):
    """The cost of one call to a model's server, as budgets count it.

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


class Reply(Struct, frozen=True):
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


class Change(Struct, frozen=True):
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


class FileChange(Struct, frozen=True):
    """One changed file, in numbers and as a unified diff.

    In a question, `warning`: who runs what it makes, or follows it, without being told to. `planned`:
    whether the plan names the file; None without a plan.
    """

    path: str
    added: int
    removed: int
    diff: str
    warning: str = ""
    planned: bool | None = None


class Reached(Struct, frozen=True):
    """A place (`host:port`) that a command wanted to reach: bytes each way, or why it could not."""

    place: str
    sent: int = 0
    received: int = 0
    refused: str = ""


class Ran(Struct, frozen=True):
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
    stopped: str = ""  # why kith stopped it, besides its time


def join_cut(head: bytes, tail: bytes, cut: int) -> bytes:
    """Both ends of an output, with a line between them that says how many bytes are missing."""
    return b"%s\n[... %s bytes left out ...]\n%s" % (head, f"{cut:,}".encode(), tail) if cut else head + tail


# --- what is decided -------------------------------------------------------------------------


class Verdict(Struct, frozen=True):
    """A gate's yes, or its no and why; `feedback` becomes the next user message."""

    ok: bool
    feedback: str = ""
    by: str = ""
    ran: tuple[Ran, ...] = ()
    changes: Changes | None = None  # what was kept, when a person kept less (or other) than was proposed
    figures: Mapping[str, float] = field(default_factory=dict)  # what was measured: tests, failed, coverage
    evidence: Evidence | None = None  # what checks say of the change, before against after
    unmet: bool = False  # nobody looked, and the evidence is less than was asked for


class CallTarget(Struct, frozen=True):
    """The target of a call: files, a command line, or arguments as JSON.

    `hosts` are those that a command wants to reach, `tool` says which one of another program's tools it is.
    """

    text: str = ""
    hosts: tuple[str, ...] = ()
    tool: str = ""

    def __str__(self) -> str:
        """All of it in one line, as rules and patterns see it."""
        before = f"{' '.join(self.hosts)}: " if self.hosts else f"{self.tool} " if self.tool else ""
        return f"{before}{self.text}"


class FolderFiles(Struct, frozen=True):
    """The files of a folder that configure kith, by the digest of all of them ("": any content)."""

    digest: str


class Consent(Struct, frozen=True):
    """A model at an address may be sent what work of one group holds."""

    model: str
    server: str
    group: str


Subject = FolderFiles | Consent


class Question(Struct, frozen=True):
    """A question that only a person can answer. Empty `choices` mean free text.

    `warnings` come first. Of a call, `target` is its target as it will run. `draft` is a text that the
    person may edit (choice "edit"). `files` is the summary of `changes`: the log holds it instead of the
    contents. `pattern` is what "always" allows from then on for calls with this `effect`. `hosts`: it
    is about these hosts only, since nothing can reach others. `evidence`
    supports the change. `held_back`: the evidence is below the grade `required` for a yes given in
    advance. `subject` is what an answer applies to beyond the task. `asker` is the model whose call it is.
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
    hosts: tuple[str, ...] = ()
    evidence: Evidence | None = None
    held_back: bool = False
    required: Grade = "unproven"
    subject: Subject | None = None
    warnings: tuple[str, ...] = ()
    target: CallTarget | None = None
    asker: str = ""


class Kept(Struct, frozen=True):
    """Of a changed file, the pieces that a person keeps, by their numbers from 0."""

    path: str
    hunks: tuple[int, ...]


class Answer(Struct, frozen=True):
    """A person's choice (one of the question's, or "no"), with words or an edited change if they gave any.

    A caller without the contents says "some" by the hunks that are `kept` of each file.
    `by`: the screen that it came from. `unasked`: the default where nobody could be asked.
    """

    choice: str
    text: str = ""
    changes: Changes | None = None
    kept: tuple[Kept, ...] = ()
    by: str = ""
    unasked: bool = False


class Plan(Struct, frozen=True):
    """A planner's plan, made before anything is written.

    `absent`: paths of `read` and `modify` that did not exist then. `questions`: what is open. `confidence`:
    "high", "medium" or "low", estimated by the planner; "" where it gave none.
    """

    steps: tuple[str, ...]
    assumptions: tuple[str, ...] = ()
    read: tuple[str, ...] = ()
    modify: tuple[str, ...] = ()
    questions: tuple[str, ...] = ()
    confidence: str = ""
    absent: tuple[str, ...] = ()

    def covers(self, path: str) -> bool | None:
        """True if the file, or a folder above it, is to be modified; None where the plan names no files."""
        if not self.modify:
            return None
        return any(each in (path, ".") or path.startswith(f"{each}/") for each in self.modify)


class BuildTask(Struct, frozen=True):
    """One piece of a larger request: what holds when it is done, and the tasks that come before it."""

    id: str
    title: str
    criteria: tuple[str, ...]
    text: str = ""
    after: tuple[str, ...] = ()  # ids
    files: tuple[str, ...] = ()  # where the work is expected


Severity = Literal["error", "warning", "note"]


class Finding(Struct, frozen=True):
    """A problem at a place: its rule (or model), and a suggested replacement.

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


class TodoItem(Struct, frozen=True):
    """One line of the model's own list."""

    text: str
    state: Literal["pending", "active", "done"] = "pending"
