"""How an edit without a model is called in lists of sessions."""

import pytest

from kith.features.web.direct_tools import word_edit


@pytest.mark.parametrize(
    ("name", "args", "title"),
    [
        (
            "replace",
            {"old": "basket", "new": "cart", "where": "till/*.py"},
            "replace basket by cart in till/*.py",
        ),
        ("rename", {"old": "mean", "new": "average"}, "rename mean to average"),
        ("insert", {"text": "x = 1\ny = 2\n", "anchor": "z", "path": "a.py"}, "insert into a.py: x = 1"),
        ("refactor", {"action": "inline", "target": "a.py:f"}, "inline a.py:f"),
        ("write", {"path": "{odd}.py", "content": "-"}, "write {odd}.py"),
        ("edit", {"path": "a.py", "old": "a" * 60, "new": ""}, f"edit a.py: {'a' * 39}… becomes"),
        ("unknown", {}, "unknown"),
    ],
)
def test_a_title_says_what_is_done(name: str, args: dict[str, str], title: str) -> None:
    assert word_edit(name, args) == title
