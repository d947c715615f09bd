"""`kith serve`: serve the session, its API and its page over HTTP from the log, without other state."""

from kith.core.feature import Command, Feature, SlashCommand, lazy_in

_here = lazy_in(__name__)

FEATURE = Feature(
    "web",
    "the page, the API, `kith client` and exported sessions",
    commands=(
        Command(
            "serve",
            "Serve sessions to a browser or API",
            _here("arguments:serve"),
            _here("command:serve_command"),
            "[PROJECT ...]",
            group="Serve",
        ),
        Command("client", "Use the sessions of a kith server", group="Serve"),
        Command(
            "client run",
            "Run a task on a kith server",
            _here("arguments:client_run"),
            _here("client:run_command"),
            "TASK ...",
        ),
        Command(
            "client sessions",
            "List the sessions of a server",
            _here("arguments:client"),
            _here("client:sessions_command"),
        ),
        Command(
            "client watch",
            "Follow a session to its end",
            _here("arguments:client_one"),
            _here("client:watch_command"),
            "ID",
        ),
        Command(
            "client answer",
            "Answer the question of a session",
            _here("arguments:client_answer"),
            _here("client:answer_command"),
            "ID yes|no|CHOICE [WORDS]",
        ),
        Command(
            "client stop",
            "Stop a session",
            _here("arguments:client_one"),
            _here("client:stop_command"),
            "ID",
        ),
        Command(
            "client get",
            "Print an API response",
            _here("arguments:client_get"),
            _here("client:get_command"),
            "PATH",
        ),
        Command(
            "export",
            "Write a session to one file",
            _here("arguments:export"),
            _here("export_command:export_command"),
            "[ID]",
            group="Look back",
        ),
    ),
    kinds={"tool": _here("direct_tools:SESSION_KIND")},
    slash_commands=(
        SlashCommand(
            "export",
            "This conversation",
            "write the conversation to a file",
            _here("conversation:export"),
            rest="[FILE]",
            takes="file",
            more="FILE ends in .md, .html or .json; without one it is kith-ID.md in this folder.",
        ),
    ),
)
