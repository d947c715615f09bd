"""The strictest match wins, and what nothing matches is denied."""

from hypothesis import given
from hypothesis import strategies as st

from kith.core.policy import READ_ONLY, TRIAL, Policy, Rule
from kith.core.values import CallTarget

rules = st.lists(
    st.builds(
        Rule,
        st.sampled_from(["read", "write", "exec", "net", "web", "*"]),
        st.sampled_from(["*", "a*", "*.py", "x"]),
        st.sampled_from(["allow", "ask", "deny"]),
    ),
    max_size=6,
).map(tuple)
effects = st.sampled_from(["read", "write", "exec", "net", "web"])


def test_read_only_reads() -> None:
    assert READ_ONLY.decide("read", CallTarget("anything")) == "allow"
    assert {READ_ONLY.decide(effect, CallTarget("x")) for effect in ("write", "exec", "net", "web")} == {
        "deny"
    }


def test_a_trial_asks_before_it_reaches_the_network() -> None:
    assert TRIAL.decide("exec", CallTarget("rm -rf .")) == "allow"
    for effect in ("net", "web"):
        assert TRIAL.decide(effect, CallTarget("http://example.org")) == "ask"


@given(rules, effects)
def test_the_order_of_rules_does_not_matter(table: tuple[Rule, ...], effect: str) -> None:
    one, two = Policy("one", table), Policy("two", table[::-1])
    assert one.decide(effect, CallTarget("a.py")) == two.decide(effect, CallTarget("a.py"))


STRICTNESS = ["allow", "ask", "deny"]


@given(rules, effects, st.sampled_from(STRICTNESS))
def test_one_more_rule_can_only_tighten_what_is_matched(
    table: tuple[Rule, ...], effect: str, decision: str
) -> None:
    matched = any(rule.matches(effect, CallTarget("x")) for rule in table)
    before = Policy("p", table).decide(effect, CallTarget("x"))
    after = Policy("p", (*table, Rule("*", "*", decision))).decide(effect, CallTarget("x"))
    assert after == (max(before, decision, key=STRICTNESS.index) if matched else decision)
