"""Test files lie beside the modules that they test, and are named after them."""

from pathlib import Path

TESTS = Path(__file__).parent
SOURCE = TESTS.parent / "src" / "kith"
# What several modules do together.
BEHAVIOURS = {
    *("features/build/test_coverage_gate", "trees/test_open_tree_contract"),
    *("agent/asking/test_cloud_tasks", "agent/test_path_escapes", "agent/test_prompt_size"),
    *("agent/test_without_features", "features/test_deleted", "features/test_entry_points"),
    *("features/route/test_yardstick", "features/web/test_page", "gates/runners/test_report_readers"),
    *("gates/toolchains/test_candidates", "models/dialects/test_any_answer"),
    *("models/dialects/test_any_cloud_answer", "models/providers/test_model_contract"),
    *("models/providers/test_recordings", "terminal/conversation/test_answered_elsewhere"),
    *("terminal/conversation/test_hostile_words", "terminal/conversation/test_writing"),
    *("features/web/test_page_browsers", "features/web/test_page_follows", "terminal/test_waiting"),
    *("context/test_monotonous_text", "tools/test_standard_tools", "view/test_odd_values"),
    "features/engine/test_trained_models",
}


def test_a_test_file_is_named_after_its_module() -> None:
    """After the module, or the package; both may stand before what is tested of it."""
    files = [file.relative_to(TESTS).with_suffix("") for file in TESTS.rglob("test_*.py")]
    mirrored = [file for file in files if len(file.parts) > 1 and file.parts[0] != "program"]
    assert {str(file) for file in mirrored if not _is_named_after_a_module(file)} == BEHAVIOURS


def _is_named_after_a_module(file: Path) -> bool:
    folder = SOURCE / file.parent
    modules = [folder.name, *(each.stem for each in folder.iterdir())]
    subject = file.name.removeprefix("test_")
    subjects = (subject, subject.removeprefix(f"{folder.name}_"))
    return any(f"{each}_".startswith(f"{module}_") for each in subjects for module in modules)
