"""Files that a task names with `@`: what the model gets of them, and what stays where it is."""

from pathlib import Path
from urllib.parse import quote

import pytest

from kith.agent.mentions import Mention, find_named, read_pasted
from kith.context.compact import files_shown
from kith.core.values import say
from outside import Kith, Serve, Server

SECRET = "TOKEN=ghp_a8Xk29LmQz7Rt4Vb1Nc6Wd3Ye5Uf0Hg1234\n"


@pytest.mark.parametrize(
    ("words", "named"),
    [
        ("fix @src/app.py, please", [Mention("src/app.py")]),
        (
            '(@"my notes.md") and @a:3 @b:10-40',
            [Mention("my notes.md"), Mention("a", 3, 3), Mention("b", 10, 40)],
        ),
        ("see @src/a.py#L5-L9.", [Mention("src/a.py", 5, 9)]),
        ("write to me@example.org", []),
        ("@", []),
        ("@... what?", []),
    ],
)
def test_paths_are_found_in_words(words: str, named: list[Mention]) -> None:
    assert list(find_named(words)) == named


def test_the_model_gets_what_was_named_and_nothing_else(kith: Kith, serve: Serve, repository: Path) -> None:
    (repository / "my notes.md").write_text("Remember the milk.\n")
    (repository / ".env").write_text(SECRET)
    (repository / "plain.txt").symlink_to(".env")
    (repository.parent / "outside.txt").write_text("not for you\n")
    server = serve(["I see."])
    words = '@utils.py:4-6 @"my notes.md" @.env @plain.txt @../outside.txt @pkg/nothing.py @property'
    told = kith("run", "--read-only", words).stderr
    said = server.requests[-1]["messages"][-1]["content"]
    assert words in said, "the task stays as it was said"
    assert "# Named in the task (utils.py)" in said and "def mean(numbers):" in said
    assert "clamp" not in said.partition("# Named in the task (utils.py)")[2]
    assert "Remember the milk." in said
    assert "ghp_" not in said and "not for you" not in said
    plain = " ".join(told.split())
    assert "my notes.md, 1 line" in plain
    assert ".env holds secrets by its name" in plain
    assert "plain.txt leads to a file that holds secrets by its name" in plain
    assert "# Named in the task (plain.txt)" not in said
    assert "'../outside.txt' is outside the project's folder" in plain
    assert "pkg/nothing.py does not exist" in plain and "property" not in plain


@pytest.mark.slow
def test_a_large_file_leaves_room_for_an_answer(kith: Kith, serve: Serve, repository: Path) -> None:
    (repository / "large.txt").write_text("".join(f"row {number}\n" for number in range(90_000)))
    server = serve(["I see."])
    kith("run", "--read-only", "--window", "4096", "sum up @large.txt")
    said = server.requests[-1]["messages"][-1]["content"]
    assert "left out: read large.txt:" in said and len(said) < 9_000


@pytest.mark.slow
def test_a_model_in_the_cloud_gets_nothing_private(kith: Kith, cloud: Server, repository: Path) -> None:
    (repository / ".gitignore").write_text("local.txt\n")
    (repository / "local.txt").write_text("only for me\n")
    (repository / ".env").write_text(SECRET)
    (repository / "copy.txt").symlink_to(".env")
    words = "see @local.txt and @copy.txt and @README.md"
    done = kith("run", "-m", "far/standin", "--yes", "--read-only", words)
    said = str(cloud.requests[-1]["messages"])
    assert "only for me" not in said and "ghp_" not in said and "Two helpers" in said
    assert "Not sent: local.txt is ignored by git." in " ".join(done.stderr.split())
    known = files_shown([say(each["content"]) for each in cloud.requests[-1]["messages"] if each["content"]])
    assert "README.md" in known and "local.txt" not in known, "a person is told which files go there"


PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x02\0\0\0\x03"


@pytest.mark.parametrize("written", ["'{}'", '"{}"', "file://{quoted}", "{escaped}"])
def test_a_pasted_path_of_a_picture_shows_it(tmp_path: Path, written: str) -> None:
    path = tmp_path / "my shot.png"
    path.write_bytes(PNG)
    text = str(path)
    pasted = written.format(text, quoted=quote(text), escaped=text.replace(" ", "\\ "))
    (found,) = read_pasted(f"what is wrong in {pasted} here?")
    assert (found.data, found.name) == (PNG, "my shot.png")


def test_what_is_not_there_or_no_picture_is_only_words(tmp_path: Path) -> None:
    (tmp_path / "notes.png").write_text("hello")
    (tmp_path / "shot.txt").write_bytes(PNG)
    assert not read_pasted(f"{tmp_path}/notes.png {tmp_path}/shot.txt /nowhere/shot.png and/or a.png")
