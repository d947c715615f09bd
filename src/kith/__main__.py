"""The entry point: `--version` answers before anything else is imported."""

import sys


def main() -> int:
    if sys.argv[1:] in (["--version"], ["-V"]):
        from kith import __version__

        print(f"kith {__version__}")
        return 0
    from kith.faces.cli import main as run

    return run(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
