#!/bin/sh
# Ask about the last commit: the answer goes to stdout, progress to stderr, nothing is changed.
set -eu
git show HEAD | kith run --read-only "Review this commit: what could break? Three sentences."
