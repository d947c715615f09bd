"""What the user chose: defaults, then the user's file, the project's file, the environment, the flags."""

from kith.settings.read import find_folders, load_settings
from kith.settings.show import describe_settings
from kith.settings.values import Building, Coaching, Conferring, Endpoint, Engine, Routing, Settings

__all__ = [
    "Building",
    "Coaching",
    "Conferring",
    "Endpoint",
    "Engine",
    "Routing",
    "Settings",
    "describe_settings",
    "find_folders",
    "load_settings",
]
