"""What each command takes: its options, one function for each command, by what the commands are about."""

from kith.faces.arguments.options import FORMATS as FORMATS
from kith.faces.arguments.options import settings_flags as settings_flags
