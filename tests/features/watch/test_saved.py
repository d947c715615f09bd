"""Comments that a person saved are told from those that were there, that git or kith itself put there."""

import subprocess
from pathlib import Path

import pytest

from kith.agent.project import Project
from kith.core.event_loop import run_loop
from kith.core.values import Change
from kith.features.watch.saved import Look, SavedComments
from moulds import copied

PLAIN = "def mean(xs):\n    return sum(xs) / len(xs)\n"
ASKED = PLAIN.replace("len(xs)\n", "len(xs)  # guard it AI!\n")


def git(folder: Path, *words: str) -> None:
    who = ("-c", "user.name=A", "-c", "user.email=a@example.com")
    subprocess.run(["git", *who, *words], cwd=folder, check=False, capture_output=True)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A repository whose branch `other` holds an AI comment, and whose stash holds one, too."""
    return copied("watched", _make, tmp_path / "project")


def _make(place: Path) -> None:
    git(place, "init", "-b", "main")
    (place / "a.py").write_text(PLAIN)
    (place / "b.py").write_text("x = 1\n")
    git(place, "add", ".")
    git(place, "commit", "-m", "one")
    git(place, "switch", "-c", "other")
    (place / "a.py").write_text(ASKED)
    (place / "new.py").write_text("# write it AI!\n")
    git(place, "add", ".")
    git(place, "commit", "-m", "two")
    git(place, "switch", "main")


def watching(folder: Path) -> tuple[Project, SavedComments]:
    project = Project.open(folder, {})
    saved = SavedComments(project.tree)
    run_loop(saved.begin())
    return project, saved


def look(saved: SavedComments) -> Look:
    return run_loop(saved.look())


def save(file: Path, text: str) -> None:
    """Save as editors do: another file, with the name of the first."""
    beside = file.with_name("beside~")
    beside.write_text(text)
    beside.replace(file)


def test_a_saved_comment_is_new_once(folder: Path) -> None:
    _, saved = watching(folder)
    assert look(saved) == Look()
    save(folder / "a.py", ASKED)
    found = look(saved)
    assert [(each.path, each.line, each.words) for each in found.new] == [("a.py", 2, "guard it")]
    assert not found.quiet and look(saved).quiet
    save(folder / "a.py", "import math\n" + ASKED)
    assert look(saved).new == ()


def test_comments_from_before_and_their_copies_are_not_new(folder: Path) -> None:
    save(folder / "a.py", ASKED)
    _, saved = watching(folder)
    save(folder / "a.py", ASKED + "\n")
    (folder / "copy.py").write_text(ASKED)
    (folder / "a.py").rename(folder / "c.py")
    assert look(saved).new == ()
    save(folder / "copy.py", ASKED + "# and this AI!\n")
    assert [each.words for each in look(saved).new] == ["and this"]


def test_a_formatter_makes_no_comment_new(folder: Path) -> None:
    save(folder / "a.py", "#do   it AI!\n")
    _, saved = watching(folder)
    save(folder / "a.py", "# do it  AI!\n")
    assert look(saved) == Look(quiet=False)


def test_two_equal_comments_are_two(folder: Path) -> None:
    _, saved = watching(folder)
    save(folder / "b.py", "# AI! x\n")
    assert len(look(saved).new) == 1
    save(folder / "b.py", "# AI! x\n# AI! x\n")
    assert len(look(saved).new) == 1


@pytest.mark.parametrize(
    "commands",
    [
        "git switch other",
        "git checkout other",
        "git merge other",
        "git merge --squash other",
        "git checkout other -- a.py new.py",
        "git restore --source other --staged --worktree a.py",
        "git cherry-pick other",
        "git cherry-pick -n other",
        "git reset --hard other",
        "git pull . other",
        "git rebase other",
        "echo y=2 > b.py; git commit -am three; git rebase other",
        "git format-patch -1 other --stdout > /tmp/kith-p.$$; git am /tmp/kith-p.$$; rm /tmp/kith-p.$$",
        # A conflict in the file that has the comment.
        "sed -i 's/len.xs./len(xs) or 1/' a.py; git commit -am three; git merge other",
        "git switch other; git revert --no-edit HEAD; git revert --no-edit HEAD",
    ],
)
def test_what_git_brings_is_not_new(folder: Path, commands: str) -> None:
    _, saved = watching(folder)
    script = f'git() {{ command git -c user.name=A -c user.email=a@example.com "$@"; }}; {commands}'
    subprocess.run(["bash", "-c", script], cwd=folder, capture_output=True, check=False)
    assert "AI!" in (folder / "a.py").read_text()
    found = look(saved)
    assert found.new == () and found.from_git


@pytest.mark.parametrize("command", ["pop", "apply"])
def test_a_stash_is_not_new(folder: Path, command: str) -> None:
    save(folder / "a.py", ASKED)
    git(folder, "stash")
    _, saved = watching(folder)
    git(folder, "stash", command)
    assert (folder / "a.py").read_text() == ASKED
    found = look(saved)
    assert found.new == () and [each.path for each in found.from_git] == ["a.py"]


def test_stashing_own_work_and_taking_it_again_asks_nothing_twice(folder: Path) -> None:
    _, saved = watching(folder)
    save(folder / "a.py", ASKED)
    assert look(saved).new
    git(folder, "stash")
    assert look(saved).new == ()
    git(folder, "stash", "pop")
    assert look(saved).new == ()


def test_saved_beside_a_commit_of_other_files_it_is_new(folder: Path) -> None:
    """The index and HEAD change, but git does not hold this comment."""
    _, saved = watching(folder)
    (folder / "b.py").write_text("x = 2\n")
    git(folder, "commit", "-m", "three", "b.py")
    save(folder / "a.py", ASKED)
    found = look(saved)
    assert [each.words for each in found.new] == ["guard it"] and not found.from_git


def test_attributes_of_a_repository_hide_no_comment_of_git(folder: Path) -> None:
    """In the file it reads other than in git."""
    git(folder, "switch", "other")
    (folder / ".gitattributes").write_text("*.py ident\n")
    (folder / "a.py").write_text("# $Id$ do it AI!\n")
    git(folder, "add", ".")
    git(folder, "commit", "-m", "ident")
    git(folder, "switch", "main")
    _, saved = watching(folder)
    git(folder, "switch", "other")
    assert "$Id: " in (folder / "a.py").read_text()
    assert look(saved).new == ()


def test_an_odd_name_in_git_is_not_new(folder: Path) -> None:
    git(folder, "switch", "other")
    (folder / "odd\nname.py").write_text("# do it AI!\n")
    git(folder, "add", ".")
    git(folder, "commit", "-m", "odd")
    git(folder, "switch", "main")
    _, saved = watching(folder)
    git(folder, "switch", "other")
    assert look(saved).new == ()


def test_a_new_file_beside_a_commit_of_others_is_new(folder: Path) -> None:
    _, saved = watching(folder)
    git(folder, "commit", "--allow-empty", "-m", "three")
    (folder / "fresh.py").write_text("# do it AI!\n")
    assert [each.path for each in look(saved).new] == ["fresh.py"]


def test_while_git_writes_nothing_is_read(folder: Path) -> None:
    _, saved = watching(folder)
    (folder / ".git" / "index.lock").touch()
    save(folder / "a.py", ASKED)
    assert look(saved).git_busy and look(saved).new == ()
    (folder / ".git" / "index.lock").unlink()
    assert look(saved).new


def test_a_linked_worktree_has_its_own_index(folder: Path) -> None:
    linked = folder.parent / "linked"
    git(folder, "worktree", "add", "-b", "third", str(linked))
    _, saved = watching(linked)
    git(linked, "reset", "--hard", "other")
    found = look(saved)
    assert found.new == () and len(found.from_git) == 2
    save(linked / "b.py", "# do AI!\n")
    assert len(look(saved).new) == 1


def test_without_a_repository_all_saved_comments_are_new(tmp_path: Path) -> None:
    place = tmp_path / "plain"
    place.mkdir()
    _, saved = watching(place)
    (place / "a.py").write_text(ASKED)
    assert [each.words for each in look(saved).new] == ["guard it"]


def test_what_kith_writes_and_undoes_is_not_new(folder: Path) -> None:
    project, saved = watching(folder)
    other = Project.open(folder, {})  # as another process has it
    run_loop(other.tree.apply((Change("b.py", b"x = 1\n", b"x = 1  # AI! from a model\n"),)))
    assert look(saved) == Look(quiet=False)
    save(folder / "a.py", ASKED)
    assert look(saved).new
    done = run_loop(project.tree.apply((Change("a.py", ASKED.encode(), PLAIN.encode()),)))
    assert look(saved).new == ()
    run_loop(other.tree.undo(done))
    assert (folder / "a.py").read_text() == ASKED
    assert look(saved).new == ()


def test_odd_files_are_passed(folder: Path) -> None:
    _, saved = watching(folder)
    (folder / "binary.py").write_bytes(b"# do AI!\0")
    (folder / "large.py").write_bytes(b"# do AI!\n" + b"x" * 1_100_000)
    (folder / "long.py").write_text(f"# {'x' * 3_000} AI!\n")
    (folder / "link.py").symlink_to("/etc/passwd")
    (folder / "latin.py").write_bytes(b"# \xe9t\xe9 AI!\n")
    assert [each.path for each in look(saved).new] == ["latin.py"]


def test_a_comment_is_done_only_while_it_is_there(folder: Path) -> None:
    _, saved = watching(folder)
    save(folder / "a.py", ASKED)
    found = look(saved).new
    save(folder / "a.py", f"import math\n{ASKED}")
    assert [each.line for each in run_loop(saved.still_there(found))] == [3]
    save(folder / "a.py", PLAIN)
    assert run_loop(saved.still_there(found)) == ()
