"""Addresses and tokens of forges: a token goes only to its own address."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kith.core.errors import UsageError
from kith.features.forges import ForgesSettings
from kith.features.forges.client import Patience
from kith.features.forges.settings import Subject, find_forges, find_place, take_tokens

OWN = ForgesSettings(
    github="https://github.com", gitlab="https://git.example/lab", gitea="https://tea.example"
)
FORGES = find_forges(OWN, {}, Patience(print))


@pytest.mark.parametrize(
    ("url", "subject", "kind", "project"),
    [
        ("https://github.com/a/b/pull/7", "pull request", "github", "a/b"),
        ("https://github.com/a/b/issues/7/", "issue", "github", "a/b"),
        ("https://github.com/a/b/issues/7#issuecomment-1", "issue", "github", "a/b"),
        ("https://git.example/lab/a/b/c/-/merge_requests/7", "pull request", "gitlab", "a/b/c"),
        ("https://git.example/lab/a/b/-/work_items/7", "issue", "gitlab", "a/b"),
        ("https://tea.example/a/b/pulls/7?x=1", "pull request", "gitea", "a/b"),
    ],
)
def test_a_url_names_its_forge(url: str, subject: Subject, kind: str, project: str) -> None:
    place = find_place(url, subject, FORGES)
    assert (place.forge.kind, place.project, place.number) == (kind, project, 7)


@pytest.mark.parametrize(
    "url",
    [
        "https://github.com.evil.example/a/b/pull/7",
        "https://github.com@evil.example/a/b/pull/7",
        "http://github.com/a/b/pull/7",
        "https://github.com:8443/a/b/pull/7",
        "https://git.example/other/a/b/-/merge_requests/7",
        "https://github.com/a/b/pull/7/files/../../8",
        "https://github.com/a/b/c/pull/7",
        "https://github.com/a/b/pull/-7",
        "https://[::1/a/b/pull/7",
        "file:///a/b/pull/7",
    ],
)
def test_another_url_is_refused(url: str) -> None:
    with pytest.raises(UsageError):
        find_place(url, "pull request", FORGES)


@given(st.text())
def test_no_text_leads_elsewhere(text: str) -> None:
    for url in (text, f"https://{text}/a/b/pull/7", f"https://github.com{text}/a/b/pull/7"):
        try:
            place = find_place(url, "pull request", FORGES)
        except UsageError:
            continue
        assert url.startswith(f"{place.forge.url}/")


def test_tokens_leave_the_environment() -> None:
    environ = {"KITH_GITHUB_TOKEN": " one\n", "KITH_GITEA_TOKEN": "two", "PATH": "/bin"}
    assert take_tokens(environ) == {"github": "one", "gitlab": "", "gitea": "two"}
    assert environ == {"PATH": "/bin"}


@pytest.mark.parametrize(
    ("settings", "token"),
    [
        (ForgesSettings(github="http://git.example.com"), "t"),
        (ForgesSettings(github="https://ada:secret@git.example.com"), ""),
        (ForgesSettings(github="github.com"), ""),
        (ForgesSettings(github="https://github.com?x"), ""),
        (ForgesSettings(), "two\nlines"),
    ],
)
def test_an_unsafe_address_or_token_is_refused(settings: ForgesSettings, token: str) -> None:
    with pytest.raises(UsageError):
        find_forges(settings, {"github": token}, Patience(print))
