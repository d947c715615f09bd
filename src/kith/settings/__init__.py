"""What the user chose: defaults, then the user's file, the project's file, the environment, the flags."""

from kith.settings.brought import Brought
from kith.settings.read import find_folders, load_settings, read_brought, unknown_variables
from kith.settings.show import describe_server, describe_settings
from kith.settings.values import (
    Building,
    Coaching,
    Conferring,
    Endpoint,
    Engine,
    Hook,
    Routing,
    Settings,
    ToolServer,
)

__all__ = [
    "Brought",
    "Building",
    "Coaching",
    "Conferring",
    "Endpoint",
    "Engine",
    "Hook",
    "Routing",
    "Settings",
    "ToolServer",
    "describe_server",
    "describe_settings",
    "find_folders",
    "load_settings",
    "read_brought",
    "unknown_variables",
]
