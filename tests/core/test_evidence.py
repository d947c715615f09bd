"""What several checks say together of one change."""

from kith.core.evidence import CheckEvidence, combine

HELD = CheckEvidence("cd api && pytest", "held", "reached")
PROVEN = CheckEvidence("pytest", "proven", "fixed")
BROKEN = CheckEvidence("cd web && npm test", "unproven", "broken")
UNUSED = CheckEvidence("ctest", "unproven", "not_reached")


def test_the_best_grade_counts_where_nothing_was_lost() -> None:
    assert combine([UNUSED, HELD]).grade == "held"
    assert combine([HELD, PROVEN, UNUSED]).reason == "fixed"


def test_what_one_check_lost_no_other_makes_good() -> None:
    assert (combine([PROVEN, BROKEN]).grade, combine([PROVEN, BROKEN]).reason) == ("unproven", "broken")
