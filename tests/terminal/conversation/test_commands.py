"""The commands of a conversation: what each of them does, and what a person sees of it."""

import asyncio
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from conferring import AT_CLAMP, NONE, OTHER, RIGHT
from kith.agent.asking.roles import find_role
from kith.core.errors import UsageError
from kith.core.feature import SlashCommand
from kith.terminal.conversation.commands.settings import roles
from kith.terminal.conversation.slash_commands import find_command, groups, slash_commands
from mending import DONE, NEW, OLD, edit
from places import ROOT
from played_screen import Beside, Made, Seen, Stop, converse

COMMANDS = slash_commands()

NEW_FILE = {"calls": [{"name": "write", "args": {"path": "new.py", "content": "x = 1\n"}}]}


def utils(repository: Path) -> str:
    return (repository / "utils.py").read_text()


# --- the list of them ------------------------------------------------------------------------


@pytest.mark.parametrize("command", COMMANDS.values(), ids=lambda each: each.name)
def test_every_command_is_done_somewhere(command: SlashCommand) -> None:
    assert callable(command.run.load())
    assert command.meaning[0].islower() and not command.meaning.endswith(".")


def test_plain_words_of_old_are_commands_and_sentences_are_not() -> None:
    for word in ("exit", "clear", "save", "load", "delete", "config", "help", "quit"):
        assert find_command(word)[0] is COMMANDS[word]
    assert find_command("save parser") == (COMMANDS["save"], "parser")
    assert find_command("load ab12") == (COMMANDS["load"], "ab12")
    assert find_command("config tries 4") == (COMMANDS["config"], "tries 4")
    tasks = (
        "help me with this",
        "save the file twice",
        "load all data",
        "config files are ignored",
        "delete x",
    )
    assert [find_command(words) for words in tasks] == [(None, "")] * len(tasks)
    assert find_command("todo") == (None, "")
    assert find_command("/usr/bin is wrong") == (None, "")
    assert find_command("/undo  ab12 ") == (COMMANDS["undo"], "ab12")


def test_a_command_that_is_not_there_has_a_nearest_one() -> None:
    with pytest.raises(UsageError, match="did you mean /compact"):
        find_command("/compct")
    with pytest.raises(UsageError, match="/help lists"):
        find_command("/xyzzy")


def test_the_manual_has_the_table_that_the_rows_give() -> None:
    script = ROOT / "tools" / "command_table.py"
    assert subprocess.run([sys.executable, str(script), "--check"]).returncode == 0, f"run {script}"


@pytest.mark.parametrize("width", [60, pytest.param(160, marks=pytest.mark.slow)])
def test_help_lists_every_command_and_fits(repository: Path, width: int) -> None:
    screen, _ = converse(repository, ["/help", "/help load", "/help nothing"], width=width)
    for group, commands in groups().items():
        assert group in screen.text
        for command in commands:
            assert f"/{command.name}" in screen.text
    assert max(len(line) for line in screen.text.split("\n")) <= width
    assert "/resume, /load [ID]" in screen.text and "By its id" in screen.text
    assert "There is no /nothing" in screen.text


# --- the change ------------------------------------------------------------------------------


def test_a_rejected_change_waits_until_it_is_wanted(repository: Path) -> None:
    said = ["fix mean", "/diff", "/apply", "/diff", "/discard"]
    screen, _ = converse(repository, said, [edit(), DONE], ["n", "a"])
    assert NEW in utils(repository)
    assert "Not applied. To have it: /apply" in screen.text
    assert "Applied as" in screen.text
    assert "No change waits here." in screen.text.partition("> /discard")[2]


@pytest.mark.slow
def test_a_change_that_waits_is_checked_and_may_be_applied_all_the_same(repository: Path) -> None:
    said = ["fix mean", "/apply"]
    screen, _ = converse(repository, said, [edit(OLD, OLD.replace("+ 1", "+ 2")), DONE], ["n", "a"])
    assert "+ 2" in utils(repository)
    failing = ("! grep -qF '+ 3' utils.py",)  # which the change breaks
    subprocess.run(["git", "checkout", "-q", "."], cwd=repository, check=True)
    wrong = edit(OLD, OLD.replace("+ 1", "+ 3"))
    screen, _ = converse(repository, said, [wrong, DONE] * 3, ["a"], check=failing)
    assert "It does not pass" in screen.text
    assert "+ 3" in utils(repository)


@pytest.mark.slow
def test_a_discarded_change_is_gone(repository: Path) -> None:
    screen, _ = converse(repository, ["fix mean", "/discard", "/apply"], [edit(), DONE], ["n", "y"])
    assert "Throw away the change of utils.py?" in "".join(screen.asked)
    assert "No change waits here." in screen.text.partition("> /discard")[2]
    assert OLD in utils(repository)


@pytest.mark.slow
def test_words_in_place_of_a_yes_are_the_next_task(repository: Path) -> None:
    replies = [edit(), DONE, {"text": "I see.", "expect": "smaller steps"}]
    screen, _ = converse(repository, ["fix mean", "/apply"], replies, ["n", "s", "smaller steps"])
    assert "I see." in screen.text


def test_back_and_forth(repository: Path) -> None:
    said = ["fix mean", "/undo", "/diff", "/redo", "/redo", "what now?"]
    screen, _ = converse(repository, said, [edit(), DONE, {"text": "Nothing.", "expect": "^what now"}], ["a"])
    assert NEW in utils(repository)
    assert "Applied, and undone since" in screen.text
    assert ', the change of "fix mean". Undo: /undo' in " ".join(screen.text.split())
    assert "There is nothing to redo here." in screen.text
    assert "Nothing." in screen.text


@pytest.mark.slow
def test_the_change_of_another_conversation_is_asked_about(repository: Path) -> None:
    said = ["fix mean", "/new", "/undo", "/undo", "/redo", "/redo"]
    screen, _ = converse(repository, said, [edit(), DONE], ["a", "n", "y", "n", "y"])
    assert screen.text.count('This is of another conversation, "fix mean":') == 4
    assert screen.text.count("/redo restores it.") == 1
    assert NEW in utils(repository)


@pytest.mark.slow
def test_diff_of_some_files(repository: Path) -> None:
    both = {"calls": [*edit()["calls"], *NEW_FILE["calls"]]}
    screen, _ = converse(repository, ["fix", "/diff new.py", "/diff nowhere"], [both, DONE], ["a"])
    shown = screen.text.partition("> /diff new.py")[2]
    assert "x = 1" in shown and "numbers" not in shown
    assert "The change has no file nowhere." in shown


def test_git_looks_and_does_nothing_else(repository: Path) -> None:
    (repository / "utils.py").write_text("x = 2\n")
    said = ["/git", "/git log --oneline", "/git diff", "/git commit -am x", "/git diff --output=z", "/git 'a"]
    screen, _ = converse(repository, said)
    assert " M utils.py" in screen.text and "Two helpers" in screen.text and "+x = 2" in screen.text
    assert screen.text.count("/git is read-only.") == 2
    assert "A quote is not closed" in screen.text
    assert not (repository / "z").exists()


# --- the work --------------------------------------------------------------------------------


def test_retry_does_the_last_task_again_with_more_words(repository: Path) -> None:
    replies = ["One.", {"text": "Two.", "expect": "what is it\\?\n\nin short"}]
    screen, _ = converse(repository, ["/retry", "what is it?", "/undo", "/retry in short"], replies)
    assert "There is no task here yet" in screen.text
    assert "Two." in screen.text


def test_plan_mode_and_a_plan(repository: Path) -> None:
    screen, talk = converse(repository, ["/plan", "/mode", "/mode auto", "/mode x"])
    assert talk.mode == "auto"
    assert "> plan" in screen.text and "There is no mode 'x'" in screen.text


def test_a_template_asks_for_what_is_missing(repository: Path) -> None:
    replies = [{"text": "Mended.", "expect": "TypeError: no"}]
    said = ["/template", "/template bugfix", "/template bugfx"]
    screen, _ = converse(repository, said, replies, ["TypeError: no"])
    assert screen.asked[0].startswith("traceback (text")
    assert "Mended." in screen.text and "did you mean bugfix" in screen.text


@pytest.mark.slow
def test_words_after_a_stop_go_on_in_the_same_trial(repository: Path) -> None:
    slow = {"text": "Slow.", "delay": 30}
    replies = [edit(), slow, {"calls": NEW_FILE["calls"], "expect": "and new.py"}, DONE]
    said = ["fix mean", Stop("edit"), "and new.py, too"]
    converse(repository, said, replies, ["a"])
    assert NEW in utils(repository) and (repository / "new.py").exists()


def test_what_only_looks_need_not_wait_and_all_else_does(repository: Path) -> None:
    seen = Made(repository.parent / "seen")
    slow = {"text": "It is a mean.", "when": seen}
    looks = [Beside("/todo"), Beside("/mode plan"), Beside("/diff"), Seen("Nothing was changed yet.")]
    said = ["what is it?", *looks, Beside("/save"), seen]
    screen, talk = converse(repository, said, [slow])
    before, after = screen.text.split("It is a mean.")
    assert "The list is empty." in before and "plan mode:" in before and "Nothing was changed yet." in before
    assert "> /todo" in before and "Saved. Resume: /resume" in after
    assert talk.mode == "plan"


@pytest.mark.parametrize("earlier", [[], ["hello"]])
def test_the_person_sets_the_list_of_steps(earlier: list[str], repository: Path) -> None:
    replies = [
        *(["Hello."] * len(earlier)),
        {"text": "I see.", "expect": "1.*Read the parser\n2.*Add a test"},
    ]
    screen, talk = converse(repository, [*earlier, "/todo Read the parser; Add a test;", "go on"], replies)
    assert [item.text for item in talk.past.todo] == ["Read the parser", "Add a test"]
    assert "0 of 2 done" in screen.text and "I see." in screen.text


@pytest.mark.slow
def test_a_council_that_is_stopped_decides_with_what_is_there(repository: Path) -> None:
    for name, replies in (("one", [RIGHT, {"text": AT_CLAMP, "delay": 30}]), ("two", [OTHER, NONE])):
        (repository.parent / f"{name}.json").write_text(json.dumps(replies))
    members = " ".join(f"replay/{repository.parent / name}.json" for name in ("one", "two"))
    said = [f"/config confer.models {members}", "/panel which first?", Stop("claim: none"), "go on"]
    screen, _ = converse(repository, said, [{"text": "I know.", "expect": "agreed on"}])
    assert "They decide now" in screen.text
    assert "I know." in screen.text


# --- the window ------------------------------------------------------------------------------


@pytest.mark.slow
def test_context_and_compact(repository: Path) -> None:
    long = " ".join(f"The {number}th of them is divided." for number in range(400))
    said = ["/compact", "what is it?", "and now?", "/context", "/compact", "/context"]
    screen, talk = converse(repository, said, [long, "Yes.", "It divides numbers."])
    assert "nothing to summarise yet" in screen.text
    assert "tokens before," in screen.text and "It divides numbers." in screen.text
    before, after = (part.count("tokens") for part in screen.text.split("> /compact")[1:])
    assert len(talk.past.compacted) == 1 and talk.past.compacted[0].after < talk.past.compacted[0].before
    assert before and after


def test_copy_gives_the_terminal_what_was_said(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import base64

    for name in ("DISPLAY", "WAYLAND_DISPLAY", "TMUX"):
        monkeypatch.delenv(name, raising=False)
    said = ["/copy", "what is it?", "/copy", "/copy code", "/copy diff", "/copy all"]
    screen, _ = converse(repository, said, ["So:\n\n```python\nx = 1\n```\n"])
    copied = [base64.b64decode(each.split(";")[2].rstrip("\x07")).decode() for each in screen.signals]
    assert copied == ["So:\n\n```python\nx = 1\n```", "x = 1"]
    assert "No model has said anything" in screen.text and "Nothing was changed yet." in screen.text
    assert "/copy takes nothing, code or diff" in screen.text


# --- conversations ---------------------------------------------------------------------------


def test_new_names_the_one_before_and_resume_goes_back(repository: Path) -> None:
    said = ["what is it?", "/rename Means and more", "clear", "/save", "/sessions means", "/save"]
    screen, talk = converse(repository, said, ["A mean."], [0])
    assert "A new conversation. The one before: /resume" in screen.text
    assert "Nothing was said here yet." in screen.text
    assert screen.offered[0][0].endswith("done  Means and more")
    assert f'Saved as "Means and more". Resume: /resume {talk.id[:6]}' in screen.text


def test_back_takes_words_and_files_back(repository: Path) -> None:
    said = ["what is it?", "fix mean", "/back", "/back x", "/fork"]
    screen, talk = converse(repository, said, ["A mean.", edit(), DONE], ["a", 1, "y"])
    assert OLD in utils(repository)
    assert screen.line == "fix mean"
    assert "(1 file changed)" in screen.offered[0][1]
    assert "Since then utils.py changed." in screen.text and "A turn is a number" in screen.text
    assert [message.text for message in talk.past.threads["task"]][-1] == "A mean."


def test_delete_forgets_and_begins_anew(repository: Path) -> None:
    screen, talk = converse(repository, ["what is it?", "/delete", "/sessions"], ["A mean."], [0, "y"])
    assert screen.asked[1].startswith("Forget it for good?")
    assert screen.text.endswith("There is no conversation in this folder yet.")
    assert talk.past.started is None


@pytest.mark.parametrize("ending", ["md", pytest.param("json", marks=pytest.mark.slow)])
def test_export_writes_a_file_and_asks_before_it_replaces_one(repository: Path, ending: str) -> None:
    said = ["what is it?", f"/export told.{ending}", f"/export told.{ending}", "/export told.doc"]
    screen, _ = converse(repository, said, ["A mean."], ["n"])
    assert "A mean." in (repository / f"told.{ending}").read_text()
    assert len(screen.asked) == 1 and "is there already" in screen.asked[0]
    assert "ends in .md, .html, .json" in screen.text


def test_an_export_without_a_name_stays_out_of_the_tree(repository: Path, home: Path) -> None:
    before = sorted(repository.iterdir())
    screen, talk = converse(repository, ["what is it?", "/export", "/export json"], ["A mean."], width=200)
    kept = talk.project.settings.state / "exports" / f"kith-{talk.id[:6]}.md"
    assert "A mean." in kept.read_text() and kept.with_suffix(".json").exists()
    assert f"exports/{kept.name}." in screen.text
    (home / "Downloads").mkdir()
    (repository / "told").mkdir()
    screen, talk = converse(repository, ["what is it?", "/export", "/export told"], ["A mean."])
    name = f"kith-{talk.id[:6]}.md"
    assert (home / "Downloads" / name).exists() and f"Wrote ~/Downloads/{name}." in screen.text
    assert sorted(repository.iterdir()) == sorted([*before, repository / "told"])
    assert (repository / "told" / name).exists()


# --- how it works here -----------------------------------------------------------------------


def test_a_setting_is_shown_and_set_and_counts_at_once(repository: Path) -> None:
    said = ["/config tries", "/config tries 5", "/config trees 5", "config"]
    screen, talk = converse(repository, said)
    assert talk.project.settings.tries == 5
    assert "tries is 5 here." in screen.text and "unknown key 'trees'" in screen.text


def test_what_there_is(repository: Path) -> None:
    said = ["/roles", "/roles worker", "/roles nobody", "/skills", "/skills x", "/hooks", "/mcp", "/why"]
    screen, _ = converse(repository, said, width=60)
    assert "architect" in screen.text and "There is no role 'nobody'" in screen.text
    assert "There are no skills here." in screen.text and "There is no skill 'x'" in screen.text
    assert "There are no hooks" in screen.text and "There are no tool servers" in screen.text
    assert max(len(line) for line in screen.text.split("\n")) <= 60


def test_a_small_window_gets_short_instructions(repository: Path) -> None:
    screen, talk = converse(repository, ["hello"], ["Yes."])
    assert talk.opened
    for window, short in ((32_768, False), (4_096, True)):
        talk.opened.counter.window = window
        before = len(screen.text)
        asyncio.run(roles(talk, "implementer"))
        words = find_role("implementer", talk.project.settings)
        assert (words.small_words.strip() in screen.text[before:]) is short


def test_another_model_reads_the_conversation_anew(repository: Path) -> None:
    other = repository.parent / "other.json"
    other.write_text('["I am another one."]')
    said = ["what is it?", f"/model replay/{other}", "who are you?", "/model", "/models", "/profile", "/why"]
    screen, talk = converse(repository, said, ["A mean."])
    assert "It reads the conversation anew: about" in screen.text
    assert "I am another one." in screen.text
    assert "No other model was found" in " ".join(screen.text.split())
    assert talk.project.settings.model == f"replay/{other}"


# --- where it stands -------------------------------------------------------------------------


@pytest.mark.parametrize("width", [60, 120])
def test_status_and_cost_tell_of_this_conversation(repository: Path, width: int) -> None:
    said = ["/status", "/cost", "what is it?", "/rename means", "/status", "/cost"]
    screen, talk = converse(repository, said, ["A mean."], width=width, check=("true",))
    before, _, after = screen.text.partition("> what is it?")
    assert "nothing said yet" in before and "no model call" in before
    assert f"{talk.id[:6]} means, 1 task" in after
    assert re.search(r"check +true", after) and "replay/" in after.partition("> /status")[2]
    assert "1 model call" in after and "$0.00, all conversations" in after
    assert max(map(len, screen.text.split("\n"))) <= width


def test_permissions_list_what_needs_no_question(repository: Path) -> None:
    screen, _ = converse(repository, ["config hosts pypi.org", "/permissions"])
    assert "ask: kith asks about hosts" in screen.text.partition("> /permissions")[2]
    assert re.search(r"host +pypi\.org", screen.text)


def test_memory_lists_the_notes_and_where_they_stand(repository: Path, home: Path) -> None:
    screen, _ = converse(repository, ["/memory"])
    assert "none yet" in screen.text
    (home / ".config/kith").mkdir(parents=True, exist_ok=True)
    (home / ".config/kith/AGENTS.md").write_text("Use tabs.\n")
    screen, _ = converse(repository, ["/memory"])
    assert re.search(r"~/.config/kith/AGENTS.md +\d+ tokens", screen.text)
    assert "Notes are in AGENTS.md of this folder" in " ".join(screen.text.split())


def test_words_without_a_slash_save_load_and_set(repository: Path) -> None:
    said = ["what is it?", "save means", "/new", "load means", "config tries 4"]
    screen, talk = converse(repository, said, ["A mean."])
    assert 'as "means"' in screen.text and talk.past.title == "means"
    assert talk.project.settings.tries == 4
