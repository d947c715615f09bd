"""`kith runtime`: a model of this machine for others, in kith's roles."""

import argparse
import os
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from kith.agent.project import Project
from kith.core.errors import EXIT_DONE, UsageError
from kith.core.event_loop import run_loop
from kith.features.web.listen import LOOPBACK, ListenAddress, given_token, is_loopback, listen
from kith.features.web.tokens import new_token
from kith.settings.features import check_extra
from kith.terminal.options import settings_flags
from kith.view.lines import wrapped
from kith.view.printing import printable

TOKEN: Final = "KITH_RUNTIME_TOKEN"


def runtime_command(args: argparse.Namespace) -> int:
    """Serve one model until Ctrl-C; answers in progress are finished first."""
    check_extra("web", "kith runtime")
    from kith.features.gateway.request_queue import RequestQueue
    from kith.features.gateway.runtime import ServedModel, run_runtime
    from kith.features.web.server import LAST_S

    given = given_token(args, os.environ, TOKEN)
    token = given or new_token()
    # No project is worked on: an empty folder stands for it, and no project's settings are read.
    with (
        TemporaryDirectory(prefix="kith-runtime-") as folder,
        listen(args.host or LOOPBACK, args.port) as door,
    ):
        flags = {**settings_flags(args), "max_task_seconds": args.max_seconds}
        project = Project.open(Path(folder), flags)
        if project.settings.is_routed:
            raise UsageError("kith runtime serves one model; name it with -m.")
        place = ListenAddress(args.host or LOOPBACK, door.getsockname()[1], tuple(args.allowed_host or ()))
        _say_hello(place, token, chosen=bool(given))
        served = ServedModel(
            project, project.settings.model, args.parallel, args.longest, RequestQueue(args.queue)
        )
        run_loop(run_runtime(served, door, place, token), LAST_S)
    print("Stopped.", file=sys.stderr)
    return EXIT_DONE


def _say_hello(place: ListenAddress, token: str, *, chosen: bool) -> None:
    """Print the address, and the settings for another kith."""

    def say(line: str) -> None:
        print(wrapped(printable(line), sys.stdout), flush=True)

    print(f"{place.url}  (token: {'as given' if chosen else token})", flush=True)
    say("Another kith asks it as -m box/role/NAME, with this in its config.toml and the token in BOX_KEY:")
    print(f'  [endpoints.box]\n  url = "{place.url}"\n  key_env = "BOX_KEY"', flush=True)
    if not is_loopback(place.host):
        say(f"Other machines reach {place.host} without encryption; see docs/serve.md for TLS.")
