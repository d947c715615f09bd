"""Add the options of this feature's commands."""

import argparse

from kith.terminal.options import add_folder, add_offline


def pull(parser: argparse.ArgumentParser) -> None:
    add_folder(parser)
    add = parser.add_argument
    add("name", metavar="REPO[:QUANT]", help="such as Qwen/Qwen3-8B-GGUF:Q4_K_M, or ollama/qwen3:8b")
    add("--force", action="store_true", help="ignore the memory limit")
    add_offline(parser)


def engine(parser: argparse.ArgumentParser) -> None:
    add_folder(parser)
    what = "show what runs (the default), or stop it"
    parser.add_argument("action", nargs="?", choices=("status", "stop"), default="status", help=what)
