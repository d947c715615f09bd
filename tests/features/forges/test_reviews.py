"""A review in a file is foreign data: it is whole, or refused in a sentence."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kith.core.errors import UsageError
from kith.features.forges.post import Posted, summary_of
from kith.features.forges.reviews import Review, read_review

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
)
KEYS = ("status", "head", "findings", "files", "parts", "counts", "text", "model", "not_reviewed")


@given(st.binary() | st.dictionaries(st.sampled_from(KEYS), JSON).map(lambda each: json.dumps(each).encode()))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    try:
        found = read_review(data, "it")
    except UsageError:
        return
    assert isinstance(found, Review) and found.head


def finding(number: int) -> dict[str, Any]:
    usual = {"path": "a.py", "line": 1, "severity": "note", "rule": "r", "by": "b"}
    return usual | {"text": "t" * 3_000, "fingerprint": f"{number:016x}"}


def test_a_long_summary_is_cut() -> None:
    told = {"status": "done", "head": "a" * 40, "findings": [finding(number) for number in range(500)]}
    review = read_review(json.dumps(told).encode(), "it")
    assert len(summary_of(review, set(), Posted(0, 0, 500, 0))) < 65_000


def test_too_many_findings_are_refused() -> None:
    told = {"status": "done", "head": "a" * 40, "findings": [finding(number) for number in range(2_001)]}
    with pytest.raises(UsageError):
        read_review(json.dumps(told).encode(), "it")
