#!/bin/sh
# Try LOCAL first, and OTHER only if the check fails: `sh route.sh LOCAL OTHER "TASK" "CHECK"`.
# For good, set route.local and route.frontier; `kith why` shows the route and its result.
set -eu
export KITH_ROUTE_LOCAL="$1" KITH_ROUTE_FRONTIER="$2"
kith run --yes -m route --check "$4" "$3"
