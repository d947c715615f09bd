"""What git may be asked for without a question: commands that only look, with those of their flags.

The lines of usage are those of `programs.py`. Some commands show history alone; others read the working tree
or the contents of files, for which a repository's own settings may name programs (filters, drivers, a file
system monitor), so they also need a look at these settings. Sources: the manuals of git 2.39.
"""

from typing import Final

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
