"""The kernel holds what it uses itself, or what several features share: the rest belongs to its one user."""

from pathlib import Path

import pytest

from reach import Reach

SOURCE = Path(__file__).parent.parent / "src" / "kith"
COMMANDS = "kith.terminal.conversation.commands."
# Symbols of the kernel that only one feature uses, and why they stand here. This list only gets shorter.
FOR_ONE_FEATURE = {
    "memory alone speaks SQL": (
        "memory.caches:CacheFile.usable memory.caches:Extent memory.caches:KeptScan memory.caches:ScanStore "
        "memory.caches:SessionRow memory.caches:SessionRows memory.database:copy_log "
        "memory.database:move_log memory.inbox:open_question memory.inbox:unheard_sessions "
        "memory.log:Log.count_after "
        "memory.log:Log.session_ids memory.queries:PastConversation "
        "memory.queries:asked_ids memory.queries:conversations_before memory.queries:counted_after "
        "memory.queries:delegated_since memory.queries:find_damage memory.queries:is_undone "
        "memory.queries:newest_event memory.queries:outages_since"
    ),
    "trees alone knows how a trial lies on the disk, and runs git so that no hook of a project starts": (
        "trees.copied_trial:mark_of trees.copied_trial:settle trees.revisions:check_out "
        "trees.revisions:diff_states trees.revisions:lay_out trees.revisions:merge_base "
        "trees.revisions:parent trees.revisions:resolve"
    ),
    "a trial can run a command in the background, whoever asks for it": (
        "core.workspace:Trial.launch tools.veiled:VeiledTrial.launch trees.copy:CopyGround.run_job "
        "trees.jobs:FOREVER_S trees.jobs:MOST_RUNNING trees.local:LocalTree.hosts_jobs "
        "trees.local:LocalTree.open_trials trees.overlay:OverlayGround.run_job trees.trial:Ground.run_job "
        "trees.trial:SideTrial.launch"
    ),
    "a name is made where it is read": (
        "core.decisions:council_thread core.policy:call_identity core.policy:call_target "
        "core.trial_names:trial_after memory.live:Position.parse"
    ),
    "view words events and escapes text for every surface": (
        "view.document:plain_lines view.items:fold_items view.markup:coded view.markup:quoted "
        "view.wording:fact_line view.wording:word_answer view.wording:word_result view.wording:word_verdict"
    ),
    "it reads or changes what only its owner holds": (
        "agent.asking.hidden:find_masked models.account:Account.is_spent "
        "models.providers.messages:Draft.seal models.stack:Opened.lent "
        "models.forecasts:Foresight.believe"
    ),
    "a session can be worked on by a process of its own": "agent.worker:check_tool agent.worker:start_worker",
    "exit codes stand in one table": "core.errors:EXIT_PARTLY",
}


def modules() -> dict[str, Path]:
    files = sorted(SOURCE.rglob("*.py"))
    names = [".".join(("kith", *file.relative_to(SOURCE).with_suffix("").parts)) for file in files]
    return {name.removesuffix(".__init__"): file for name, file in zip(names, files, strict=True)}


@pytest.mark.slow
def test_the_kernel_holds_nothing_for_one_feature_alone() -> None:
    """Nor anything that nobody uses, or tests alone."""
    files = modules()
    reach = Reach(files)
    kernel = {name for name in reach.symbols if not name.startswith("kith.features")}
    programs = {name for name, file in files.items() if '__name__ == "__main__"' in file.read_text("utf-8")}
    commands = {name for name in kernel if name.startswith(COMMANDS) and name.endswith(":COMMANDS")}
    own = reach.from_roots({"kith.cli:main", *programs, *commands}, kernel)
    rest = kernel - own - shared_by_features(reach, kernel - own)
    allowed = {f"kith.{name}" for names in FOR_ONE_FEATURE.values() for name in names.split()}
    left = rest - reach.from_roots(allowed, rest) - {f"{module}:__all__" for module in files}
    assert not {name for name in left if ":" in name and name.rpartition(".")[0] not in allowed}
    assert not allowed - rest, "take these from the list"


def shared_by_features(reach: Reach, beyond: set[str]) -> set[str]:
    """Those symbols beyond the kernel's own that two features reach or more."""
    features = dict[str, set[str]]()
    for name in reach.symbols:
        if name.startswith("kith.features."):
            features.setdefault(name.partition(":")[0].split(".")[2], set()).add(name)
    reached = [reach.from_roots(own, beyond | own) for own in features.values()]
    return {name for name in beyond if sum(name in each for each in reached) > 1}
