"""The Agent Client Protocol: editors such as Zed, JetBrains' IDEs, Neovim and Emacs drive kith over stdio."""

from kith.core.feature import Command, Feature, lazy_in

_here = lazy_in(__name__)

FEATURE = Feature(
    "editors",
    "conversations in Zed, JetBrains' IDEs, Neovim and Emacs (ACP)",
    needs=("route",),
    commands=(
        Command(
            "acp",
            "Connect an editor (ACP)",
            _here("arguments:acp"),
            _here("command:acp_command"),
            group="Serve",
        ),
    ),
)
