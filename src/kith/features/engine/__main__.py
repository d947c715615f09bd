"""`python -m kith.features.engine keep FOLDER SPEC`, and `run FLAGS`: the two processes behind an engine."""

import sys


def main(words: list[str]) -> None:
    """Keep an engine, or be one. kith starts both itself; nobody else needs to."""
    verb, *rest = words
    if verb == "run":
        from kith.features.engine.run import run_engine

        run_engine(rest)
    else:
        from kith.features.engine.keeper import keep

        keep(*rest)


if __name__ == "__main__":
    main(sys.argv[1:])
