"""`/original` in a conversation, and the option of the same name."""

import argparse
from pathlib import Path

from kith.features.coach import CoachSettings
from kith.settings.read import load_settings
from kith.terminal.options import add_work, settings_flags
from played_screen import converse


def test_the_command_switches_the_original_way_for_this_conversation(repository: Path) -> None:
    screen, talk = converse(repository, ["/original"])
    assert talk.project.settings.section(CoachSettings).original
    assert "as you write it" in screen.text
    _, talk = converse(repository, ["/original on", "/original"])
    assert not talk.project.settings.section(CoachSettings).original
    screen, talk = converse(repository, ["/original maybe"])
    assert not talk.project.settings.section(CoachSettings).original
    assert "on or off" in screen.text


def test_options_of_features_override_their_settings(repository: Path) -> None:
    parser = argparse.ArgumentParser()
    add_work(parser)
    given = load_settings(repository, settings_flags(parser.parse_args(["--original", "--dial", "frugal"])))
    assert given.section(CoachSettings).original and given.route.dial == "frugal"
    usual = load_settings(repository, settings_flags(parser.parse_args([])))
    assert not usual.section(CoachSettings).original and usual.route.dial == "balanced"
