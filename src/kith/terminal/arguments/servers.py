"""What the commands take that serve others, and that ask a server."""

import argparse


def parts(parser: argparse.ArgumentParser) -> None:
    """Of a command that only its parts do anything for."""
    parser.set_defaults(whole=parser.prog.removeprefix("kith "))
