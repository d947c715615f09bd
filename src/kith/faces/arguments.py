"""What each command takes: its options, and which of the settings they override."""

import argparse
from typing import Any

from kith.faces.quantities import moment, money, number, percent, port, positive

FORMATS = ("text", "json", "stream-json")
# Options that override a setting of their own name; those of the engine stand in a group.
_SETTINGS = (
    *("model", "window", "think", "think_tokens", "offline", "read_only", "review"),
    *("tries", "max_steps", "max_task_tokens", "max_task_seconds", "max_task_usd", "cloud"),
)
_BUILD = ("max_retries", "coverage", "refine", "auto_commit", "step_seconds", "step_tokens")
_REFACTORINGS = (
    "nothing or a PATH: suggestions; rename PATH:NAME NEW, move PATH:NAME TARGET.py, "
    "extract PATH:FIRST-LAST NAME, inline PATH:NAME, remove PATH:NAME, organise-imports PATH; "
    "or what a model is to do, in words"
)
_ENGINE = ("ngl", "flash_attn", "threads", "cache_type_k", "cache_type_v")


def settings_flags(args: argparse.Namespace) -> dict[str, Any]:
    """The flags that override settings, under the settings' names; None where a flag was not given."""
    checks, more = getattr(args, "check", None), getattr(args, "engine_arg", None)
    return {
        **{name: getattr(args, name, None) for name in _SETTINGS},
        **{f"engine.{name}": getattr(args, name, None) for name in _ENGINE},
        **{f"build.{name}": getattr(args, name, None) for name in _BUILD},
        "route.dial": getattr(args, "dial", None),
        "engine.args": None if more is None else tuple(more),
        "check": None if checks is None else tuple(checks),
    }


def common(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("-C", dest="folder", metavar="DIR", default=".", help="work in DIR")


def talk(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("-V", "--version", action="store_true", help="print the version")
    _work(parser)


def _work(parser: argparse.ArgumentParser, *, builds: bool = False) -> None:
    """What a task and a conversation have in common; a build has tries of its own, and is there to write."""
    common(parser)
    add = parser.add_argument
    add("-m", "--model", metavar="NAME", help="which model to ask, such as ollama/qwen3:8b; or route")
    add("--check", action="append", metavar="CMD", help="a command that must succeed; `none` for no check")
    if not builds:
        add("--read-only", action="store_const", const=True, help="look and answer, change nothing")
    _offline(parser)
    add = parser.add_argument_group("limits").add_argument
    if not builds:
        add("--tries", type=positive, metavar="N", help="attempts that a failing check may send back (3)")
    add("--max-steps", type=positive, metavar="N", help="model calls in one attempt (50)")
    add("--max-task-tokens", type=positive, metavar="N", help="tokens read and written in one task")
    add("--max-task-seconds", type=positive, metavar="N", help="seconds that one task may take")
    models = parser.add_argument_group("which models")
    _cloud(models, "one task")
    add = models.add_argument
    add("--dial", choices=("frugal", "balanced", "quality"), help="what `-m route` strives for (balanced)")
    _model(parser)


def _cloud(group: Any, what: str) -> None:
    add = group.add_argument
    add("--cloud", choices=("never", "ask", "allow"), help="whether models in the cloud may be asked (ask)")
    add("--max-task-usd", type=money, metavar="N", help=f"dollars that {what} may cost")


def _offline(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--offline", action="store_const", const=True, help="ask nobody beyond this machine")


def _model(parser: argparse.ArgumentParser) -> None:
    """How the model runs; `kith models probe` takes these too."""
    add = parser.add_argument_group("how the model runs").add_argument
    add("--window", type=positive, metavar="N", help="tokens it holds at once (by model and memory)")
    add("--no-think", dest="think", action="store_const", const=False, help="answer without reasoning")
    add("--think-tokens", type=positive, metavar="N", help="tokens that one reply may reason")
    add = parser.add_argument_group("kith's own engine, which runs model files").add_argument
    add("--ngl", type=number, metavar="N", help="layers on the graphics card")
    add("--flash-attn", choices=("auto", "on", "off"), help="flash attention (auto)")
    add("--threads", type=positive, metavar="N", help="threads (one less than the cores)")
    add("--cache-type-k", metavar="TYPE", help="type of the cached keys, such as q8_0")
    add("--cache-type-v", metavar="TYPE", help="type of the cached values")
    add("--engine-arg", action="append", metavar="ARG", help="handed to llama-server as it is")


def run(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("task", nargs="*", metavar="TASK", help="what to do; text piped in is added")
    add("-p", "--prompt", metavar="TASK", help="the same as run TASK")
    _template(parser)
    add("--yes", action="store_true", help="apply without asking")
    plan = parser.add_mutually_exclusive_group().add_argument
    plan("--plan", dest="plan", action="store_const", const="yes", default="no", help="plan first")
    plan("--show-plan", dest="plan", action="store_const", const="show", help="plan first, and ask")
    add("--review", action="store_const", const=True, help="ask the model what may go wrong with its change")
    add("--explain-prompt", action="store_true", help="show what each part of the prompt costs, ask nothing")
    add("--output-format", choices=FORMATS, default="text", help="what goes to stdout (text)")
    add("--resume", metavar="ID", help="go on with an unfinished session")
    _work(parser)


def build(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("task", nargs="*", metavar="REQUEST", help="what to build; text piped in is added")
    _template(parser)
    add("--yes", action="store_true", help="agree to the tasks, and apply without asking")
    add("--max-retries", type=number, metavar="N", help="tries of a task after its first (3)")
    add("--coverage", type=percent, metavar="PERCENT", help="lines that tests must run; 0: whatever it is")
    add("--no-refine", dest="refine", action="store_const", const=False, help="leave out the last touch")
    add("--commit", dest="auto_commit", action="store_const", const=True, help="commit what was applied")
    add("--step-seconds", type=positive, metavar="N", help="seconds that one step may take (1800)")
    add("--step-tokens", type=positive, metavar="N", help="tokens that one step may use")
    add("--output-format", choices=FORMATS, default="text", help="what goes to stdout (text)")
    add(
        "--resume",
        nargs="?",
        const="last",
        metavar="ID",
        help="go on with an unfinished build (the last one)",
    )
    parser.set_defaults(prompt=None, plan="no", read_only=None)
    _work(parser, builds=True)


def testgen(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("target", nargs="?", metavar="TARGET", help="file, file::function or file::Class.method")
    add("--diff", action="store_true", help="what is not committed (as without a TARGET)")
    add("--out", metavar="FILE", help="the file of tests to write, or to add to")
    add("--score", action="store_true", help="write nothing, measure the present tests")
    add("--existing", action="store_true", help="count what the present tests notice already")
    add("--max-mutants", type=positive, metavar="N", help="faults to plant (60)")
    add("--time", type=positive, metavar="SECONDS", help="for trying them (300)")
    add("--yes", action="store_true", help="apply without asking")
    _json(parser)
    _work(parser)


def status(parser: argparse.ArgumentParser) -> None:
    common(parser)
    parser.add_argument("id", nargs="?", metavar="ID", help="which build (the last one)")
    parser.add_argument("--watch", action="store_true", help="stay, and show what changes")
    _json(parser)


def profile(parser: argparse.ArgumentParser) -> None:
    common(parser)
    add = parser.add_argument
    add("--all", action="store_true", help="of every folder, not only this one")
    add("--model", metavar="NAME", help="only this model, or those with this in their names; in detail")
    add("--kind", metavar="KIND", help="only one kind of work, such as edit-small, or one purpose of calls")
    add("--since", type=moment, metavar="WHEN", help="only since then: 30d, 12h, 4w, or 2026-11-01")
    add("--rows", choices=("calls", "tasks", "verdicts"), help="with --csv or --json: rows, not sums (calls)")
    forms = parser.add_mutually_exclusive_group()
    forms.add_argument("--json", action="store_true", help="as JSON")
    forms.add_argument("--csv", metavar="FILE", help="the rows behind it as CSV; - for stdout")
    forms.add_argument("--html", metavar="FILE", help="as one page of HTML; - for stdout")


def templates(parser: argparse.ArgumentParser) -> None:
    _json(parser)


def _template(parser: argparse.ArgumentParser) -> None:
    meaning = "a common task to fill in, with TASK as name=value words; kith templates lists them"
    parser.add_argument("--template", metavar="NAME", help=meaning)


def review(parser: argparse.ArgumentParser) -> None:
    common(parser)
    what = "a commit or a range such as main..HEAD (what is not committed)"
    parser.add_argument("revision", nargs="?", metavar="COMMIT", help=what)
    add = parser.add_argument
    add("--staged", action="store_true", help="what the next commit would hold")
    add("--branch", metavar="BASE", help="HEAD, since it left BASE")
    add("--patch", metavar="FILE", help="a diff, applied already or not; - reads it from stdin")
    add("-m", "--model", metavar="NAME", help="which model to ask, such as ollama/qwen3:8b")
    add("--no-model", action="store_true", help="linters and kith's own rules only")
    add("--second-look", action="store_true", help="ask the model twice about what it calls an error")
    add("--fail-on", choices=("error", "warning", "note", "never"), default="error",
        help="the severity from which on the exit code is 1 (error)")  # fmt: skip
    add("--max", type=positive, metavar="N", help="show the worst N findings")
    add("--apply", action="store_true", help="propose the suggestions as one change, checked and asked about")
    add("--yes", action="store_true", help="apply without asking")
    add("--check", action="append", metavar="CMD", help="a command that must succeed; `none` for no check")
    forms = parser.add_mutually_exclusive_group()
    forms.add_argument("--json", action="store_true", help="as JSON")
    forms.add_argument("--sarif", action="store_true", help="as SARIF 2.1.0, for code hosts and editors")
    _offline(parser)
    _model(parser)


def confer(parser: argparse.ArgumentParser) -> None:
    common(parser)
    add = parser.add_argument
    add("question", nargs="*", metavar="QUESTION", help="what to decide, to answer or to do")
    add("--models", metavar="A,B", help="who confers, two or three, as after -m (confer.models)")
    add("--judge", metavar="NAME", help="who decides where nothing can be tested (confer.judge)")
    add("--apply", action="store_true", help="carry the plan out, tested and asked about")
    add("--yes", action="store_true", help="apply without asking")
    add("--check", action="append", metavar="CMD", help="a command that must succeed; `none` for no check")
    add("--show", metavar="ID", help="show a council of a session as it was, and ask nobody")
    _cloud(parser, "a council")
    _offline(parser)
    _json(parser)


def refactor(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("words", nargs="*", metavar="WORD", help=_REFACTORINGS)
    add("--apply", type=positive, metavar="N", help="mend suggestion N (of PATH)")
    add("--with-tests", action="store_true", help="what a model does in words may change tests, too")
    add("--yes", action="store_true", help="apply without asking")
    _json(parser)
    _work(parser)


def scan(parser: argparse.ArgumentParser) -> None:
    common(parser)
    add = parser.add_argument
    add("path", nargs="?", metavar="PATH", help="only this folder or file (the whole project)")
    add("--lint", action="store_true", help="run linters and type checkers for as long as they need")
    add("--no-lint", action="store_true", help="run no linters (else up to 20 s, on up to 2,000 files)")
    add("--svg", metavar="FILE", help="write a picture: folders by size, coloured by where the work is")
    forms = parser.add_mutually_exclusive_group()
    forms.add_argument("--md", action="store_true", help="as Markdown")
    forms.add_argument("--json", action="store_true", help="as JSON")


def runtime(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("-m", "--model", metavar="NAME", help="which model to serve, such as file/NAME (the first found)")
    add("--port", type=port, metavar="N", default=5485, help="which port; 0: any that is free (5485)")
    _offline(parser)
    group = parser.add_argument_group("limits").add_argument
    group("--parallel", type=number, metavar="N", default=0, help="answers at once (as many as it has slots)")
    group("--queue", type=number, metavar="N", default=32, help="requests that may wait for them (32)")
    group("--max-tokens", type=positive, metavar="N", default=4096, help="tokens of one answer (4096)")
    group("--max-seconds", type=positive, metavar="N", default=600, help="seconds of one answer (600)")
    _cloud(parser.add_argument_group("models in the cloud"), "one request")
    others = parser.add_argument_group("for other machines").add_argument
    others("--host", metavar="ADDR", help="listen at this address (127.0.0.1: this machine only)")
    others("--token", metavar="TOKEN", help="needed with --host; better in KITH_RUNTIME_TOKEN")
    others("--allowed-host", action="append", metavar="NAME", help="a name it is reached by, through a proxy")
    _model(parser)


def coach(parser: argparse.ArgumentParser) -> None:
    common(parser)
    _json(parser)


def coach_run(parser: argparse.ArgumentParser) -> None:
    common(parser)
    add = parser.add_argument
    add("--minutes", type=positive, metavar="N", help="how long to try ways out (60)")
    add("-m", "--model", metavar="NAME", help="whose ways to try, such as ollama/qwen3:8b")
    _offline(parser)
    _model(parser)
    _json(parser)


def coach_one(parser: argparse.ArgumentParser) -> None:
    common(parser)
    parser.add_argument("id", metavar="ID", help="of a way, as kith coach shows it")


def why(parser: argparse.ArgumentParser) -> None:
    common(parser)
    parser.add_argument("id", nargs="?", metavar="ID", help="of a session (the last one)")
    _json(parser)


def export(parser: argparse.ArgumentParser) -> None:
    common(parser)
    add = parser.add_argument
    add("id", nargs="?", metavar="ID", help="of a session (the last one)")
    add("--format", choices=("html", "md", "json"), help="a page without scripts, Markdown, or JSON (html)")
    add("-o", "--output", metavar="FILE", help="write it there, not to stdout")


def undo(parser: argparse.ArgumentParser) -> None:
    common(parser)
    parser.add_argument(
        "id", nargs="?", metavar="ID", help="the change or session to take back (the last one)"
    )


def sessions(parser: argparse.ArgumentParser) -> None:
    common(parser)
    parser.add_argument("--all", action="store_true", help="of every folder, not only this one")
    _json(parser)


def models(parser: argparse.ArgumentParser) -> None:
    common(parser)
    _json(parser)
    parser.add_argument("--names", action="store_true", help="names only, for the shell's completion")
    _offline(parser)


def pull(parser: argparse.ArgumentParser) -> None:
    common(parser)
    add = parser.add_argument
    add("name", metavar="REPO[:QUANT]", help="such as Qwen/Qwen3-8B-GGUF:Q4_K_M, or ollama/qwen3:8b")
    add("--force", action="store_true", help="even what this machine's memory cannot hold")
    _offline(parser)


def recommend(parser: argparse.ArgumentParser) -> None:
    common(parser)
    _json(parser)


def config(parser: argparse.ArgumentParser) -> None:
    common(parser)
    words = "take back what you agreed to for good here: ask again before a model in the cloud is asked"
    parser.add_argument("--ask-again", action="store_true", help=words)


def prices(parser: argparse.ArgumentParser) -> None:
    common(parser)
    _json(parser)


def probe(parser: argparse.ArgumentParser) -> None:
    common(parser)
    parser.add_argument("model", nargs="?", metavar="MODEL", help="as after -m; the first found if left out")
    _offline(parser)
    _model(parser)
    _json(parser)


def bench(parser: argparse.ArgumentParser) -> None:
    common(parser)
    add = parser.add_argument
    add("models", nargs="*", metavar="MODEL", help="as after -m; the first found if left out")
    add("--quick", action="store_true", help="in a minute: speed, and a little of the rest")
    add("--minutes", type=positive, metavar="N", help="for each model (3)")
    add("--no-tasks", dest="tasks", action="store_false", help="leave out the small tasks with tests")
    add("--compare", nargs=2, metavar=("A", "B"), help="two runs: a model, a session's id, a file of --json")
    add("--output", metavar="FILE", help="write speeds as llama-bench does: .json, .jsonl, .csv or .md")
    add("--import", dest="imported", metavar="FILE", help="foresee times by what llama-bench wrote of MODEL")
    _cloud(parser, "measuring a model")
    _offline(parser)
    _model(parser)
    _json(parser)


def doctor(parser: argparse.ArgumentParser) -> None:
    common(parser)
    parser.add_argument("--deep", action="store_true", help="also what takes a call to each model")
    _offline(parser)
    _json(parser)


def engine(parser: argparse.ArgumentParser) -> None:
    common(parser)
    what = "show what runs (the default), or end it"
    parser.add_argument("action", nargs="?", choices=("status", "stop"), default="status", help=what)


def completion(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", choices=("bash", "zsh", "fish"), help="whose script to print")


def demo(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("-m", "--model", metavar="NAME", help="run it live, with this model")
    parser.add_argument("--keep", action="store_true", help="keep the demo's folder to play with")


def acp(parser: argparse.ArgumentParser) -> None:
    """The editor says in which folder."""
    add = parser.add_argument
    add("-m", "--model", metavar="NAME", help="which model to ask, such as ollama/qwen3:8b; or route")
    add("--check", action="append", metavar="CMD", help="a command that must succeed; `none` for no check")
    add("--read-only", action="store_const", const=True, help="look and answer, change nothing")
    _offline(parser)
    _cloud(parser.add_argument_group("which models"), "one task")
    _model(parser)


def mcp(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--patience", type=positive, metavar="N", default=300, help="seconds to wait for an answer (300)")
    add("--no-forms", action="store_true", help="never ask in a form of the agent's program")
    _work(parser)


def _json(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="as JSON")
