"""`python -m kith.features.engine keep FOLDER SPEC`, and `run FLAGS`: the two processes behind an engine."""

import sys

from kith.features.engine.keeper import keep
from kith.features.engine.wheel import run_engine


def main(words: list[str]) -> None:
    """Keep an engine, or be one. kith starts both itself; nobody else needs to."""
    verb, *rest = words
    if verb == "run":
        run_engine(rest)
    else:
        keep(*rest)


if __name__ == "__main__":
    main(sys.argv[1:])
