"""Explain an engine's failure in one sentence, by its last lines and its exit."""

import re
import signal
from collections.abc import Sequence

_LONGEST = 200  # characters of a quoted line
# What llama.cpp puts before each line of its log: a clock, a level and where it comes from.
_STAMP = re.compile(r"^\d+\.\d+\.\d+\.\d+ (?P<level>[A-Z]) (?:(?:srv|cmn|slot|que) +\w+: )?")
_ERROR = re.compile(r"error|failed|fatal|abort|exception|assert|unknown|cannot|invalid", re.IGNORECASE)
# Lines that only say that something failed, without saying what.
_HOLLOW = re.compile(
    r"failed to load model|failed to create|exiting due to|cleaning up|Failed to init server"
    r"|failed to initialize the context|trying to fit params",
    re.IGNORECASE,
)
_KNOWN: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"invalid magic|not a gguf", re.IGNORECASE), "{name} is not a GGUF file."),
    (
        re.compile(r"not within the file bounds|corrupted or incomplete|unexpectedly reached end of file"),
        "{name} is incomplete or damaged; download it again.",
    ),
    (
        re.compile(r"unknown model architecture: '?([\w.-]{1,40})"),
        "This llama.cpp does not know {name}'s architecture ({found}); a newer version of the engine may.",
    ),
    (
        re.compile(
            r"bad_alloc|out of memory|failed to allocate|unable to allocate|cudaMalloc failed"
            r"|cannot allocate memory|not enough memory",
            re.IGNORECASE,
        ),
        "There is not enough memory for {name}; a smaller window, a smaller cache type (q8_0) or a smaller "
        "model may fit.",
    ),
    (
        re.compile(r"ModuleNotFoundError|ImportError|cannot open shared object file: (.*)"),
        'The engine inside cannot be loaded: {line} (`pip install "kith-agent[engine]"`).',
    ),
    (
        re.compile(
            r"error: (?:invalid|unknown) argument: *(\S{1,60})|(?:invalid|unknown) argument: (\S{1,60})"
        ),
        "This llama-server does not know the flag {found}.",
    ),
)


def why_it_failed(name: str, said: Sequence[str], code: int, *, loading: bool) -> str:
    """Explain in one sentence why an engine ended. `said`: its last lines, `code` as of Popen."""
    whole = "\n".join(said)
    line = last_words(said) if loading else last_words([line for line in said if _is_error(line)])
    if loading:
        for pattern, sentence in _KNOWN:
            if match := pattern.search(whole):
                found = next((group for group in match.groups() if group), "")
                return sentence.format(name=name, found=_plain(found), line=line)
    doing = f"while it loaded {name}" if loading else f"while it ran {name}"
    quote = f"; its last words: {line}" if line else ""
    return f"The engine ended {doing} ({_ending(code)}){quote}"


def last_words(said: Sequence[str]) -> str:
    """The line of a log that tells most: its last error, else its last line; printable, of fair length."""
    lines = [line for line in said if line.strip()]
    errors = [line for line in lines if _is_error(line)]
    telling = [line for line in errors if not _HOLLOW.search(line)]
    return _plain(_STAMP.sub("", (telling or errors or lines or [""])[-1]))


def _is_error(line: str) -> bool:
    stamp = _STAMP.match(line)
    return stamp["level"] == "E" if stamp else bool(_ERROR.search(line))


def _plain(text: str) -> str:
    text = " ".join("".join(char if char.isprintable() else " " for char in text).split())
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."


def _ending(code: int) -> str:
    """Explain a process's exit, by its exit code as Popen gives it."""
    if code >= 0:
        return f"exit code {code}"
    try:
        name = signal.Signals(-code).name
    except ValueError:
        name = f"signal {-code}"
    meaning = {
        "SIGKILL": "killed from outside: often, memory ran out",
        "SIGILL": "it needs a newer processor",
        "SIGSEGV": "a crash",
        "SIGABRT": "a crash",
    }
    return f"{name}, {meaning[name]}" if name in meaning else name
