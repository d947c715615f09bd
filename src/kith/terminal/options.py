"""Options that several commands have, the settings they override, and the project that a folder means."""

import argparse
import os
from pathlib import Path
from typing import Any

from kith.core.errors import UsageError
from kith.core.hosts import parse_host
from kith.settings.features import all_parts

# What options take, read from words: numbers, amounts of money, moments, hosts.


def positive(text: str) -> int:
    """A number from 1 on; `16k` and `16_384` are ways to write one."""
    digits = text.replace("_", "")
    number, unit = (digits[:-1], 1024) if digits[-1:] in ("k", "K") else (digits, 1)
    if not number.isdigit() or int(number) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} must be 1 or more")
    return int(number) * unit


def some_id(text: str) -> str:
    """An id that was given: an empty one comes from an unset variable, and must not mean the newest."""
    if not text.strip():
        raise argparse.ArgumentTypeError("the id is empty")
    return text


def money(text: str) -> float:
    """US dollars, with or without their sign."""
    try:
        amount = float(text.removeprefix("$"))
    except ValueError:
        amount = -1.0
    if not 0 <= amount < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is not an amount of dollars")
    return amount


def number(text: str) -> int:
    """From 0 on."""
    if not text.isdigit():
        raise argparse.ArgumentTypeError(f"{text!r} must be 0 or more")
    return int(text)


def port(text: str) -> int:
    """A port's number; 0 stands for any that is free."""
    value = number(text)
    if value > 65_535:
        raise argparse.ArgumentTypeError("takes a port from 0 to 65535")
    return value


def host(text: str) -> str:
    """A host that commands may reach, in clean form."""
    try:
        return str(parse_host(text))
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error).removesuffix(".")) from error


def place(text: str) -> str:
    """A file where it stands now, from wherever it is looked for later."""
    path = Path(text).expanduser().absolute()
    if not path.is_file():
        raise argparse.ArgumentTypeError(f"There is no file {text!r}")
    return str(path)


FORMATS = ("text", "json", "stream-json")
# Options that override a setting of their own name; those of the engine stand in a group.
_SETTINGS = (
    *("model", "window", "think", "think_tokens", "offline", "read_only", "review"),
    *("require", "unproven"),
    *("system", "append_system"),
    *("tries", "max_steps", "max_task_tokens", "max_task_seconds", "max_task_usd", "cloud"),
)
_BUILD = ("max_retries", "coverage", "refine", "auto_commit", "step_seconds", "step_tokens")
SAMPLING = (
    *("temperature", "top_k", "top_p", "min_p", "max_tokens", "seed"),
    *("mirostat", "mirostat_tau", "mirostat_eta"),
)
_ENGINE = ("ngl", "flash_attn", "threads", "cache_type_k", "cache_type_v")


def settings_flags(args: argparse.Namespace) -> dict[str, Any]:
    """The flags that override settings, under the settings' names; None where a flag was not given."""
    checks, more = getattr(args, "check", None), getattr(args, "engine_arg", None)
    no_worse = getattr(args, "no_worse", None)
    hosts = getattr(args, "net", None)
    files = getattr(args, "allow_file", None)
    return {
        **{name: getattr(args, name, None) for name in _SETTINGS},
        **{f"engine.{name}": getattr(args, name, None) for name in _ENGINE},
        **{f"build.{name}": getattr(args, name, None) for name in _BUILD},
        **{f"sampling.{name}": getattr(args, name, None) for name in SAMPLING},
        **{name: value for name, value in vars(args).items() if "." in name},  # of features
        "engine.args": None if more is None else tuple(more),
        "check": None if checks is None else tuple(checks),
        "no_worse": None if no_worse is None else tuple(no_worse),
        "hosts": None if hosts is None else tuple(hosts),
        "allow_file": None if files is None else tuple(files),
    }


def add_folder(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("-C", dest="folder", metavar="DIR", default=".", help="work in DIR")


def add_json(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="as JSON")


def add_offline(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--offline", action="store_const", const=True, help="ask nobody beyond this machine")


def add_yes(parser: argparse.ArgumentParser, meaning: str = "apply without asking") -> None:
    """Files that run by themselves are asked about all the same, but for those that are named."""
    parser.add_argument("--yes", action="store_true", help=meaning)
    parser.add_argument(
        "--allow-file",
        action="append",
        metavar="PATH",
        help="with --yes: a file that runs by itself (CI, hooks, settings of editors) and may change",
    )
    add_standard(parser)


def add_standard(parser: argparse.ArgumentParser) -> None:
    """Options for the evidence that is enough where nobody looks at the change."""
    add = parser.add_argument
    add(
        "--require",
        choices=("unproven", "held", "proven"),
        help="with --yes: apply only what is held, or proven, by tests",
    )
    add("--unproven", action="store_const", const=True, help="with --yes: apply what would be held back, too")


def add_template(parser: argparse.ArgumentParser) -> None:
    meaning = "a common task to fill in, with TASK as name=value words; kith templates lists them"
    parser.add_argument("--template", metavar="NAME", help=meaning)


def add_system(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument_group("what the model is told first").add_argument
    add("--system", type=place, metavar="FILE", help="a system prompt in place of kith's own")
    add("--append-system", type=place, metavar="FILE", help="text to add to the end of the system prompt")


def add_work(parser: argparse.ArgumentParser, *, builds: bool = False) -> None:
    """Options of tasks and conversations; a build has its own tries, and always writes."""
    add_folder(parser)
    add = parser.add_argument
    add("-m", "--model", metavar="NAME", help="which model to ask, such as ollama/qwen3:8b; or route")
    add("--check", action="append", metavar="CMD", help="a command that must succeed; `none` for no check")
    add("--no-worse", action="append", metavar="CMD", help="a command that must not get worse")
    add("--net", type=host, action="append", metavar="HOST", help="a host that commands may reach unasked")
    if not builds:
        add("--read-only", action="store_const", const=True, help="look and answer, change nothing")
    add_offline(parser)
    add = parser.add_argument_group("limits").add_argument
    if not builds:
        add("--tries", type=positive, metavar="N", help="attempts that a failing check may send back (3)")
    add("--max-steps", type=positive, metavar="N", help="model calls in one attempt (50)")
    add("--max-task-tokens", type=positive, metavar="N", help="tokens read and written in one task")
    add("--max-task-seconds", type=positive, metavar="N", help="seconds that one task may take")
    models = parser.add_argument_group("which models, and how they are asked")
    add_cloud(models, "one task")
    for add_more in all_parts(lambda feature: feature.work_options):
        add_more(models)
    add_sampling(parser)
    add_engine(parser)


def add_cloud(group: Any, what: str) -> None:
    add = group.add_argument
    add("--cloud", choices=("never", "ask", "allow"), help="whether models in the cloud may be asked (ask)")
    add("--max-task-usd", type=money, metavar="N", help=f"dollars that {what} may cost")


def add_sampling(parser: argparse.ArgumentParser) -> None:
    """Sampling options. The settings check their numbers."""
    add = parser.add_argument_group("sampling (default: as the server does)").add_argument
    add("--temperature", metavar="N", help="0 to 5; 0: always the likeliest token")
    add("--top-k", metavar="N", help="choose from the N likeliest tokens; 0: from all")
    add("--top-p", metavar="N", help="0 to 1: probability of the tokens to choose from")
    add("--min-p", metavar="N", help="0 to 1: least probability, relative to the likeliest")
    add("--max-tokens", metavar="N", help="limit for one reply")
    add("--seed", metavar="N", help="repeats a reply, if the server can; -1: random")
    add("--mirostat", metavar="N", help="version 1 or 2; 0: off")
    add("--mirostat-tau", metavar="N", help="target entropy, 0 to 20")
    add("--mirostat-eta", metavar="N", help="learning rate, 0 to 1")


def add_engine(parser: argparse.ArgumentParser) -> None:
    """Options of the engine; `kith models probe` takes these too."""
    add = parser.add_argument_group("how the model runs").add_argument
    add("--window", type=positive, metavar="N", help="tokens it holds at once (by model and memory)")
    add("--no-think", dest="think", action="store_const", const=False, help="answer without reasoning")
    add("--think-tokens", type=positive, metavar="N", help="tokens that one reply may reason")
    add_own_engine(parser)


def add_own_engine(parser: argparse.ArgumentParser) -> None:
    """Options of the engine inside; `kith engine tune` takes these, too."""
    add = parser.add_argument_group("kith's own engine, which runs model files").add_argument
    add("--ngl", type=number, metavar="N", help="layers on the graphics card")
    add("--flash-attn", choices=("auto", "on", "off"), help="flash attention (auto)")
    add("--threads", type=positive, metavar="N", help="threads (one less than the cores)")
    add("--cache-type-k", metavar="TYPE", help="type of the cached keys, such as q8_0")
    add("--cache-type-v", metavar="TYPE", help="type of the cached values")
    add("--engine-arg", action="append", metavar="ARG", help="handed to llama-server as it is")


# Which project is meant by a folder.


def find_root(folder: str) -> Path:
    """The project's folder: the enclosing git repository's top, else the folder itself."""
    path = Path(folder)
    try:
        if not path.is_dir():
            what = f"{folder!r} is not a folder." if path.exists() else f"There is no folder {folder!r}."
            raise UsageError(what)
        path = path.resolve()
        os.listdir(path)  # noqa: PTH208 -- only asks whether it may be read
        return _find_top(path)
    except OSError as error:
        raise UsageError(f"The folder {folder!r} cannot be used: {error.strerror}.") from error


def _find_top(path: Path) -> Path:
    home = Path(os.environ.get("HOME", ""))
    for parent in (path, *path.parents):
        # A home folder kept in git is not the project that the person stands in.
        if (parent / ".git").exists() and (parent != home or parent == path):
            return parent
        if parent.name != ".git" and all((parent / name).exists() for name in ("HEAD", "objects", "refs")):
            raise UsageError(f"{parent} is a bare git repository, without files to work on; clone it first.")
    return path
