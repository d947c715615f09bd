"""Translate a model server's errors."""

import json
import math
import re
from collections.abc import Sequence
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import Any, Literal

from kith.core.errors import EXIT_TRY_LATER, ModelError, NoModelError
from kith.core.patterns import lazy_pattern
from kith.models.providers.answers import read_json

# 529 is Anthropic's "overloaded"; the others are standard.
PASSING = frozenset({429, 500, 502, 503, 504, 529})
_GATEWAYS = frozenset({502, 503, 504})
IN_STREAM = 0  # in a status's place: the server had answered 200 before it failed

_OVERFLOW = lazy_pattern(
    r"exceed_context_size_error|exceeds the available context size|maximum context length"
    r"|longer than the context length|exceed_context"
    # Anthropic, and Gemini.
    r"|prompt is too long|exceed context limit|request_too_large|input token count .{1,40} exceeds",
    re.IGNORECASE,
)
# The sizes, as llama-server words them: "request (5030 tokens) exceeds the available context size (4096
# tokens)", "n_prompt_tokens":5030,"n_ctx":4096; Anthropic: "prompt is too long: 208310 tokens > 200000
# maximum"; Gemini: "The input token count (1048577) exceeds the maximum number of tokens allowed (1048576)".
# What others call the prompt may count the answer in.
_PROMPT = lazy_pattern(
    r"n_prompt_tokens\D{1,4}(\d+)|\((\d+) tokens\) exceeds|too long: (\d+)|token count \((\d+)\)"
)
_WINDOW = lazy_pattern(
    r"n_ctx\D{1,4}(\d+)|context size \((\d+) tokens\)|context length (?:is|of) (\d+)"
    r"|tokens > (\d+) maximum|tokens allowed \((\d+)\)"
)
# What a model or its server cannot do, as llama-server, Ollama, vLLM, Anthropic and Gemini word it.
Ability = Literal["tools", "thinking", "shape"]
_UNABLE: tuple[tuple[Ability, re.Pattern[str]], ...] = (
    ("tools", lazy_pattern(r"not support tools|tools param requires|tool choice requires", re.IGNORECASE)),
    (
        "thinking",
        lazy_pattern(r"not support thinking|think value .{1,40} is not supported", re.IGNORECASE),
    ),
    (
        "shape",
        lazy_pattern(
            r"response_format|json[_ ]schema|grammar|structured.output|guided.decoding|invalid format"
            r"|output_config.format|response mime type|response_?(json_?)?schema",
            re.IGNORECASE,
        ),
    ),
)
_GARBLED = lazy_pattern(r"peg-native|error parsing tool call")
# "model: claude-x" is all that Anthropic says; Gemini says "models/gemini-x is not found".
_MISSING = lazy_pattern(
    r"\bmodels?\b.{0,200}?(not found|does not exist)|^model: \S+$", re.IGNORECASE | re.DOTALL
)
_SIGNATURE = lazy_pattern(r"(thinking|thought).{0,40}signature|signature.{0,40}thinking", re.IGNORECASE)
_DELAY = lazy_pattern(r'"retryDelay"\s*:\s*"(\d+(?:\.\d+)?)s"')  # google.rpc.RetryInfo


class UnreachableError(ModelError):
    """Nobody listens at the address."""


class LostReplyError(ModelError):
    """An accepted request whose answer stopped coming: not sent again now, but a person may try later."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.code = EXIT_TRY_LATER


class BrokenReplyError(ModelError):
    """A reply that ended or failed in its middle: the server is done with it, and may be asked once more."""

    def __init__(self, text: str) -> None:
        super().__init__(text, retryable=True)


class MissingModelError(ModelError):
    """The server runs, but does not have the model; the provider says which ones are there."""


class SignatureError(ModelError):
    """A former thought's signature was refused: it is another model's, or what came before it changed."""


class UnsupportedError(ModelError):
    """The model or its server cannot do what was asked; `what` names it, so that less can be asked."""

    def __init__(self, text: str, what: Ability) -> None:
        super().__init__(text)
        self.what = what


class LoadingError(ModelError):
    """The server is up and still loads its model."""


class NoRouteError(ModelError):
    """The server does not have this endpoint: it is older, or another one."""


class GarbledReplyError(ModelError):
    """The server could not read its own model's tool call; asking once more may help, more often will not."""


def fault(url: str, status: int, body: str, after_s: float | None = None) -> ModelError:
    """Convert an HTTP error answer; IN_STREAM stands for one in the middle of a reply.

    Status and text decide, as llama-server, Ollama, LM Studio and vLLM word them. They tell apart overflow, a
    missing model, an unreadable tool call, a missing ability, a load in progress and a refused key.
    """
    is_page = body.lstrip()[:1] == "<"
    # A gateway's own page says that the server behind it is away for a while; the address is right.
    if is_page and status not in _GATEWAYS:
        return ModelError(f"{url} answered with a web page; is the address right?")
    text = "" if is_page else _words(body)
    if after_s is None and (delay := _DELAY.search(body)):
        after_s = float(delay[1])
    if status in (IN_STREAM, 200, 400, 413, 500) and _OVERFLOW.search(body):
        return _overflow(body)
    if status in (400, 404) and _MISSING.search(text):
        return MissingModelError(f"{url} does not have the model: {text}")
    if _GARBLED.search(text):
        said = f"{url} could not read the model's tool call: {text}"
        return GarbledReplyError(said, retryable=True, after_s=0.0)
    if status in (401, 403) or "API key not valid" in text:  # Gemini answers 400
        return ModelError(f"{url} refused the key ({status}): {text}")
    if status == 200 and not text:
        return ModelError(f"{url} sent a whole reply where kith asked for a stream")
    how = "failed in the middle of its reply" if status == IN_STREAM else f"answered {_title(status)}"
    said = f"{url} {how}: {text}" if text else f"{url} {how}"
    if status == 503 and "loading model" in text.lower():
        return LoadingError(said, retryable=True, after_s=after_s)
    if status in (404, 405, 501):
        return NoRouteError(said)
    return _refusal(said, status, text) or ModelError(said, retryable=status in PASSING, after_s=after_s)


def _refusal(said: str, status: int, text: str) -> ModelError | None:
    """Convert a server's lasting refusal; None for an error that may pass."""
    if status in (IN_STREAM, 400) and _SIGNATURE.search(text):
        return SignatureError(said)
    if what := _unable(status, text):
        return UnsupportedError(said, what)
    return BrokenReplyError(said) if status == IN_STREAM else None


def _unable(status: int, text: str) -> Ability | None:
    """Return the ability that the model lacks, by the text of a refusal."""
    if status not in (400, 422, 500):
        return None
    return next((what for what, words in _UNABLE if words.search(text)), None)


def no_such_model(url: str, model: str, there: Sequence[str]) -> NoModelError:
    """The sentence for a person who named a model that is not there."""
    if not there:
        return NoModelError(f"{url} has no model {model!r}, and no other.")
    near = nearest(model, there)
    hint = f"did you mean {' or '.join(near)}?" if near else f"it has {', '.join(there[:8])}."
    return NoModelError(f"{url} has no model {model!r}; {hint}")


_ALIKE = 65  # of 100, by rapidfuzz's WRatio


def nearest(name: str, names: Sequence[str], most: int = 3) -> tuple[str, ...]:
    """The names that look most like `name`, best first; empty when none comes near."""
    from rapidfuzz import fuzz, process

    found = process.extract(
        name.lower(), {each: each.lower() for each in names}, scorer=fuzz.WRatio, limit=most
    )
    # A short name inside a long one scores little, and says much.
    return tuple(key for each, score, key in found if score >= _ALIKE or name.lower() in each)


def retry_after(header: str | None, now: datetime | None = None) -> float | None:
    """Seconds that a `Retry-After` header asks for (a number or a date, RFC 9110 10.2.3), if readable."""
    if not header:
        return None
    try:
        seconds = float(header)
    except ValueError:
        try:
            when = parsedate_to_datetime(header)
        except ValueError:
            return None
        when = when if when.tzinfo else when.replace(tzinfo=UTC)
        return max(0.0, (when - (now or datetime.now(UTC))).total_seconds())
    return seconds if math.isfinite(seconds) and seconds >= 0 else None


def _words(body: str) -> str:
    """The message inside an error body, whichever of the known shapes it has, in one line of fair length."""
    try:
        data: Any = read_json(body)
    except ValueError:
        data = body
    # Ollama hands on llama-server's error as JSON text inside its own; Gemini answers with a list of one.
    for _ in range(4):
        if isinstance(data, list) and len(data) == 1:
            data = data[0]
        elif isinstance(data, dict):
            data = next((data[key] for key in ("error", "message", "detail") if data.get(key)), "")
        elif isinstance(data, str) and data.lstrip().startswith("{"):
            try:
                data = read_json(data)
            except ValueError:
                break
        else:
            break
    text = " ".join((data if isinstance(data, str) else json.dumps(data)).split())
    return text if len(text) <= 500 else f"{text[:497]}..."


def _overflow(body: str) -> ModelError:
    # Quotes may be escaped, several times over, where one server quotes another.
    plain = body.replace("\\", "")
    prompt, window = _size(_PROMPT.search(plain)), _size(_WINDOW.search(plain))
    return ModelError(
        f"The prompt{_in_words(prompt)} does not fit the model's "
        f"window{_in_words(window)}; start the model with a larger window, or give it "
        "less to read",
        overflow=True,
        tokens=prompt,
        window=window,
    )


def _size(found: re.Match[str] | None) -> int:
    return int(found[found.lastindex or 0]) if found else 0


def _in_words(tokens: int) -> str:
    return f" ({tokens:,} tokens)" if tokens else ""


def _title(status: int) -> str:
    try:
        return f"{status} ({HTTPStatus(status).phrase})"
    except ValueError:
        return str(status)
