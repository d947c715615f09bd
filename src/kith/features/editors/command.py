"""`kith acp`: speak the Agent Client Protocol with the editor that started this process."""

import argparse
import sys
from typing import Any, cast

from kith.core.errors import EXIT_DONE, UsageError
from kith.core.event_loop import run_until_signal
from kith.settings.features import check_extra
from kith.terminal.options import settings_flags

_NO_EDITOR = "kith acp is started by an editor and speaks with it through pipes; docs/editors.md says how."


def acp_command(args: argparse.Namespace) -> int:
    """Serve one editor until it leaves. Raises UsageError where there is none."""
    check_extra("acp", "kith acp")
    if sys.stdin.isatty():
        raise UsageError(_NO_EDITOR)
    run_until_signal(_serve(args))
    return EXIT_DONE


async def _serve(args: argparse.Namespace) -> None:
    from kith.features.editors.wire import open_wire

    try:
        wire = await open_wire()
    except ValueError as error:
        raise UsageError(_NO_EDITOR) from error
    from acp.agent.connection import AgentSideConnection

    from kith.features.editors.agent import Editor

    editor = Editor(settings_flags(args), wire)
    # Resuming and closing a session are stable by now; the package still files them under "unstable".
    connection = AgentSideConnection(cast(Any, editor), wire, listening=False, use_unstable_protocol=True)
    try:
        await connection.listen()
    finally:
        await connection.close()
        await editor.close()
