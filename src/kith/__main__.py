"""The entry point: `--version` answers before anything else is imported."""

import gc
import sys

from kith import __version__


def main() -> int:
    if sys.argv[1:] in (["--version"], ["-V"]):
        print(f"kith {__version__}")
        return 0
    try:
        from kith.cli import main as run
    except KeyboardInterrupt:  # nothing that could say it better is loaded yet
        sys.stderr.write("kith: interrupted\n")
        return 130

    code = run(sys.argv[1:])
    # Nothing has to be collected any more: looking through all that was loaded takes a tenth of a second.
    gc.freeze()
    gc.disable()
    return code


if __name__ == "__main__":
    sys.exit(main())
