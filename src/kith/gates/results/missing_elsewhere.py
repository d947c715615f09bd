"""Find what tests lack of the package managers of the JVM, Ruby, PHP, Perl, Elixir, Meson and autotools."""

import re
from collections.abc import Callable
from typing import Final

from msgspec import Struct

from kith.core.evidence import Blocked
from kith.core.evidence import Missing as Kind
from kith.core.patterns import lazy_pattern

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


_SIGNS: Final = (
    _sign(r"ERROR: Dependency \"([^\"\n]+)\" not found", "import"),
    _sign(r"ERROR: Program \'([^\'\n]+)\' not found", "tool"),
    _sign(r"configure: error: Package requirements \((\S+)[^)\n]*\) were not met", "import"),
    _sign(r"configure: error: (?:cannot find |missing )(\S+)", "import"),
    _sign(r"possibly undefined macro: (\w+)", "tool"),
    _sign(
        r"(?:Could not find|Failed to read|Failure to find|Cannot access \S+ \(\S+\) in offline mode"
        r"[^\n]*?) (?:artifact (?:descriptor for )?)?([\w.-]+:[\w.:-]+)",
        "import",
        "mvn -B dependency:go-offline",
        _MAVEN_CENTRAL,
    ),
    _sign(
        r"in offline mode and the artifact ([\w.:-]+)",
        "import",
        "mvn -B dependency:go-offline",
        _MAVEN_CENTRAL,
    ),
    _sign(
        r"Plugin ([\w.:-]+) or one of its dependencies could not be resolved",
        "tool",
        "mvn -B dependency:go-offline",
        _MAVEN_CENTRAL,
    ),
    _sign(r"No cached version of (\S+) available for offline mode", "import", "gradle assemble", _GRADLE),
    _sign(r"java\.net\.(?:UnknownHost|Connect|NoRouteToHost|Socket)Exception: ([\w.-]+\.\w+)", "network"),
    _sign(
        r"Could not find (?:gem \')?([\w-]+)[^\n]*"
        r" in (?:any of the (?:gem )?sources|locally installed gems|cached gems)",
        "import",
        "bundle install",
        _RUBYGEMS,
    ),
    _sign(r"bundler: command not found: (\S+)", "runner", "bundle install", _RUBYGEMS),
    _sign(
        r"(vendor/autoload\.php)[\'\"]? ?(?:\(include_path|\. Failed|: No such|could not|does not exist)",
        "import",
        "composer install",
        _PACKAGIST,
    ),
    _sign(
        r"Can\'t locate [\w/]+\.pm in @INC \(you may need to install the ([\w:]+) module\)",
        "import",
        "cpanm --installdeps .",
        _CPAN,
    ),
    _sign(
        r"^\*? ?(?:Unchecked dependencies for environment|the dependency is not available, run)"
        r" \"?(test|mix deps\.get)",
        "import",
        "mix deps.get",
        _HEX,
    ),
)


def find_missing_elsewhere(text: str) -> Blocked | None:
    """Return what the output says is missing; None where it says nothing of the kind."""
    for sign in _SIGNS:
        if found := sign.pattern(text):
            return Blocked(sign.kind, found[1], sign.install, sign.hosts)
    return None
