"""The programs that only look, each with those of its flags and arguments that cannot do anything else.

A line of usage holds flags, a colon, and what may stand beside them:

    -abc         short flags without a value, which may also stand together
    -n=NUMBER    a flag with a value of a kind (`kinds.py` knows them), behind it or in the next word
    --width[=NUMBER]   a value only behind `=`
    -#           a number as a flag (-20)
    -e=TEXT^     a flag that takes the place of the first argument
    -I=TEXT>     a flag whose value is always the next word, whatever stands behind it
    -V!          a flag without which the program does something else
    +, ++        all that is below its folders is read: what is not hidden, or everything
    -r+          with this flag, everything
    ~            no flag of this program does anything else, so a bare `*` cannot stand for a harmful one
    PATH*        any number of this kind

Only whole names of long flags count: an abbreviation is asked about. What runs something (`--pre`, `-exec`),
writes (`-o`), reads a list of files, follows links, or never ends is left out. Sources: the manuals of GNU
coreutils, findutils, grep, sed and diffutils, of ripgrep, file, tree and jq.
"""

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
