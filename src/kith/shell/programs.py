"""The programs that only look, git's among them, each with the flags and arguments that are safe."""

from typing import Final

_GREP: Final = """
~ -nivcloLwxhHqsEFGPaIbTzZy -r+ -R+ -e=TEXT^ -A=NUMBER -B=NUMBER -C=NUMBER -m=NUMBER -#
--regexp=TEXT^ --recursive+ --dereference-recursive+ --line-number --ignore-case --no-ignore-case
--invert-match --count --files-with-matches --files-without-match --only-matching --word-regexp
--line-regexp --no-filename --with-filename --quiet --silent --no-messages --extended-regexp
--fixed-strings --basic-regexp --perl-regexp --text --byte-offset --initial-tab --null --null-data
--after-context=NUMBER --before-context=NUMBER --context=NUMBER --max-count=NUMBER --include=TEXT
--exclude=TEXT --exclude-dir=TEXT --color[=WORD] --colour[=WORD] --line-buffered --binary-files=WORD
--label=TEXT
: TEXT PATH*
"""
_SUMS: Final = "~ -bt --tag --binary --text : PATH*"

PROGRAMS: Final = {
    # --- files and folders
    "ls": """
~ -aAbBcCdfFgGhiklmnNopqQrRsStuUvxXZ1 -I=TEXT -w=NUMBER --all --almost-all --author --escape
--block-size=WORD --ignore-backups --color[=WORD] --directory --classify[=WORD] --file-type --format=WORD
--full-time --group-directories-first --no-group --human-readable --si --hide=TEXT --indicator-style=WORD
--inode --ignore=TEXT --kibibytes --numeric-uid-gid --literal --hide-control-chars --show-control-chars
--quote-name --quoting-style=WORD --reverse --recursive --size --sort=WORD --time=WORD --time-style=FORMAT
--width=NUMBER --context --zero : PATH*
""",
    "cat": """
~ -AbeEnstTuv --show-all --number-nonblank --show-ends --number --squeeze-blank --show-tabs
--show-nonprinting : PATH*
""",
    "tac": "-br -s=TEXT --before --regex --separator=TEXT : PATH*",
    "head": "~ -n=NUMBER -c=NUMBER -qvz -# --lines=NUMBER --bytes=NUMBER --quiet --silent --verbose : PATH*",
    "tail": "~ -n=NUMBER -c=NUMBER -qvz -# --lines=NUMBER --bytes=NUMBER --quiet --silent --verbose : PATH*",
    "wc": "~ -clmLw --bytes --chars --lines --words --max-line-length : PATH*",
    "nl": """
-p -b=TEXT -d=TEXT -f=TEXT -h=TEXT -i=NUMBER -l=NUMBER -n=WORD -s=TEXT -v=NUMBER -w=NUMBER
--body-numbering=TEXT --number-format=WORD --number-separator=TEXT --number-width=NUMBER : PATH*
""",
    "stat": "-ft -c=TEXT --format=TEXT --printf=TEXT --terse --file-system : PATH*",
    "file": "-bhikNr --brief --mime --mime-type --mime-encoding --extension --keep-going --raw : PATH*",
    "du": """
-abchkmsSx0 -d=NUMBER -B=WORD --all --bytes --total --human-readable --summarize --si --apparent-size
--max-depth=NUMBER --exclude=TEXT --time[=WORD] --inodes --separate-dirs --one-file-system : PATH*
""",
    "df": "-ahHiklPT -B=WORD --all --human-readable --inodes --print-type --total --local : PATH*",
    "tree": """
-adfigpsuhDFqNQAnCrtcUvJX -L=NUMBER -I=TEXT> -P=TEXT> --dirsfirst --noreport --du --si --prune --gitignore
--filelimit=NUMBER --charset=WORD --matchdirs --ignore-case --inodes --device --sort=WORD : PATH*
""",
    "readlink": "-nqsvz -f -e -m --canonicalize --no-newline : PATH*",
    "realpath": "-emqszLP --canonicalize-existing --canonicalize-missing --quiet --zero : PATH*",
    "basename": "-az -s=TEXT --multiple --suffix=TEXT --zero : TEXT*",
    "dirname": "-z --zero : TEXT*",
    # --- searching
    "grep": _GREP,
    "egrep": _GREP,
    "fgrep": _GREP,
    "rg": """
+ -nNiSsvwxcloFUPaqHI0p -e=TEXT^ -g=TEXT -t=WORD -T=WORD -A=NUMBER -B=NUMBER -C=NUMBER -m=NUMBER
-d=NUMBER -M=NUMBER -j=NUMBER -E=WORD -r=TEXT -u+ -uu+
--regexp=TEXT^ --line-number --no-line-number --ignore-case --smart-case --case-sensitive --invert-match
--word-regexp --line-regexp --count --count-matches --files-with-matches --files-without-match
--only-matching --fixed-strings --multiline --multiline-dotall --pcre2 --text --quiet --with-filename
--no-filename --glob=TEXT --iglob=TEXT --type=WORD --type-not=WORD --type-list^ --after-context=NUMBER
--before-context=NUMBER --context=NUMBER --max-count=NUMBER --max-depth=NUMBER --max-columns=NUMBER
--max-filesize=WORD --threads=NUMBER --replace=TEXT --heading --no-heading --color=WORD --column
--no-column --byte-offset --trim --json --stats --files^ --sort=WORD --sortr=WORD --vimgrep --pretty --null
--hidden+ --no-hidden --no-ignore+ --no-ignore-vcs+ --no-messages --no-config --passthru --crlf
--encoding=WORD --glob-case-insensitive --one-file-system --unrestricted+
: TEXT PATH*
""",
    # --- text
    "sed": """
-nErsuz -e=SED^ --quiet --silent --expression=SED^ --regexp-extended --null-data --separate : SED PATH*
""",
    "awk": "-F=TEXT : AWK PATH*",
    "gawk": "-F=TEXT : AWK PATH*",
    "mawk": "-F=TEXT : AWK PATH*",
    "sort": """
-bdfghiMnRrVcCmsuz -k=TEXT -t=TEXT --ignore-leading-blanks --dictionary-order --ignore-case
--general-numeric-sort --human-numeric-sort --month-sort --numeric-sort --random-sort --reverse
--version-sort --check --key=TEXT --merge --stable --field-separator=TEXT --unique --zero-terminated
--sort=WORD : PATH*
""",
    "uniq": """
-cdDiuz -f=NUMBER -s=NUMBER -w=NUMBER --count --repeated --all-repeated[=WORD] --group[=WORD]
--ignore-case --unique --skip-fields=NUMBER --skip-chars=NUMBER --check-chars=NUMBER : PATH
""",
    "cut": """
-nsz -b=TEXT -c=TEXT -d=TEXT -f=TEXT --bytes=TEXT --characters=TEXT --delimiter=TEXT --fields=TEXT
--complement --only-delimited --output-delimiter=TEXT : PATH*
""",
    "tr": "-cCdst --complement --delete --squeeze-repeats --truncate-set1 : TEXT TEXT",
    "rev": ": PATH*",
    "fold": "-bs -w=NUMBER --width=NUMBER --spaces --bytes : PATH*",
    "fmt": "-cstu -w=NUMBER --width=NUMBER : PATH*",
    "expand": "-i -t=TEXT --initial --tabs=TEXT : PATH*",
    "unexpand": "-a -t=TEXT --all --tabs=TEXT : PATH*",
    "column": "-tx -s=TEXT -o=TEXT -N=TEXT --table --separator=TEXT : PATH*",
    "paste": "-sz -d=TEXT --serial --delimiters=TEXT : PATH*",
    "comm": "-123z --check-order --nocheck-order --output-delimiter=TEXT --total : PATH PATH",
    "join": """
-i -1=NUMBER -2=NUMBER -a=NUMBER -e=TEXT -j=NUMBER -o=TEXT -t=TEXT -v=NUMBER --header : PATH PATH
""",
    "diff": """
++ -abBcdeEinNpqstTuwyZ -U=NUMBER -C=NUMBER -I=TEXT -W=NUMBER -r --unified[=NUMBER] --context[=NUMBER]
--brief --side-by-side --report-identical-files --recursive --ignore-case --ignore-all-space
--ignore-space-change --ignore-blank-lines --ignore-tab-expansion --ignore-trailing-space --text
--strip-trailing-cr --color[=WORD] --minimal --new-file --width=NUMBER --suppress-common-lines
--no-dereference --exclude=TEXT --show-c-function --normal : PATH PATH
""",
    "cmp": """
-bls -i=TEXT -n=NUMBER --bytes=NUMBER --print-bytes --verbose --quiet --silent : PATH PATH NUMBER NUMBER
""",
    "od": "-abcdfilosxv -A=WORD -j=NUMBER -N=NUMBER -t=WORD -w=NUMBER : PATH*",
    "hexdump": "-bcCdovx -n=NUMBER -s=NUMBER : PATH*",
    "xxd": "-c=NUMBER -g=NUMBER -l=NUMBER -s=NUMBER : PATH",
    "base64": "-di -w=NUMBER --decode --ignore-garbage --wrap=NUMBER : PATH",
    "base32": "-di -w=NUMBER --decode --wrap=NUMBER : PATH",
    "md5sum": _SUMS,
    "sha1sum": _SUMS,
    "sha256sum": _SUMS,
    "sha512sum": _SUMS,
    "cksum": ": PATH*",
    "jq": """
-cCMrjaSsenR --compact-output --raw-output --join-output --ascii-output --sort-keys --slurp --exit-status
--null-input --raw-input --color-output --monochrome-output --tab --indent=NUMBER : JQ PATH*
""",
    # --- the shell's own, and small ones
    "echo": ": ANY*",
    "printf": ": FORMAT ANY*",
    "true": ": ANY*",
    "false": ": ANY*",
    ":": ": ANY*",
    "pwd": "-LP :",
    "expr": ": ANY*",
    "seq": "-w -f=TEXT -s=TEXT --separator=TEXT --equal-width : FIGURE FIGURE FIGURE",
    "numfmt": """
-d=TEXT --from=WORD --to=WORD --field=TEXT --padding=NUMBER --suffix=TEXT --format=TEXT : TEXT*
""",
    "type": "-apPt : NAME*",
    "which": "-a --all : NAME*",
    "command": "-v! -V! : NAME*",
    "whoami": ":",
    "id": "-Ggnru : NAME",
    "groups": ":",
    "uname": "-amnoprsvi --all --kernel-name --kernel-release --machine --operating-system :",
    "arch": ":",
    "nproc": "--all :",
    "hostname": "-s --short :",
    "uptime": "-ps :",
    "free": "-bkmghtwl --human --mebi --gibi --total :",
    "date": """
-uIR -d=TEXT -r=PATH --utc --universal --date=TEXT --reference=PATH --iso-8601[=WORD] --rfc-3339=WORD
--rfc-email : DATE
""",
    "cal": ": FIGURE FIGURE",
    "python": "-V! --version! :",
    "python3": "-V! --version! :",
    "node": "-v! --version! :",
    "gcc": "--version! -dumpversion! -dumpmachine! :",
    "g++": "--version! -dumpversion! :",
    "cc": "--version! :",
    "c++": "--version! :",
    "clang": "--version! :",
    "make": "--version! -v! :",
    "cmake": "--version! :",
    "ninja": "--version! :",
    "bash": "--version! :",
}


# What git may be asked for without a question: commands that only look, with those of their flags.

_COMMITS: Final = """
-n=NUMBER -# -iEFPqz --oneline --graph --decorate[=WORD] --no-decorate --all --branches[=TEXT] --tags[=TEXT]
--remotes[=TEXT] --max-count=NUMBER --skip=NUMBER --since=TEXT --until=TEXT --after=TEXT --before=TEXT
--author=TEXT --committer=TEXT --grep=TEXT --all-match --invert-grep --merges --no-merges --first-parent
--reverse --date=FORMAT --date-order --topo-order --author-date-order --format[=PRETTY] --pretty[=PRETTY]
--abbrev-commit --no-abbrev-commit --abbrev[=NUMBER] --relative-date --parents --children --boundary
--left-right --cherry-pick --cherry-mark --full-history --simplify-merges --ancestry-path --source
--no-walk[=WORD] --color[=WORD] --no-color --regexp-ignore-case --extended-regexp --fixed-strings
--perl-regexp --follow --count
"""
_NAMES: Final = """
--stat[=TEXT] --shortstat --numstat --dirstat[=TEXT] --summary --compact-summary --name-only --name-status
--diff-filter=WORD --no-renames
"""
_CONTENTS: Final = """
-puwbsaR -U=NUMBER -M -C --patch --no-patch --unified=NUMBER --raw --patch-with-stat --word-diff[=WORD]
--word-diff-regex=TEXT --color-words[=TEXT] --color-moved[=WORD] --ignore-all-space --ignore-space-change
--ignore-space-at-eol --ignore-blank-lines --minimal --patience --histogram --diff-algorithm=WORD
--find-renames[=TEXT] --find-copies[=TEXT] --function-context --no-ext-diff --no-textconv --check --full-index
--binary --text --exit-code --quiet --no-prefix --inter-hunk-context=NUMBER -S=TEXT -G=TEXT
--pickaxe-regex --pickaxe-all
"""

# These show what is committed, and names.
HISTORY: Final = {
    "log": f"{_COMMITS} {_NAMES} : REV*",
    "rev-list": f"{_COMMITS} --objects : REV*",
    "shortlog": "-sne --summary --numbered --email --all --since=TEXT --until=TEXT --no-merges : REV REV*",
    "reflog": f"{_COMMITS} :",
    "branch": """
-avr -vv --all --verbose --remotes --list --show-current --contains=REV --no-contains=REV --merged[=REV]
--no-merged[=REV] --points-at=REV --sort=WORD --format=PRETTY --color[=WORD] --no-color --no-column
--ignore-case --abbrev[=NUMBER] :
""",
    "tag": """
-l -n -i --list --sort=WORD --format=PRETTY --contains=REV --no-contains=REV --merged[=REV] --points-at=REV
--column[=WORD] --no-column --color[=WORD] --ignore-case :
""",
    "remote": ":",  # with -v it shows addresses, which may hold a password
    "stash list": f"{_COMMITS} :",
    "worktree list": "-v --porcelain :",
    "rev-parse": """
-q --show-toplevel --git-dir --absolute-git-dir --git-common-dir --show-prefix --show-cdup
--is-inside-work-tree --is-inside-git-dir --is-bare-repository --is-shallow-repository --abbrev-ref[=WORD]
--short[=NUMBER] --verify --symbolic --symbolic-full-name --quiet --all --branches --tags --remotes : REV*
""",
    "describe": "--tags --always --long --all --exact-match --abbrev[=NUMBER] --match=TEXT --contains : REV*",
    "merge-base": "-a --all --octopus --is-ancestor --fork-point : REV*",
    "name-rev": "--tags --name-only --always : REV*",
    "symbolic-ref": "-q --short --quiet : REV",
    "for-each-ref": "--count=NUMBER --sort=WORD --format=PRETTY --contains=REV --merged[=REV] : TEXT*",
    "show-ref": "-dhqs --heads --tags --hash[=NUMBER] --verify --dereference --quiet : REV*",
    "ls-tree": "-drtlz --name-only --name-status --long --full-name --full-tree --abbrev[=NUMBER] : REV*",
    "cat-file": "-ptse : REV REV",
    "count-objects": "-vH --verbose --human-readable :",
    "version": "--build-options :",
}

# These read the working tree, or contents through the drivers that attributes name.
CONTENTS: Final = {
    "status": """
-sbuzv -uno -uall -unormal -sb --short --branch --porcelain[=WORD] --long --verbose --show-stash
--untracked-files[=WORD] --ignored[=WORD] --ignore-submodules[=WORD] --column[=WORD] --no-column
--ahead-behind --no-ahead-behind --renames --no-renames : TRACKED*
""",
    "diff": f"{_CONTENTS} {_NAMES} --cached --staged --merge-base --color[=WORD] --no-color -z : REV*",
    "show": f"{_CONTENTS} {_NAMES} {_COMMITS} : REV*",
    "log": f"{_CONTENTS} {_NAMES} {_COMMITS} -L=TEXT : REV*",
    "whatchanged": f"{_CONTENTS} {_NAMES} {_COMMITS} : REV*",
    "stash show": f"{_CONTENTS} {_NAMES} -u --include-untracked : REV",
    "diff-tree": f"{_CONTENTS} {_NAMES} -rtcm --root --no-commit-id : REV*",
    "blame": """
-L=TEXT -wMCcflntsep --date=FORMAT --porcelain --line-porcelain --show-name --show-number --show-email
--abbrev[=NUMBER] --root --no-color : REV*
""",
    "annotate": "-L=TEXT -wlts : REV*",
    "ls-files": """
-cmodstukzv --cached --modified --others --deleted --stage --unmerged --killed --exclude-standard --full-name
--error-unmatch --directory --no-empty-directory --abbrev[=NUMBER] -x=TEXT --exclude=TEXT : TRACKED*
""",
    "grep": """
+ -aivwcnlLhHoqzEFGPpW -e=TEXT^ -A=NUMBER -B=NUMBER -C=NUMBER -m=NUMBER --ignore-case --word-regexp
--invert-match --extended-regexp --basic-regexp --fixed-strings --perl-regexp --line-number --column --count
--files-with-matches --name-only --files-without-match --only-matching --heading --break --show-function
--function-context --context=NUMBER --after-context=NUMBER --before-context=NUMBER --max-depth=NUMBER
--cached --untracked+ --all-match --color[=WORD] --no-color --quiet --and --or --not : TEXT REV*
""",
    "describe": "--tags --always --long --dirty[=WORD] --abbrev[=NUMBER] --match=TEXT : REV*",
    "check-ignore": "-vqn --verbose --quiet --non-matching --no-index : TRACKED*",
}
