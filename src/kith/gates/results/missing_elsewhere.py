"""Find what tests lack of the package managers of the JVM, Ruby, PHP, Perl, Elixir, Meson and autotools."""

import re
from collections.abc import Callable, Collection
from typing import Final

from msgspec import Struct

from kith.core.evidence import Blocked
from kith.core.evidence import Missing as Kind
from kith.core.patterns import lazy_pattern

_FETCH: Final = "mvn -B dependency:go-offline"
_MAVEN_CENTRAL: Final = ("repo.maven.apache.org",)
_GRADLE: Final = (*_MAVEN_CENTRAL, "services.gradle.org", "plugins.gradle.org")
_RUBYGEMS: Final = ("rubygems.org", "index.rubygems.org")
_PACKAGIST: Final = ("repo.packagist.org", "api.github.com", "codeload.github.com")
_CPAN: Final = ("cpan.metacpan.org", "fastapi.metacpan.org", "www.cpan.org")
_HEX: Final = ("repo.hex.pm", "builds.hex.pm")


class _Sign(Struct, frozen=True):
    """A line of a tool that says what it lacks (its first group), and the command that would get it."""

    pattern: Callable[[str], re.Match[str] | None]
    kind: Kind
    install: str = ""
    hosts: tuple[str, ...] = ()


def _sign(pattern: str, kind: Kind, install: str = "", hosts: tuple[str, ...] = ()) -> _Sign:
    return _Sign(lazy_pattern(pattern, re.M).search, kind, install, hosts)


_NAME: Final = r"([\w.:@/+-]{1,200})"
_SIGNS: Final = (
    # Meson and autotools: what they ask for is the machine's.
    _sign(r"ERROR: Dependency \"([^\"\n]{1,200})\" not found", "import"),
    _sign(r"ERROR: Program \'([^\'\n]{1,200})\' not found", "tool"),
    _sign(r"^(?:\.\./)*[\w./-]*meson\.build:\d+:\d+: ERROR: ([^\n]{1,120})", "tool"),
    _sign(r"^ERROR: (Meson version is [^\n]{1,120})", "tool"),
    _sign(r"configure: error: Package requirements \(([\w.+-]{1,80})", "import"),
    _sign(r"configure: error: ([^\n]{1,120})", "import"),
    _sign(r"error: (Autoconf version \S{1,20}) or higher is required", "tool"),
    _sign(r"possibly undefined macro: (\w{1,80})", "import"),
    # The JVM.
    _sign(rf"in offline mode and the artifact {_NAME} has not been", "import", _FETCH, _MAVEN_CENTRAL),
    _sign(rf"Could not find artifact {_NAME}", "import", _FETCH, _MAVEN_CENTRAL),
    _sign(
        rf"Plugin {_NAME} or one of its dependencies could not be resolved", "tool", _FETCH, _MAVEN_CENTRAL
    ),
    _sign(rf"No cached version of {_NAME} available for offline mode", "import", "gradle assemble", _GRADLE),
    _sign(r"Plugin \[id: \'([\w.-]{1,80})\'[^\n]{0,200} was not found", "import", "gradle assemble", _GRADLE),
    _sign(
        r"java\.net\.(?:UnknownHost|Connect|NoRouteToHost|Socket)Exception: ([\w.-]{1,80}\.\w+)", "network"
    ),
    _sign(r"(JAVA_HOME) (?:is not set|environment variable is not defined)", "tool"),
    _sign(r"(?:invalid (?:target|source) release: |release version )(\d+)(?: not supported)?", "tool"),
    _sign(r"(SDK location) not found", "tool"),
    # Ruby, PHP, Perl, Elixir.
    _sign(
        r"Could not find (?:gem \'?)?([A-Za-z][\w-]{0,80}?)(?:-\d[\w.]*)?[\' ][^\n]{0,200}"
        r"\bin (?:any of the (?:gem )?sources|locally installed gems|cached gems)",
        "import",
        "bundle install",
        _RUBYGEMS,
    ),
    _sign(r"bundler: command not found: (\S{1,80})", "runner", "bundle install", _RUBYGEMS),
    _sign(r"Your Ruby version is [\d.]{1,20}, but your Gemfile specified ([^\n]{1,40})", "tool"),
    _sign(r"(vendor/autoload\.php)", "import", "composer install", _PACKAGIST),
    _sign(
        r"Can\'t locate [\w/]{1,200}\.pm in @INC \(you may need to install the ([\w:]{1,200}) module\)",
        "import",
        "cpanm --installdeps .",
        _CPAN,
    ),
    _sign(r"^\* ([\w-]{1,80}) \(Hex package\)", "import", "mix deps.get", _HEX),
    _sign(r"Could not find (Hex)\b", "tool", "mix local.hex", _HEX),
    # .NET, Haskell, Swift.
    _sign(
        r"error (?:NU1301|NU1101): (?:Unable to [^\n]{0,80}?|Unable to find package )([\w.:/-]{1,120})",
        "network",
    ),
    _sign(r"error NETSDK1045: ([^\n]{1,120})", "tool"),
    _sign(r"(?:using|requires) Swift tools version ([\d.]{1,10})", "tool"),
)
# A gem that is not there, if the project names it: any other may be what the task is about.
_NO_GEM: Final = lazy_pattern(
    r"cannot load such file -- ([\w-]{1,80})[/\w.-]{0,80} \(LoadError\)"
    r"|cannot load such file -- ([\w-]{1,80})$",
    re.M,
)
_TESTERS: Final = frozenset({"rspec", "minitest", "rake", "test-unit", "bundler", "simplecov"})


def find_missing_elsewhere(text: str, requires: Collection[str] = ()) -> Blocked | None:
    """Return what the output says is missing; None where it says nothing of the kind.

    `requires` are the packages that the project's manifests name.
    """
    for sign in _SIGNS:
        if found := sign.pattern(text):
            return Blocked(sign.kind, found[1].strip("., "), sign.install, sign.hosts)
    gem = _NO_GEM.search(text)
    name = (gem[1] or gem[2]) if gem else ""
    if name in _TESTERS or name in requires:
        return Blocked("import", name, "bundle install", _RUBYGEMS)
    return None
