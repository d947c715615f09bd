"""A patch that a model sends to a shell is applied as a patch, all of it or nothing."""

import pytest

from kith.tools.patch import patch_in
from kith.tools.shell import BASH
from tools_bench import Bench

BODY = "*** Update File: a.txt\n@@\n-one\n+two\n"
PATCH = f"*** Begin Patch\n{BODY}*** Add File: new.txt\n+new\n*** End Patch"


@pytest.mark.parametrize(
    "command",
    [
        PATCH,
        f"apply_patch <<'EOF'\n{PATCH}\nEOF",
        f"apply_patch << EOF\n{PATCH}\nEOF\n",
        f'applypatch <<"PATCH"\n{PATCH}\nPATCH',
        f"apply_patch '{PATCH}'",
        f'apply_patch "{PATCH}"',
    ],
)
def test_a_patch_is_applied_however_it_is_sent(command: str, bench: Bench) -> None:
    (bench.folder / "a.txt").write_text("one\n")
    result = bench.use(BASH, command=command)
    assert result.ok and result.detail["line"] == "patched a.txt, new.txt"
    assert (bench.folder / "a.txt").read_text() == "two\n"
    assert (bench.folder / "new.txt").read_text() == "new\n"


def test_of_a_patch_that_does_not_fit_nothing_is_applied(bench: Bench) -> None:
    (bench.folder / "a.txt").write_text("three\n")
    assert not bench.use(BASH, command=PATCH).ok
    assert not (bench.folder / "new.txt").exists()


@pytest.mark.parametrize(
    "args",
    [
        {"command": f"cat <<'EOF'\n{PATCH}\nEOF"},
        {"command": f"apply_patch <<'EOF'\n{PATCH}\nEOF\nrm a.txt"},
        {"command": f"cd inner && apply_patch <<'EOF'\n{PATCH}\nEOF"},
        {"command": PATCH, "folder": "inner"},
        {"command": "grep -n '*** Begin Patch' a.txt"},
    ],
)
def test_what_is_more_than_a_patch_is_a_command(args: dict[str, str]) -> None:
    assert patch_in(args) == ""
