"""Every command, option and setting is named by a page and by a test."""

import sys

import pytest

from places import ROOT

sys.path.insert(0, str(ROOT / "tools"))
import coverage_table

# Those without one so far. Both lists may only shrink.
UNDOCUMENTED = {
    "anthropic_base_url",
    "gemini_base_url",
    "kith --continue",
    "kith --prompt",
    "kith --version",
    "kith --window",
    "kith acp --window",
    "kith bench --window",
    "kith build --max-retries",
    "kith build --no-refine",
    "kith build --step-seconds",
    "kith build --step-tokens",
    "kith build --window",
    "kith client answer --token",
    "kith client get --token",
    "kith client run --token",
    "kith client sessions --token",
    "kith client stop --token",
    "kith client watch --token",
    "kith coach run --window",
    "kith demo --keep",
    "kith features on",
    "kith mcp --window",
    "kith models --names",
    "kith models probe --window",
    "kith refactor --window",
    "kith review --window",
    "kith run --prompt",
    "kith run --window",
    "kith runtime --token",
    "kith runtime --window",
    "kith serve --token",
    "kith test --diff",
    "kith test --window",
    "ollama_host",
    "openai_base_url",
}
UNTESTED = {
    "anthropic_base_url",
    "append_system",
    "build.max_files",
    "build.max_lines",
    "coach.max_trials",
    "command_timeout",
    "engine.flash_attn",
    "features_off",
    "gemini_base_url",
    "kith confer --judge",
    "kith demo --keep",
    "kith mcp --no-forms",
    "kith runtime --max-seconds",
    "kith serve --open",
    "kith test --time",
}


@pytest.mark.slow
def test_every_name_has_a_page_and_a_test() -> None:
    rows = coverage_table.rows()
    undocumented = {name for name, page, _ in rows if not page}
    untested = {name for name, _, test in rows if not test}
    for found, known, what in ((undocumented, UNDOCUMENTED, "page"), (untested, UNTESTED, "test")):
        assert not found - known, f"No {what} names {', '.join(sorted(found - known))}."
        assert not known - found, (
            f"Take {', '.join(sorted(known - found))} out of the list: a {what} names it."
        )
