"""Ecosystems with one usual command, whose exit code and output count."""

import re
import shlex
from collections.abc import Collection, Iterator
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from kith.core.patterns import lazy_pattern
from kith.gates.toolchain import Ecosystem, Read, Toolchain, ending_with, read_text


def _find_perl(files: Collection[str], read: Read) -> Iterator[Toolchain]:
    made = next((name for name in ("Makefile.PL", "Build.PL") if name in files), "")
    tests = any(path.startswith("t/") for path in ending_with(files, (".t",)))
    if not tests or not (made or any(ending_with(files, (".pm",)))):
        return
    whole = Toolchain("prove", "Perl", made or "t/ has tests", "prove -lr t")
    compiled = {"Makefile.PL": "perl Makefile.PL && make", "Build.PL": "perl Build.PL && ./Build"}.get(
        made, ""
    )
    if compiled:  # with what is written in C, or made by the build; also where the plain files need it
        yield replace(whole, run="prove -br t", build=compiled)
    yield whole


def _find_shell(files: Collection[str], read: Read) -> Iterator[Toolchain]:
    folder = next(
        (
            top
            for top in ("test", "tests")
            if any(path.rpartition("/")[0] == top for path in ending_with(files, (".bats",)))
        ),
        "",
    )
    if folder:
        yield Toolchain("bats", "Shell", f"{folder}/ has files of Bats", f"bats {folder}")


# --- one manifest, one command ---------------------------------------------------------------


class _Usual(Struct, frozen=True):
    """`manifest` is a pattern for a path at the top; `other` a pattern for its text, and what then runs.

    `tests` is a pattern for its text that says there are tests, where these are in the sources.
    """

    manifest: str
    language: str
    line: str
    other: tuple[str, str] = ("", "")
    tests: str = ""


_USUAL: Final = (
    _Usual(r"mix\.exs", "Elixir", "mix test"),
    _Usual(r"Package\.swift", "Swift", "swift test"),
    _Usual(r"dune-project", "OCaml", "dune test"),
    _Usual(r"stack\.yaml", "Haskell", "stack test"),
    _Usual(r"(?:cabal\.project|[\w-]+\.cabal)", "Haskell", "cabal test --offline"),
    _Usual(r"build\.sbt", "Scala", "sbt test"),
    _Usual(r"project\.clj", "Clojure", "lein -o test"),
    _Usual(r"build\.zig", "Zig", "zig build test", tests=r"\.step\(\s*\"test\""),
    _Usual(r"pubspec\.yaml", "Dart", "dart test", (r"^\s*flutter\s*:", "flutter test")),
    _Usual(r"deno\.jsonc?", "TypeScript", "deno test -A", (r"\"test\"\s*:", "deno task test")),
)


_CALLED_AFTER_TESTS: Final = lazy_pattern(
    r"(?i)(?!\.github/)(?:.*[/._-])?(?:tests?|specs?)(?:[/._-].*)?(?<!\.md)|(?-i:.*[a-z]Tests?[./].*)"
)


def _find_usual(files: Collection[str], read: Read) -> Iterator[Toolchain]:
    """The first whose manifest is there, if it or a file's name says that there are tests."""
    top = sorted(path for path in files if "/" not in path)
    found = next(((each, path) for each in _USUAL for path in top if re.fullmatch(each.manifest, path)), None)
    if not found:
        return
    usual, path = found
    stated = bool(usual.tests) and re.search(usual.tests, read_text(read, path))
    if stated or any(map(_CALLED_AFTER_TESTS.fullmatch, files)):
        pattern, other = usual.other
        said = bool(pattern) and re.search(pattern, read_text(read, path), re.M)
        line = other if said else usual.line
        yield Toolchain(line, usual.language, path, line)


def _find_dotnet(files: Collection[str], read: Read) -> Iterator[Toolchain]:
    """A solution, or a project at the top, of .NET: solutions of C++ have no such projects."""
    projects = [path for path in files if path.endswith((".csproj", ".fsproj", ".vbproj"))]
    if not any(re.search(r"[Tt]ests?\b", path) for path in projects):
        return
    top = [path for path in files if "/" not in path and path.endswith((".sln", ".slnx"))] or [
        path for path in projects if "/" not in path
    ]
    for path in sorted(top, key=len)[:1]:
        line = f"dotnet test {shlex.quote(path)}"
        yield Toolchain("dotnet test", "C#", path, line)


PERL: Final = Ecosystem(_find_perl)
SHELL: Final = Ecosystem(_find_shell, asked="last")
DOTNET: Final = Ecosystem(_find_dotnet, asked="last")
USUAL: Final = Ecosystem(_find_usual, clues=r"pubspec\.yaml|deno\.jsonc?|build\.zig", asked="last")
