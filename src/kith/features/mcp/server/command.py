"""`kith mcp`: the server on standard input and output, for one project."""

import argparse
import sys

from kith.core.errors import EXIT_DONE
from kith.terminal.arguments import settings_flags
from kith.terminal.extras import check_extra
from kith.terminal.folder import find_root


def mcp_command(args: argparse.Namespace) -> int:
    """Serve until the client closes standard input."""
    check_extra("mcp", "kith mcp")
    from kith.features.mcp.server.calls import Attendant
    from kith.features.mcp.server.server import make_server
    from kith.features.mcp.server.tools import Offered
    from kith.features.web.desk import open_desk

    if sys.stdin.isatty():
        print("kith: this is for agents, which start it themselves; see docs/mcp.md.", file=sys.stderr)
    flags = {name: value for name, value in settings_flags(args).items() if value is not None}
    desk = open_desk([find_root(args.folder)], flags)
    attendant = Attendant(desk, float(args.patience), forms=not args.no_forms)
    make_server(Offered(desk.first, attendant), attendant.patience_s).run("stdio")
    return EXIT_DONE
