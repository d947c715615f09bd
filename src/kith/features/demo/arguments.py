"""Add the options of this feature's commands."""

import argparse


def demo(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("-m", "--model", metavar="NAME", help="run it live, with this model")
    parser.add_argument("--keep", action="store_true", help="keep the demo's folder to play with")
