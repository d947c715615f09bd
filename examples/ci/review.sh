#!/bin/sh
# Review a branch in CI: exit code 1 fails the job when a finding is an error.
# `sh review.sh BASE [OPTIONS OF kith review]`; --no-model needs no model server.
set -eu
base=$1
shift
code=0
kith review --branch "$base" --fail-on error --sarif "$@" > review.sarif || code=$?
case $code in
    0) echo "No finding is an error." ;;
    1) echo "A finding is an error: see review.sarif." ;;
    4 | 5 | 75) echo "The model did not answer (exit code $code)." ;; # say it, and let the job fail
    *) echo "kith review failed (exit code $code)." ;;
esac
exit "$code"
