"""Background processes of a task, such as a dev server, which its later commands reach over loopback."""

from msgspec import Struct

from kith.core.feature import Feature, Lazy, SlashCommand, lazy_in

_here = lazy_in(__name__)


class BackgroundSettings(Struct, frozen=True):
    """The settings of background processes: if the model gets the tool, which costs 90 tokens a request."""

    tool: bool = False


FEATURE = Feature(
    "background",
    "processes that run beside a task: dev servers, watchers",
    settings=Lazy(f"{__name__}:BackgroundSettings"),
    tools=(_here("tool:background_tools"),),
    events=(_here("events:JobStarted"), _here("events:JobEnded")),
    lines=_here("lines:job_lines"),
    status_line=_here("conversation:count_jobs"),
    extends={"web": _here("page:PART")},
    slash_commands=(
        SlashCommand(
            "jobs",
            "Work",
            "background processes of the task at work",
            _here("conversation:jobs"),
            rest="[N | stop N | start COMMAND]",
            anytime=True,
            more="With a number: its last lines. The task's commands reach the processes over loopback, this "
            "machine does not. They end with the model's turn.",
        ),
    ),
)
