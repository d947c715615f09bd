"""The entry point: `--version` answers before anything else is imported."""

import gc
import sys

from kith import __version__


def main() -> int:
    if sys.argv[1:] in (["--version"], ["-V"]):
        print(f"kith {__version__}")
        return 0
    from kith.cli import main as run

    code = run(sys.argv[1:])
    # Nothing has to be collected any more: looking through all that was loaded takes a tenth of a second.
    gc.freeze()
    gc.disable()
    return code


if __name__ == "__main__":
    sys.exit(main())
