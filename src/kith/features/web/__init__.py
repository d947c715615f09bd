"""`kith serve`: the session, its API and its page over HTTP; a face on the log, without state of its own."""

from kith.core.feature import Command, Feature, SlashCommand, lazy_in

_here = lazy_in(__name__)

FEATURE = Feature(
    "web",
    "the page, the API and `kith client`; sessions as files",
    commands=(
        Command(
            "serve",
            "show and steer sessions from a browser, or over HTTP",
            _here("arguments:serve"),
            _here("command:serve_command"),
            "[PROJECT ...]",
        ),
        Command("client", "work with the sessions of a server of kith's"),
        Command(
            "client run",
            "do a task through a server of kith's",
            _here("arguments:client_run"),
            _here("client:run_command"),
            "TASK ...",
        ),
        Command(
            "client sessions",
            "list a server's sessions",
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
            "answer what a session asks",
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
            "print what the API says",
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
            more="FILE ends in .md, .html or .json. Without one it is kith-ID.md in your downloads, or in "
            "kith's state folder; `html` or `json` alone chooses the format.",
        ),
    ),
)
