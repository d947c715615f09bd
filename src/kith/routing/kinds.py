"""What sort of work a task is, from its words: where success differs, this is what it differs by."""

import re
from typing import Final

KINDS: Final = (
    "locate",
    "explain",
    "plan",
    "write-test",
    "edit-small",
    "edit-multi",
    "fix-failing-test",
    "refactor",
    "docs",
    "commit-message",
)
_VERIFIABLE: Final = {"write-test", "edit-small", "edit-multi", "fix-failing-test", "refactor"}
_BY_PURPOSE: Final = {"plan": "plan", "spec": "write-test", "test": "write-test", "refactor": "refactor"}
MANY_FILES: Final = 3

_ASK: Final = r"(?:(?:hi|hello|hey|ok|okay|so|now|please|kindly|then|also|just|quickly)\b[\s,:]*)*"
_ASK_FOR: Final = (
    rf"^\s*{_ASK}"
    r"(?:(?:can|could|would|will)\s+you\s+|i(?:'d| would)?\s+(?:want|need|like)\s+(?:you\s+)?(?:to\s+)?"
    rf"|let'?s\s+|we\s+(?:need|want|have|should)\s+(?:to\s+)?|help\s+me\s+(?:to\s+)?)?{_ASK}"
)
_CHANGE: Final = (
    r"(?:fix|add|change|make|implement|create|write|remove|delete|replace|update|rename|move|extract|refactor|convert"
    r"|migrate|port|support|handle|correct|repair|improve|extend|optimi[sz]e|bump|upgrade|introduce|allow|apply|edit"
    r"|modify|insert|drop|enable|disable|wrap|split|merge|clean|simplify|speed|reduce|increase|rewrite|set|use|let)"
)
_TEST: Final = r"(?:unit[- ]?|regression[- ]?|integration[- ]?|property[- ]?|end-to-end )?(?:tests?|test[- ]cases?|test suite|coverage)"
_FILE: Final = re.compile(r"(?<![\w/])[\w./-]*\w\.(?:[a-z]{1,4}|ipynb|proto|toml|yaml|json)\b(?!\()")


def _any(*patterns: str) -> re.Pattern[str]:
    return re.compile("|".join(patterns), re.IGNORECASE | re.MULTILINE)


# The first that matches wins.
_RULES: Final = (
    (
        "commit-message",
        _any(
            r"\bcommit[- ]?(?:message|msg|title|description)s?\b",
            r"\b(?:describe|summari[sz]e)\b.{0,30}\b(?:staged|commit|diff)\b",
        ),
    ),
    ("explain", re.compile(r"\A\s*(?:why|how come)\b[^\n?]*\?\s*\Z", re.IGNORECASE)),
    (
        "fix-failing-test",
        _any(
            r"\b(?:fail(?:s|ed|ing)?|broken|red|flaky)\b.{0,25}\b(?:tests?|ci|suite|build)\b",
            r"\b(?:tests?|test_\w+|suite|ci|the build)\b(?:.{0,60}?)\b(?:fails?|failed|failing|is red|are red|breaks?|broken|(?:not|n't|no longer) pass\w*|(?:is|are)(?:n't| not) (?:green|passing))",
            r"\b(?:make|get|let)\b.{0,40}\b(?:tests?|test_\w+|suite|ci|build)\b.{0,25}\b(?:pass|green|work|succeed)\b",
            r"^FAILED \S+::",
            r"^E\s+(?:AssertionError|assert)\b",
        ),
    ),
    (
        "write-test",
        _any(
            rf"\b(?:write|add|create|generate|extend|increase|improve|raise|need|want|missing|more|provide|implement)\b(?:(?!\b(?:and|so|which|that|flag|option|command|with)\b)[^.;\n]){{0,50}}\b{_TEST}\b(?!\s*(?:flag|option|runner|command|mode|data|fixture|button|page|endpoint|environment))",
            rf"^\s*{_TEST} for\b",
            rf"{_ASK_FOR}(?:test|cover)\s+(?!if\b|whether\b)",
        ),
    ),
    (
        "locate",
        _any(
            rf"{_ASK_FOR}(?:where|which (?:file|module|function|class|line|place|test)s?|who (?:calls|uses))\b",
            rf"{_ASK_FOR}(?:find|locate|search for|grep(?: for)?|look up|point me to|list|show me)\b(?!.{{0,60}}\band (?:then )?{_CHANGE}\b)(?!.{{0,30}}\b(?:bug|problem|error|mistake)s?\b.{{0,40}}\bfix)",
            r"\bwhere (?:is|are|do|does|did|can i find)\b.{0,80}\?",
        ),
    ),
    (
        "plan",
        _any(
            rf"{_ASK_FOR}(?:plan|design|outline|sketch|propose|suggest|think about|draft|come up with|break down|brainstorm|compare)\b",
            r"\b(?:write|make|give me|create|need|want) (?:me )?(?:a|an|the)?\s*(?:\w+ )?(?:plan|design|proposal|roadmap|road map|architecture|strategy)\b",
            r"\bhow (?:should|would|could|can) (?:we|i|you|one)\b",
            r"\bwhat would it take\b",
            r"\bwhat(?:'s| is) the best way\b",
        ),
    ),
    (
        "explain",
        _any(
            rf"{_ASK_FOR}(?:explain|describe|summari[sz]e|tell me|walk me through|clarify|understand|review|analy[sz]e|help me understand|give me an? (?:overview|summary|introduction))\b",
            rf"{_ASK_FOR}(?:what|why|how|when|who|which|is|are|does|do|did|has|have|was|were|should)\b(?!.*\b(?:please|then) {_CHANGE}\b)[^\n]*\?",
            rf"{_ASK_FOR}(?:what|why|how)\b(?!.*[.!]\s*{_CHANGE}\b)",
        ),
    ),
    (
        "docs",
        _any(
            rf"{_ASK_FOR}document\b",
            rf"{_ASK_FOR}(?:{_CHANGE}|fill|translate|proofread|mention|note)\b.{{0,60}}\b(?:docs?|documentation|docstrings?|readme|changelog|comments?|tutorial|man ?page|user guide|release notes)\b(?!\s+(?:parser|parsing|generator|command|page|string)\b)",
            r"\b(?:typo|spelling|wording)\b.{0,40}\b(?:docs?|documentation|docstrings?|readme|changelog|comments?)\b",
            r"\b(?:readme|changelog|docs?/)\S*\b.{0,40}\b(?:typo|outdated|out of date|wrong|stale)\b",
        ),
    ),
    (
        "refactor",
        _any(
            r"\brefactor\w*\b",
            rf"{_ASK_FOR}(?:rename|extract|inline|split|move|deduplicate|restructure|reorgani[sz]e|simplify|tidy|modulari[sz]e|decouple|untangle|clean ?up|clean|merge|unify|consolidate|flatten)\b",
            r"\b(?:remove|get rid of|reduce|eliminate)\b.{0,30}\b(?:duplication|duplicated?|dead code|copy[- ]and[- ]paste)\b",
            r"\bwithout (?:changing|altering) (?:the |its |any )?behaviou?r\b",
        ),
    ),
    (
        "edit-multi",
        _any(
            r"\b(?:every|each|all)\b.{0,20}\b(?:files?|modules?|callers?|call sites?|usages?|occurrences?|places?|endpoints?|packages?|handlers?|imports?)\b",
            r"\b(?:everywhere|throughout|project-wide|repo(?:sitory)?-wide|codebase-wide)\b",
            r"\bacross\b.{0,20}\b(?:project|code ?base|repo(?:sitory)?|modules|files|packages)\b",
            rf"{_ASK_FOR}(?:migrate|port|convert)\b.{{0,60}}\b(?:to|from)\b",
        ),
    ),
)


def kind_of(words: str, *, purpose: str = "edit", files: int = 0) -> str:
    """The kind of a task: one of KINDS.

    `purpose` is what the model is asked for; some purposes are a kind by themselves. `files`: how many files
    the task names or may change, 0 where that is not known.
    """
    if purpose in _BY_PURPOSE:
        return _BY_PURPOSE[purpose]
    told = _without_code(words)
    for kind, pattern in _RULES:
        if pattern.search(told):
            return kind
    named = len(set(_FILE.findall(told)))
    return "edit-multi" if max(files, named) >= MANY_FILES else "edit-small"


def is_verifiable(kind: str) -> bool:
    """Whether a project's checks can tell that such a task is solved."""
    return kind in _VERIFIABLE


def _without_code(words: str) -> str:
    """What is said outside of fenced code, as far as it says what is wanted."""
    return re.sub(r"```.*?(?:```|\Z)", " ", words, flags=re.DOTALL)[:2000]
