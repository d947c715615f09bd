"""Lines and the receipt name a long check by what runs the tests."""

from kith.core.events import Judged
from kith.core.evidence import CheckEvidence, Standing
from kith.core.values import Ran
from kith.view.evidence import check_lines
from kith.view.items import GateVerdict
from kith.view.wording import line_of

CTEST = (
    "cmake -S . -B build -DCMAKE_BUILD_TYPE=Debug && cmake --build build --parallel 2"
    " && cmake -E chdir build ctest --output-on-failure"
)


def test_lines_and_the_receipt_name_a_long_check() -> None:
    now = Standing(0, 3, 0, 0, 1.0, counted=True)
    evidence = CheckEvidence(CTEST, "held", "reached", now, now)
    ran = (Ran(CTEST, 0, "", 1.0),)
    before = Judged(CTEST, True, 0, ran=ran, when="before", figures={"tests": 3})
    lines = [
        line_of(GateVerdict("1", (), 0.0, judged))[1]
        for judged in (
            before,
            Judged(CTEST, True, 0, ran=ran, when="before"),
            Judged(CTEST, True, 1, ran=ran, evidence=evidence),
            Judged(CTEST, True, 1, ran=ran),
            Judged(CTEST, False, 1, "It fails.", ran=(Ran(CTEST, 8, "", 1.0),)),
        )
    ]
    assert lines == [
        "  · before the change: 3 pass (ctest, 1.0 s)",
        "  · before the change ctest passes",
        "  ✓ ctest: 3 pass  1.0 s",
        "  ✓ ctest passes  1.0 s",
        "  ✗ ctest fails (exit 8)  1.0 s\n      It fails.",
    ]
    assert list(check_lines(evidence)) == ["ctest: 3 pass, 1.0 s (before: 3 pass, 1.0 s)"]
