"""What each command takes: its options, one function for each command, by what the commands are about."""

from kith.terminal.arguments.options import FORMATS as FORMATS
from kith.terminal.arguments.options import settings_flags as settings_flags
