"""Commands made of commands: other flags, quotes, spaces, wrappers, and parts that do harm."""

import random
from collections.abc import Iterator, Sequence

_FLAGS = (
    *(
        "-o",
        "-o../outside/canary",
        "--output=../outside/canary",
        "--outp=../outside/canary",
        "-i",
        "-e",
        "-f",
        "-c",
    ),
    *(
        "--pre=./x.sh",
        "--pre",
        "-exec",
        "-delete",
        "-fprint",
        "-w",
        "-s",
        "-S",
        "-C",
        "-L",
        "-R",
        "-r",
        "-z",
        "-x",
    ),
    *(
        "--compress-program=./x.sh",
        "--files0-from=a",
        "--ext-diff",
        "--textconv",
        "--show-signature",
        "-O./x.sh",
    ),
    *(
        "-p",
        "-n",
        "--no-index",
        "--exec-path=.",
        "--upload-pack=./x.sh",
        "-cx.y=./x.sh",
        "--open-files-in-pager=./x.sh",
    ),
    *(
        "--config",
        "-ok",
        "-execdir",
        "--to-command=./x.sh",
        "-T",
        "-D",
        "-m",
        "--help",
        "--version",
        "--",
        "-",
    ),
)
_WORDS = (
    *(
        "../outside/secret.txt",
        "/etc/passwd",
        "~/x",
        "$HOME",
        "./x.sh",
        "canary",
        "../outside/canary",
        "w canary",
    ),
    *(
        "1e ./x.sh",
        "'1e ./x.sh'",
        "'w canary'",
        "'s/a/b/w canary'",
        "{}",
        "';'",
        "+",
        "*",
        "?",
        "@x",
        "a,b",
        "HEAD",
    ),
    *(
        "'{system(\"./x.sh\")}'",
        "'BEGIN{print > \"canary\"}'",
        "'a[$(./x.sh)]'",
        "..",
        ".git/config",
        "-v",
        "x=1",
    ),
)
_WRAPPERS = (
    *(
        "env ",
        "nice ",
        "timeout 1 ",
        "xargs ",
        "command ",
        "builtin ",
        "exec ",
        "busybox ",
        "sudo ",
        "nohup ",
    ),
    *(
        "stdbuf -o0 ",
        "setsid ",
        "eval ",
        "time ",
        "bash -c ",
        "sh -c ",
        "X=1 ",
        "! ",
        "git -c a.b=c ",
        "script -qec ",
    ),
)
_JOINTS = (
    " && ",
    " || ",
    "; ",
    " | ",
    " & ",
    "\n",
    " |& ",
    "\r\n",
    "\u00a0",
    "\t",
    " `",
    " $(",
    " <(",
    " > ",
    " >> ",
)
_HARM = (
    "touch ../outside/canary",
    "./x.sh",
    "cp a canary",
    "cat ../outside/secret.txt",
    "rm a",
    "tee canary",
    "sh",
)
_BITS = (
    "'",
    '"',
    "\\",
    "''",
    '""',
    " ",
    "  ",
    "\t",
    "\u00a0",
    "\u200b",
    "$",
    "*",
    "?",
    "~",
    "-",
    "=",
    "{",
    "}",
    "#",
    "!",
)


def mutate(lines: Sequence[str], seed: int) -> Iterator[str]:
    """Without an end, mutations of these commands, one to three changes each."""
    chance = random.Random(seed)
    while True:
        line = chance.choice(lines)
        for _ in range(chance.randint(1, 3)):
            line = _change(line, chance)
        yield line


def _change(line: str, chance: random.Random) -> str:
    words = line.split(" ")
    place = chance.randrange(len(words) + 1)
    match chance.randrange(8):
        case 0:
            return " ".join([*words[:place], chance.choice(_FLAGS), *words[place:]])
        case 1:
            return " ".join([*words[:place], chance.choice(_WORDS), *words[place:]])
        case 2:
            return chance.choice(_WRAPPERS) + line
        case 3:
            return line + chance.choice(_JOINTS) + chance.choice(_HARM)
        case 4:
            return chance.choice(_HARM) + chance.choice(_JOINTS) + line
        case 5:
            at = chance.randrange(len(line) + 1)
            return line[:at] + chance.choice(_BITS) + line[at:]
        case 6:
            at = chance.randrange(len(line) + 1)
            return line[:at] + line[at + 1 :]
    chosen = chance.randrange(len(words))
    words[chosen] = chance.choice(
        (words[chosen][:-1], f"'{words[chosen]}'", words[chosen] * 2, f"--{words[chosen]}")
    )
    return " ".join(words)
