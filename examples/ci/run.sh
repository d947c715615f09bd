#!/bin/sh
# Let kith fix a failing check in CI, and leave the change as a patch: `sh run.sh "CHECK" > fix.patch`.
# KITH_MODEL names the model. The exit code is that of `kith run`: 0 only if the check passes afterwards.
set -eu
sh -c "$1" >&2 && exit 0
kith run --yes --check "$1" "Fix the code so that this passes: $1" >&2
git diff
