#!/bin/sh
# Let two models confer about a question; nothing is changed: `sh confer.sh MODEL MODEL "QUESTION"`.
# stdout has the decision and how it was made.
set -eu
kith confer --json --models "$1,$2" "$3" |
    python3 -c 'import json, sys; told = json.load(sys.stdin); print(told["by"]); print(told["decision"])'
