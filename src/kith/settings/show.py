"""Settings for people: each key, its value in words, and where it came from."""

import re
import shlex
from typing import Any

from kith.settings.check import KEYS, keys_in_tables
from kith.settings.values import Settings, ToolServer

_PASSWORD = re.compile(r"(^|//)[^/@\s]*:[^/@\s]*@")  # of an address
_KEY = re.compile(r"(?i)((?:key|token|secret|passw\w*)=).+")
_QUERY = re.compile(r"^(https?://[^\s?#]*)[?#]\S+")


def describe_settings(settings: Settings) -> list[tuple[str, str, str]]:
    """Each key, its value in words ("-": nobody chose), and where it came from; secrets are not shown."""
    values = {key: getattr(settings, key) for key in KEYS} | {"window": settings.window or None}
    rows = [(key, _show(value), settings.origin.get(key, "default")) for key, value in values.items()]
    for key in keys_in_tables():
        table, _, name = key.partition(".")
        value = getattr(
            settings.sections[table] if table in settings.sections else getattr(settings, table), name
        )
        rows.append((key, _show(value), settings.origin.get(key, "default")))
    for name, endpoint in settings.endpoints.items():
        rows.append(
            (f"endpoints.{name}", _show(f"{endpoint.kind} {endpoint.url}"), settings.origin["endpoints"])
        )
    for name, members in settings.pools.items():
        rows.append((f"pools.{name}", _show(members), settings.origin["pools"]))
    for name, server in settings.mcp.items():
        off = " (off)" if server.off else ""
        rows.append((f"mcp.{name}", describe_server(server) + off, settings.origin["mcp"]))
    for hook in settings.hooks:
        about = f" ({', '.join(hook.tool)})" if hook.tool != ("*",) else ""
        rows.append(("hooks", f"{hook.on}{about}: {hook.command}", hook.place))
    for name, command in settings.gates.items():
        rows.append((f"gates.{name}", command, settings.origin["gates"]))
    return rows


def describe_server(server: ToolServer) -> str:
    """Where a server of tools is; keys in its address or its command are not shown."""
    words = [_KEY.sub(r"\1***", word) for word in server.command]
    return _show(server.url or shlex.join(words))


def _show(value: Any) -> str:
    if value is None or value in ((), ""):
        return "-"
    if isinstance(value, tuple):
        return ", ".join(map(str, value))
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return f"{value:g}"
    return _QUERY.sub(r"\1?***", _PASSWORD.sub(r"\1***@", str(value)))
