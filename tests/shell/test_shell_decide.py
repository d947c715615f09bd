"""What only looks at the tree needs no question; everything else does, and the reason is said."""

import pytest

from kith.shell import TRUSTING, Read, decide
from kith.shell.argument_kinds import fault_of
from kith.shell.parse import Word
from kith.shell.programs import CONTENTS, HISTORY, PROGRAMS
from kith.shell.usage import read_usage

HARMLESS = (
    *("ls", "ls -la src", "ls *.py", "pwd", "cat a.py | head -20", "head -n5 a.py", "tail -n +5 a.py b.py"),
    *("wc -l src/*.py", "nl -ba a.py", "stat -c %s a.py", "file a.bin", "du -sh .", "df -h", "tree -L 2"),
    *("grep -rn 'def f' src", "grep -E 'a|b' a.py", "grep -e a -e b a.py", "grep -R x -n", "ls | grep foo"),
    *("rg foo", "rg -n 'a && b' src", "rg --files -g '*.py'", "rg -t py foo src", "rg -A3 -B 3 foo"),
    *(
        "find . -name '*.py'",
        "find src -type f -maxdepth 2 | wc -l",
        "find . \\( -name a -o -name b \\) -print",
    ),
    *("sed -n 1,5p a.py", "sed -n '/def f/,/return/p' a.py", "sed -n '10p;20p' a.py", "sed 5q a.py"),
    *("awk '{print $1, $NF}' a.py", "awk -F: 'NR>2 {print $2}' a.py", "awk 'NR==3' a.py", "awk '/x/' a.py"),
    *(
        "sort -k2,2n -t, a.csv | uniq -c",
        "cut -d: -f1 a.py",
        "tr a-z A-Z < a.py",
        "paste a b",
        "comm -12 a b",
    ),
    *("diff -u a.py b.py", "cmp a b", "rev a", "tac a", "xxd a", "base64 -d a", "sha256sum a", "jq . a.json"),
    *(
        "jq -r '.a[] | select(.b)' a.json",
        "echo 'a b' -x",
        "printf '%s\\n' a b",
        "true || false",
        "test -f a.py",
    ),
    *(
        "test 1 -lt 2",
        "date +%Y",
        "uname -a",
        "which python3",
        "type ls",
        "command -v git",
        "whoami",
        "id -u",
    ),
    *(
        "basename a/b",
        "dirname a/b",
        "realpath a",
        "readlink a",
        "seq 1 5",
        "expr 1 + 2",
        "python3 --version",
    ),
    *("cd src && ls", "cd src && grep -n x a.py | head", "ls -l 2>/dev/null", "cat a 2>&1 | tail -3; pwd"),
    *("git log --oneline -5", "git log --format=%H -1", "git log main..HEAD -- src", "git branch -a"),
    *("git stash list", "git rev-parse --abbrev-ref HEAD", "git tag -l", "git ls-tree -r HEAD --name-only"),
    *(
        "git --no-pager log -3",
        "git describe --tags",
        "git merge-base main HEAD",
        "git cat-file -p HEAD:a.py",
    ),
)
ASKED = (
    # Paths that lead out of the tree, or to what is private in it.
    *("cat /etc/passwd", "cat ../a", "cat a/../../b", "ls /", "head ~/.ssh/id_rsa", "cat /proc/self/environ"),
    *(
        "cat .env",
        "cat config/.env.local",
        "head server.pem",
        "cat .git/config",
        "ls .git",
        "cat .GIT/config",
    ),
    *(
        "grep x /etc/passwd",
        "grep -r x ..",
        "rg x /",
        "find / -name a",
        "find .. -name a",
        "tr a b < /etc/passwd",
    ),
    *("cat .e*", "cat src/.e?v", "diff a /etc/passwd", "cd .. && ls", "cd / && ls", "cd && ls", "cd - && ls"),
    *(
        "cd src; ls",
        "cd src || ls",
        "cd src && ls; cat a",
        "cd src && git log",
        "git show HEAD:.env",
        "date -r ../a",
    ),
    *(
        "wc -l -- ../a",
        "cat -- /etc/passwd",
        "test -f /etc/passwd",
        "find . -newer /etc/passwd",
        "git log -- ../a",
    ),
    # Flags that write, run, follow links, or read a list of files; also shortened and joined.
    *(
        "sort -o a b",
        "sort -oa b",
        "sort -uoa b",
        "sort --output=a b",
        "sort --outp=a b",
        "sort --compress-prog=x",
    ),
    *("sort --files0-from=a", "wc --files0-from=a", "du --files0-from a", "sort -T /tmp a", "uniq a b"),
    *(
        "rg --pre x a",
        "rg --pre=x a",
        "rg -z a",
        "rg -L a",
        "rg -f list a",
        "rg --hostname-bin=x a",
        "grep -f p a",
    ),
    *("find . -exec ls ';'", "find . -delete", "find . -ok ls ';'", "find . -fprint a", "find -L . -name a"),
    *("find . -name *.py", "find . -execdir ls ';'", "find -files0-from a", "tree -o a", "tree -R -H . -L 1"),
    *("sed -i s/a/b/ a", "sed -n 'w b' a", "sed 1e a", "sed 's/a/b/e' a", "sed -f s a", "sed -n '1p;1w b' a"),
    *(
        "sed -n '/a/w b' a",
        "sed -n '/[/]w b/p' a",
        "sed --in-place p a",
        "sed -n -e p -e 'w b' a",
        "sed '1r /etc/passwd' a",
    ),
    *(
        "awk '{print > \"a\"}' a",
        "awk '{system(\"ls\")}' a",
        "awk -f p a",
        "awk 'BEGIN{getline < \"a\"}'",
        "gawk -i x p a",
    ),
    *(
        "jq -f p a",
        "jq 'import \"a\" as x; .' a",
        "jq env",
        "jq '$ENV' a",
        "jq -L . . a",
        "jq --rawfile a b . c",
    ),
    *(
        "date -s x",
        "date 01010000",
        "hostname x",
        "xxd a b",
        "xxd -r a",
        "file -C -m a",
        "file -f a",
        "tail -f a",
    ),
    *(
        "printf -v a b",
        "printf %n a",
        "test -v 'a[$(ls)]'",
        "command ls",
        "command -p ls",
        "type -x",
        "echo * -x; x",
    ),
    *("sort -[o] a", "sort *", "cut *", "ls --hyp", "ls --colo", "tac -x a", "less a", "more a"),
    # A glob where one word is meant: names of files become flags, more arguments, or a place to write to.
    *("uniq s*", "test -n *", "test a = *", "find . -name -*", "git symbolic-ref a*", "git tag --format a*"),
    *("printf a* PATH; ls", "sort -k a* b", "cmp a*"),
    # Flags that one program reads in another way than most: what looks like a value is a file or a flag.
    *("xxd -ic 5 a.py", "xxd -pl 5 a.py", "tree -Io a b", "tree -Pa b", "tree --sort -o a"),
    *("git log --format --output=a", "git branch --abbrev 7", "git log --since --output=a"),
    *("printf %1n PATH; ls", "printf %-5hhn PATH", "jq -n '$ ENV'", "git tag --format='%(*signature)'"),
    # Programs that run others, or anything.
    *(
        "env",
        "env ls",
        "nice ls",
        "nohup ls",
        "timeout 1 ls",
        "xargs ls",
        "ls | xargs rm",
        "sudo ls",
        "exec ls",
    ),
    *(
        "builtin ls",
        "busybox ls",
        "time ls",
        "stdbuf -o0 ls",
        "setsid ls",
        "chroot . ls",
        "watch ls",
        "eval ls",
    ),
    *(
        "bash -c ls",
        "sh -c ls",
        "echo ls | sh",
        "python3",
        "python3 a.py",
        "python3 -c 1",
        "echo 1 | python3",
    ),
    *(
        "node",
        "node a.js",
        "perl -e 1",
        "make",
        "make test",
        "npm test",
        "gcc a.c",
        "gcc --version @a",
        "ls; rm a",
    ),
    *(
        "tee a",
        "ls | tee a",
        "cp a b",
        "mv a b",
        "rm a",
        "touch a",
        "mkdir a",
        "dd of=a",
        "source a",
        ". a",
        "kill 1",
    ),
    *(
        "curl x",
        "ssh a",
        "ps aux",
        "alias a=b",
        "set -e",
        "trap ls EXIT",
        "read a",
        "export",
        "ulimit -c",
        "hash -r",
    ),
    # Variables before a command, whatever they are.
    *(
        "LD_PRELOAD=./l.so ls",
        "PATH=. ls",
        "GIT_DIR=x git log",
        "BASH_ENV=x ls",
        "IFS=x ls",
        "PS4=x ls",
        "A= ls",
    ),
    # git: what writes, runs, asks others, or shows contents by the repository's own drivers.
    *(
        "git",
        "git status",
        "git diff",
        "git show",
        "git log -p",
        "git blame a",
        "git grep x",
        "git st",
        "git commit",
    ),
    *(
        "git -c a.b=c log",
        "git -C sub log",
        "git --git-dir=x log",
        "git --exec-path=. log",
        "git -p log",
        "git add a",
    ),
    *(
        "git log --output=a",
        "git log --outpu=a",
        "git log --ext-diff",
        "git log --show-signature",
        "git log --format=%GG",
    ),
    *(
        "git branch new",
        "git branch -d a",
        "git branch -D a",
        "git tag new",
        "git tag -d a",
        "git stash",
        "git stash pop",
    ),
    *(
        "git remote -v",
        "git remote add a b",
        "git fetch",
        "git ls-remote",
        "git symbolic-ref HEAD x",
        "git reflog expire",
    ),
    *(
        "git archive -o a HEAD",
        "git bundle create a HEAD",
        "git config -l",
        "git worktree add a",
        "git checkout .",
    ),
)


@pytest.mark.parametrize("line", HARMLESS)
def test_what_only_looks_needs_no_question(line: str) -> None:
    assert decide(line).reason == ""


@pytest.mark.parametrize("line", ASKED)
def test_everything_else_is_asked_about_with_a_reason(line: str) -> None:
    decision = decide(line)
    assert not decision.allowed and decision.reason.endswith(".") and decision.reason[0].isupper()


def test_one_harmful_part_is_enough() -> None:
    for joint in (" && ", " || ", "; ", " | ", "\n"):
        assert not decide(f"ls{joint}touch a").allowed
        assert not decide(f"touch a{joint}ls").allowed
        assert decide(f"ls{joint}pwd").allowed


def test_git_looks_at_contents_where_the_settings_are_known_to_be_harmless() -> None:
    lines = (
        "git status",
        "git diff --stat",
        "git diff HEAD~1 -- src",
        "git show HEAD",
        "git blame a.py",
        "git log -p",
    )
    for line in lines:
        assert decide(line, TRUSTING).allowed and not decide(line).allowed
    for line in ("git diff --ext-diff", "git diff --output=a", "git diff --no-index / a", "git grep -O x"):
        assert not decide(line, TRUSTING).allowed


class Disk:
    """Notes what is looked at; `against` has the answers."""

    def __init__(self, **against: str) -> None:
        self.against, self.seen = against, list[Read]()

    def read(self, read: Read) -> str:
        self.seen.append(read)
        return self.against.get("read", "")

    def settings(self) -> str:
        return self.against.get("settings", "")


def test_every_path_is_looked_at_where_somebody_can_look() -> None:
    disk = Disk()
    assert decide("cd src && cat a b/*.py | grep -r x < c | rg y", disk).allowed
    assert disk.seen == [
        Read("src"),
        Read("src/a"),
        Read("src/b/*.py", glob=True),
        Read("src", below="all"),
        Read("src/c"),
    ]
    disk = Disk()
    assert decide("rg y; grep -r x src; rg --hidden z src; find src; git diff -- a", disk).allowed
    assert disk.seen == [
        Read(".", below="seen"),
        Read("src", below="all"),
        Read("src", below="all"),
        Read("src"),
        Read("a"),
    ]
    disk = Disk()
    for line in (
        "git grep --untracked x",
        "git grep --untracked x '.e*'",
        "git grep --untracked x ':(top)a'",
    ):
        assert decide(line, disk).allowed
    assert disk.seen == [Read(".", below="all")] * 3
    assert not decide("cd a && ls", Disk(read="a is a link")).allowed
    assert not decide("cat a", Disk(read="a is a link")).allowed
    assert not decide("git log", Disk(settings="it runs x")).allowed
    assert decide("cat a", Disk(settings="it runs x")).allowed


def test_the_tables_are_well_formed() -> None:
    for line in (*PROGRAMS.values(), *HISTORY.values(), *CONTENTS.values()):
        usage = read_usage(line)
        kinds = {flag.kind for flag in usage.flags.values() if flag.kind} | set(usage.kinds)
        for kind in kinds:
            fault_of(kind, Word("a"))
        assert all(name.startswith("-") and len(name) > 1 for name in usage.flags)
