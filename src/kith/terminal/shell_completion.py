"""Scripts that let bash, zsh and fish complete kith's commands, options and the names of models."""

import argparse
import re
from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct, field

from kith.core.feature import Command
from kith.terminal.command_table import TALK, commands

# Model names come from servers and file names, so only those that mean nothing to any shell are offered.
PLAIN = r"[A-Za-z0-9_.:@+/-]+"
NAMED = ("models probe",)  # commands whose argument is a model that is there


class CompletionChoices(Struct, frozen=True):
    """The meaning and the options of one command.

    `values` has each option that takes a value, with the words it may be, () for any; "" has the argument's.
    """

    meaning: str
    options: tuple[str, ...]
    values: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


def completion_command(args: argparse.Namespace) -> int:
    """Print the script for a shell; what it completes is read from the commands as they are."""
    found = {each.name: choices_of(each) for each in (TALK, *commands().values())}
    print(completion_script(args.shell, found), end="")
    return 0


def completion_script(shell: str, commands: Mapping[str, CompletionChoices]) -> str:
    """The script for bash, zsh or fish; "" names what kith takes without a command."""
    return {"bash": _bash, "zsh": _zsh, "fish": _fish}[shell](commands)


def choices_of(command: Command) -> CompletionChoices:
    """The options of a command, and their values, as its help shows them."""
    parser = argparse.ArgumentParser(formatter_class=lambda prog: argparse.HelpFormatter(prog, width=200))
    if command.arguments:
        command.arguments.load()(parser)
    lines = (line.strip() for line in parser.format_help().splitlines())
    options: list[str] = []
    values: dict[str, tuple[str, ...]] = {}
    # `-m NAME, --model NAME`, `--flash-attn {auto,on,off}`, `--json`, or an argument: `{status,stop}`
    for each in (part for line in lines if line[:1] in ("-", "{") for part in _head(line).split(", ")):
        option, _, value = each.partition(" ") if each.startswith("-") else ("", "", each)
        options += [option] if option else []
        if value:
            values[option] = tuple(value.strip("{}").split(",")) if value.startswith("{") else ()
    return CompletionChoices(command.meaning, tuple(options), values)


def _head(line: str) -> str:
    """The part of a line of help before the explanation."""
    return re.split(r"\s{2,}", line)[0]


def plain_names(names: Iterable[str]) -> list[str]:
    """The names that a shell may be given: what holds spaces, quotes, `$` or line ends is left out."""
    return [name for name in names if re.fullmatch(PLAIN, name) and not name.startswith("-")]


def _words_after(command: str, commands: Mapping[str, CompletionChoices]) -> tuple[str, ...]:
    """The words that may follow a command besides options: its subcommands, and its argument."""
    start = f"{command} " if command else ""
    following = (name.removeprefix(start).split()[0] for name in commands if name and name.startswith(start))
    return (*dict.fromkeys(following), *commands[command].values.get("", ()))


def _values(commands: Mapping[str, CompletionChoices]) -> dict[str, dict[str, tuple[str, ...]]]:
    """The values of each option by command, except models and folders, which shells look up."""
    known: dict[str, dict[str, tuple[str, ...]]] = {}
    for name in _longest_first(commands):
        for option, words in commands[name].values.items():
            if option not in ("", "-m", "--model", "-C"):
                known.setdefault(option, {})[name] = words
    return known


def _longest_first(commands: Mapping[str, CompletionChoices]) -> Sequence[str]:
    return sorted(commands, key=lambda name: -len(name.split()))


def _cases(commands: Mapping[str, CompletionChoices]) -> str:
    """Shell code that sets `offered`, `options` and `named` for the command in `typed`."""
    lines = []
    for name in _longest_first(commands):
        pattern = f'" {name} "*' if name else "*"
        words, options = " ".join(_words_after(name, commands)), " ".join(commands[name].options)
        named = " named=yes" if name in NAMED else ""
        lines.append(f"        {pattern}) offered='{words}' options='{options}'{named} ;;")
    return "\n".join(lines)


def _value_cases(commands: Mapping[str, CompletionChoices]) -> str:
    """Shell code that sets `offered` after an option that takes a value; one case where all take the same."""
    lines = []
    for option, taken in _values(commands).items():
        places = taken if len({*taken.values()}) > 1 else {"": next(iter(taken.values()))}
        for name, words in places.items():
            pattern = f'" {name} "*{option}' if name else f'*" {option}"'
            lines.append(f"        {pattern}) offered='{' '.join(words)}' options='' named='' ;;")
    return "\n".join(lines)


def _bash(commands: Mapping[str, CompletionChoices]) -> str:
    # `compgen -W` expands what it is given, so only kith's own words go there, never a model's name. Bash
    # breaks words at colons, so what stands before the last one must not be in the reply.
    return f"""\
# kith for bash: add to ~/.bashrc:  eval "$(kith completion bash)"
_kith() {{
    local IFS=$' \\t\\n' line="${{COMP_LINE:0:COMP_POINT}}"
    local current="" before="" offered="" options="" named="" name typed head
    local -a typed_words
    read -r -a typed_words <<< "$line"
    case "$line" in
        *[[:space:]]) ;;
        *) current="${{typed_words[${{#typed_words[@]}}-1]}}"
           typed_words=("${{typed_words[@]:0:${{#typed_words[@]}}-1}}") ;;
    esac
    [ ${{#typed_words[@]}} -gt 0 ] && before="${{typed_words[${{#typed_words[@]}}-1]}}"
    typed=" ${{typed_words[*]:1:2}} "
    COMPREPLY=()
    case "$typed" in
{_cases(commands)}
    esac
    case "$before" in
        -m|--model) named=yes offered="" options="" ;;
        -C) return ;;
    esac
    case "$typed$before" in
{_value_cases(commands)}
    esac
    case "$current" in
        --model=*) current="${{current#--model=}}" named=yes offered="" ;;
        -*) named="" offered="$options" ;;
    esac
    [ -n "$offered$named" ] || offered="$options"
    if [ -n "$named" ]; then
        head="${{current%"${{current##*:}}"}}"
        [[ "$COMP_WORDBREAKS" == *:* ]] || head=""
        while IFS= read -r name; do
            [[ "$name" =~ ^{PLAIN}$ && "$name" == "$current"* ]] && COMPREPLY+=("${{name#"$head"}}")
        done < <(kith models --names 2>/dev/null)
    fi
    [ -n "$named" ] || COMPREPLY+=($(compgen -W "$offered" -- "$current"))
}}
complete -o default -F _kith kith
"""


def _zsh(commands: Mapping[str, CompletionChoices]) -> str:
    return f"""\
#compdef kith
# kith for zsh: add to ~/.zshrc:  eval "$(kith completion zsh)"
_kith() {{
    setopt localoptions extendedglob
    local offered="" options="" named="" typed=" ${{(j: :)words[2,$((CURRENT - 1 < 3 ? CURRENT - 1 : 3))]}} "
    local -a names
    case "$typed" in
{_cases(commands)}
    esac
    case "${{words[CURRENT-1]}}" in
        -m|--model) named=yes offered="" options="" ;;
        -C) _files -/; return ;;
    esac
    case "$typed${{words[CURRENT-1]}}" in
{_value_cases(commands)}
    esac
    case "${{words[CURRENT]}}" in
        --model=*) compset -P '--model='; named=yes offered="" ;;
        -*) named="" offered="$options" ;;
    esac
    [[ -n "$offered$named" ]] || offered="$options"
    if [[ -n "$named" ]]; then
        names=(${{(f)"$(kith models --names 2>/dev/null)"}})
        compadd -- ${{(M)names:#[A-Za-z0-9_.:@+/-]##}}
    fi
    [[ -z "$named" && -n "$offered" ]] && compadd -- ${{=offered}}
    [[ -z "$named" && "$typed" == " run "* ]] && _files
    return 0
}}
compdef _kith kith
"""


def _fish(commands: Mapping[str, CompletionChoices]) -> str:
    lines = [
        "# kith for fish: kith completion fish > ~/.config/fish/completions/kith.fish",
        "function __kith_names",
        f"    kith models --names 2>/dev/null | string match -r '^{PLAIN}$'",
        "end",
        "complete -c kith -e",
    ]
    tops = list(dict.fromkeys(name.split()[0] for name in commands if name))
    for name, choices in commands.items():
        lines += _fish_command(name, choices, tops, commands)
    return "\n".join(lines) + "\n"


def _fish_command(
    name: str, choices: CompletionChoices, tops: Sequence[str], commands: Mapping[str, CompletionChoices]
) -> list[str]:
    """The lines of one command: that it exists, and what it takes."""
    first, _, second = name.partition(" ")
    below = [each.partition(" ")[2] for each in commands if each.startswith(f"{first} ") and first]
    seen = (
        f"__fish_seen_subcommand_from {first}"
        if name
        else f"not __fish_seen_subcommand_from {' '.join(tops)}"
    )
    alone = f"{seen}; and not __fish_seen_subcommand_from {' '.join(below)}" if below else seen
    inside = f"{seen}; and __fish_seen_subcommand_from {second}" if second else alone
    parent = alone if second else f"not __fish_seen_subcommand_from {' '.join(tops)}"
    lines = []
    if name:
        meaning = choices.meaning.replace("\\", "\\\\").replace("'", "\\'")
        lines.append(f"complete -c kith -f -n '{parent}' -a {second or first} -d '{meaning}'")
    if name in NAMED:
        lines.append(f"complete -c kith -f -n '{inside}' -a '(__kith_names)'")
    if words := choices.values.get(""):
        lines.append(f"complete -c kith -f -n '{inside}' -a '{' '.join(words)}'")
    for option in choices.options:
        flag = f"-l {option[2:]}" if option.startswith("--") else f"-s {option[1:]}"
        lines.append(f"complete -c kith -n '{inside}' {flag}{_fish_value(option, choices)}")
    return lines


def _fish_value(option: str, choices: CompletionChoices) -> str:
    """The words for fish on an option's value: its source, or that there is one."""
    if option in ("-m", "--model"):
        return " -x -a '(__kith_names)'"
    if option == "-C":
        return " -x -a '(__fish_complete_directories)'"
    words = choices.values.get(option)
    return "" if words is None else f" -x -a '{' '.join(words)}'"
