"""Models that confer before anybody writes: proposals, claims that tools check, one revision, a decision."""

from kith.core.feature import Command, Feature, SlashCommand, lazy_in

_here = lazy_in(__name__)

FEATURE = Feature(
    "confer",
    "several models propose, claim and revise; tools and tests decide",
    needs=("measure", "review", "route"),
    extends={"web": _here("page:PART")},
    lines=_here("council_lines:council_lines"),
    settings=_here("settings:ConferSettings"),
    commands=(
        Command(
            "confer",
            "Ask several models, and check their claims",
            _here("arguments:confer"),
            _here("command:confer_command"),
            "[QUESTION ...]",
            group="Change code",
        ),
    ),
    slash_commands=(
        SlashCommand(
            "panel",
            "Work",
            "let several models confer",
            _here("conversation:panel"),
            rest="WORDS",
            more="Tools check what they claim, and the next task knows the outcome. Esc once lets them "
            "decide. Who confers: /config confer.models",
        ),
    ),
    panels=_here("panel:RolePanels"),
    kinds={"confer": _here("session:KIND")},
)
