"""`kith serve`: the session, its API and its page over HTTP; a face on the log, without state of its own."""

from kith.core.feature import Command, Feature, SlashCommand, lazy_in

_here = lazy_in(__name__)

FEATURE = Feature(
    "web",
    "the page, the API, `kith client` and exported sessions",
    commands=(
        Command(
            "serve",
            "show and steer sessions in a browser or over HTTP",
            _here("arguments:serve"),
            _here("command:serve_command"),
            "[PROJECT ...]",
        ),
        Command("client", "use a running kith serve"),
        Command(
            "client run",
            "do a task on a running kith serve",
            _here("arguments:client_run"),
            _here("client:run_command"),
            "TASK ...",
        ),
        Command(
            "client sessions",
            "list the server's sessions",
            _here("arguments:client"),
            _here("client:sessions_command"),
        ),
        Command(
            "client watch",
            "follow a session to its end",
            _here("arguments:client_one"),
            _here("client:watch_command"),
            "ID",
        ),
        Command(
            "client answer",
            "answer a session's question",
            _here("arguments:client_answer"),
            _here("client:answer_command"),
            "ID yes|no|CHOICE [WORDS]",
        ),
        Command(
            "client stop",
            "stop a session",
            _here("arguments:client_one"),
            _here("client:stop_command"),
            "ID",
        ),
        Command(
            "client get",
            "print an answer of the API",
            _here("arguments:client_get"),
            _here("client:get_command"),
            "PATH",
        ),
        Command(
            "export",
            "write a session to one file",
            _here("arguments:export"),
            _here("export_command:export_command"),
            "[ID]",
        ),
    ),
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
