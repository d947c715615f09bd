"""Read the user's settings: defaults, user file, project file, environment, flags, in this order."""

from kith.settings.brought import Brought
from kith.settings.files import find_folders
from kith.settings.read import (
    describe_server,
    describe_settings,
    load_settings,
    read_brought,
    unknown_variables,
)
from kith.settings.values import (
    Building,
    Hook,
    NamedEndpoint,
    Routing,
    Settings,
    ToolServer,
)

__all__ = [
    "Brought",
    "Building",
    "Hook",
    "NamedEndpoint",
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
