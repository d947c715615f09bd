"""Files of a change that are only parsed, where no test runs."""

import asyncio
from pathlib import Path
from shutil import which

import pytest

from gating import make_repository
from kith.core.values import Change
from kith.gates.evidence.smoke import look_without_tests
from kith.trees.local import open_tree


@pytest.mark.usefixtures("sandbox")
@pytest.mark.parametrize(
    ("program", "path", "good", "broken"),
    [("ruby", "a.rb", "def f\nend\n", "def (((\n"), ("php", "a.php", "<?php f(1);\n", "<?php f(;\n")],
)
def test_scripts_that_no_longer_parse(
    tmp_path: Path, program: str, path: str, good: str, broken: str
) -> None:
    if which(program) is None:
        pytest.skip(f"{program} is not installed")
    tree = open_tree(
        make_repository(tmp_path / "project", {path: good}), tmp_path / "state", tmp_path / "cache"
    )
    for text, ok in ((f"{good}\n", True), (broken, False)):
        change = Change(path, good.encode(), text.encode())
        assert (asyncio.run(look_without_tests(tree, (change,))).letter == "") is ok
