"""Classify a task by its words, into kinds with different success rates."""

import re
from functools import cache
from typing import Final

_BY_PURPOSE: Final = {"plan": "plan", "spec": "write-test", "test": "write-test", "refactor": "refactor"}
MANY_FILES: Final = 3

_POLITE: Final = r"(?:(?:hi|hello|hey|ok|okay|so|now|please|kindly|then|also|just|quickly)\b[\s,:]*)*"
_WISH: Final = (
    r"(?:(?:can|could|would|will)\s+you\s+|i(?:'d| would)?\s+(?:want|need|like)\s+(?:you\s+)?(?:to\s+)?"
    r"|let'?s\s+|we\s+(?:need|want|have|should)\s+(?:to\s+)?|help\s+me\s+(?:to\s+)?)?"
)
_BEGINS: Final = rf"^\s*{_POLITE}{_WISH}{_POLITE}"  # what is wanted stands right after it
_CHANGE: Final = (
    r"(?:fix|add|change|make|implement|create|write|remove|delete|replace|update|rename|move|extract|refactor"
    r"|convert|migrate|port|support|handle|correct|repair|improve|extend|optimi[sz]e|bump|upgrade|introduce"
    r"|allow|apply|edit|modify|insert|drop|enable|disable|wrap|split|merge|clean|simplify|speed|reduce"
    r"|increase|rewrite|set|use|let)"
)
_TEST: Final = (
    r"(?:unit[- ]?|regression[- ]?|integration[- ]?|property[- ]?|end-to-end )?"
    r"(?:tests?|test[- ]cases?|test suite|coverage)"
)
_DOC: Final = (
    r"(?:docs?|documentation|docstrings?|readme|changelog|comments?|tutorial|man ?page|user guide"
    r"|release notes)"
)
_FILE: Final = re.compile(r"(?<![\w/])[\w./-]*\w\.(?:[a-z]{1,4}|ipynb|proto|toml|yaml|json)\b(?!\()")

# The first pattern that is found decides; the more telling ones come first.
_SIGNS: Final = (
    (
        "commit-message",
        r"\bcommit[- ]?(?:message|msg|title|description)s?\b",
        r"\b(?:describe|summari[sz]e)\b.{0,30}\b(?:staged|commit|diff)\b",
    ),
    (
        "explain",
        r"\A\s*(?:why|how come)\b[^\n?]*\?\s*\Z",
    ),
    (
        "fix-failing-test",
        r"\b(?:fail(?:s|ed|ing)?|broken|red|flaky)\b.{0,25}\b(?:tests?|ci|suite|build)\b",
        r"\b(?:tests?|test_\w+|suite|ci|the build)\b.{0,60}?\b(?:fails?|failed|failing|breaks?|broken)\b",
        r"\b(?:tests?|test_\w+|suite|ci|the build)\b.{0,60}?\b(?:(?:not|n't|no longer) pass|(?:is|are) red)",
        r"\b(?:tests?|suite|ci|the build)\b.{0,60}?\b(?:is|are)(?:n't| not) (?:green|passing)",
        r"\b(?:make|get|let)\b.{0,40}\b(?:tests?|test_\w+|suite|ci|build)\b.{0,25}"
        r"\b(?:pass|green|work|succeed)\b",
        r"^FAILED \S+::",
        r"^E\s+(?:AssertionError|assert)\b",
    ),
    (
        "write-test",
        r"\b(?:write|add|create|generate|extend|increase|improve|raise|need|want|missing|more|provide"
        r"|implement)\b(?:(?!\b(?:and|so|which|that|flag|option|command|with)\b)[^.;\n]){0,50}"
        rf"\b{_TEST}\b(?!\s*(?:flag|option|runner|command|mode|data|fixture|button|page|endpoint))",
        rf"^\s*{_TEST} for\b",
        rf"{_BEGINS}(?:test|cover)\s+(?!if\b|whether\b)",
    ),
    (
        "locate",
        rf"{_BEGINS}(?:where|who (?:calls|uses))\b",
        rf"{_BEGINS}which (?:file|module|function|class|line|place|test)s?\b",
        rf"{_BEGINS}(?:find|locate|search for|grep(?: for)?|look up|point me to|list|show me)\b"
        rf"(?!.{{0,60}}\band (?:then )?{_CHANGE}\b)",
        r"\bwhere (?:is|are|do|does|did|can i find)\b.{0,80}\?",
    ),
    (
        "plan",
        rf"{_BEGINS}(?:plan|design|outline|sketch|propose|suggest|think about|draft|come up with|break down"
        r"|brainstorm|compare)\b",
        r"\b(?:write|make|give me|create|need|want) (?:me )?(?:a|an|the)?\s*(?:\w+ )?"
        r"(?:plan|design|proposal|roadmap|road map|architecture|strategy)\b",
        r"\bhow (?:should|would|could|can) (?:we|i|you|one)\b",
        r"\bwhat would it take\b",
        r"\bwhat(?:'s| is) the best way\b",
    ),
    (
        "explain",
        rf"{_BEGINS}(?:explain|describe|summari[sz]e|tell me|walk me through|clarify|understand|review"
        r"|analy[sz]e|help me understand|give me an? (?:overview|summary|introduction))\b",
        rf"{_BEGINS}(?:what|why|how|when|who|which|is|are|does|do|did|has|have|was|were|should)\b"
        rf"(?!.*\b(?:please|then) {_CHANGE}\b)[^\n]*\?",
        rf"{_BEGINS}(?:what|why|how)\b(?!.*[.!]\s*{_CHANGE}\b)",
    ),
    (
        "docs",
        rf"{_BEGINS}document\b",
        rf"{_BEGINS}(?:{_CHANGE}|fill|translate|proofread|mention|note)\b.{{0,60}}\b{_DOC}\b"
        r"(?!\s+(?:parser|parsing|generator|command|page|string)\b)",
        rf"\b(?:typo|spelling|wording)\b.{{0,40}}\b{_DOC}\b",
        r"\b(?:readme|changelog|docs?/)\S*\b.{0,40}\b(?:typo|outdated|out of date|wrong|stale)\b",
    ),
    (
        "refactor",
        r"\brefactor\w*\b",
        rf"{_BEGINS}(?:rename|extract|inline|split|move|deduplicate|restructure|reorgani[sz]e|simplify|tidy"
        r"|modulari[sz]e|decouple|untangle|clean|merge|unify|consolidate|flatten)\b",
        r"\b(?:remove|get rid of|reduce|eliminate)\b.{0,30}"
        r"\b(?:duplication|duplicated?|dead code|copy[- ]and[- ]paste)\b",
        r"\bwithout (?:changing|altering) (?:the |its |any )?behaviou?r\b",
    ),
    (
        "edit-multi",
        r"\b(?:every|each|all)\b.{0,20}\b(?:files?|modules?|callers?|call sites?|usages?|occurrences?|places?"
        r"|endpoints?|packages?|handlers?|imports?)\b",
        r"\b(?:everywhere|throughout|project-wide|repo(?:sitory)?-wide|codebase-wide)\b",
        r"\bacross\b.{0,20}\b(?:project|code ?base|repo(?:sitory)?|modules|files|packages)\b",
        rf"{_BEGINS}(?:migrate|port|convert)\b.{{0,60}}\b(?:to|from)\b",
    ),
)


def kind_of(words: str, *, purpose: str = "edit", files: int = 0) -> str:
    """The kind of a task: a name of `_SIGNS`, or "edit-small".

    `purpose` is what the model is asked for; some purposes are a kind of their own. `files`: how many files
    the task names or may change, 0 where that is not known.
    """
    if purpose in _BY_PURPOSE:
        return _BY_PURPOSE[purpose]
    told = _without_code(words)
    for kind, signs in _patterns():
        if any(sign.search(told) for sign in signs):
            return kind
    named = len(set(_FILE.findall(told)))
    return "edit-multi" if max(files, named) >= MANY_FILES else "edit-small"


@cache
def _patterns() -> tuple[tuple[str, tuple[re.Pattern[str], ...]], ...]:
    """The signs, compiled when they are first needed."""
    flags = re.IGNORECASE | re.MULTILINE
    return tuple((kind, tuple(re.compile(sign, flags) for sign in signs)) for kind, *signs in _SIGNS)


def _without_code(words: str) -> str:
    """Return the text outside fenced code, cut at 2,000 characters, with each run of spaces as one."""
    told = re.sub(r"```.*?(?:```|\Z)", " ", words, flags=re.DOTALL)[:2000]
    return re.sub(r"\s+", lambda found: "\n" if "\n" in found[0] else " ", told)
