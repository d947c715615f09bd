"""Stand-in model servers: the real wire formats, errors and slowness included, played from a script."""

from kith.features.demo.standin.http import Request
from kith.features.demo.standin.server import Server, serve

__all__ = ["Request", "Server", "serve"]
