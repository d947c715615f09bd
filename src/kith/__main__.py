"""The entry point: `--version` answers before anything else is imported."""

import sys


def main() -> int:
    if sys.argv[1:] in (["--version"], ["-V"]):
        from kith import __version__

        print(f"kith {__version__}")
        return 0
    import gc

    from kith.cli import main as run

    code = run(sys.argv[1:])
    # Nothing has to be collected any more: looking through all that was loaded takes a tenth of a second.
    gc.freeze()
    gc.disable()
    return code


if __name__ == "__main__":
    sys.exit(main())
