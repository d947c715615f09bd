"""Find the toolchains of ecosystems with one usual command: of the JVM, of C without CMake, of scripts."""

import os
import re
import shlex
from collections.abc import Callable, Collection, Iterator
from posixpath import basename
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from kith.core.patterns import lazy_pattern
from kith.gates.runners.junit_files import JUNIT, PHPUNIT
from kith.gates.runners.rspec import RSPEC
from kith.gates.toolchain import BUILD_FOLDER, COMMAND, Read, Toolchain, matching, read_text
from kith.gates.toolchains.cmake import builds_tests
from kith.gates.toolchains.manifests import MAKEFILES

_READ: Final = 40  # build files of one kind

# --- the JVM ---------------------------------------------------------------------------------

# Both write a file for each class of tests. Nothing is fetched: a sandbox has no network.
_SUREFIRE: Final = ("*/target/surefire-reports/TEST-*.xml", "*/target/failsafe-reports/TEST-*.xml")
_GRADLE_REPORTS: Final = ("*/build/test-results/*/TEST-*.xml",)


def _find_maven(files: Collection[str], read: Read) -> Iterator[Toolchain]:
    if "pom.xml" not in files:
        return
    for program in ("mvn", "./mvnw") if "mvnw" in files else ("mvn",):
        line = f"{program} -B -o --fail-at-end test"
        yield Toolchain("mvn test", "Java", "pom.xml", line, JUNIT, reports=_SUREFIRE)


def _find_gradle(files: Collection[str], read: Read) -> Iterator[Toolchain]:
    names = ("build.gradle", "build.gradle.kts", "settings.gradle", "settings.gradle.kts")
    build = next((name for name in names if name in files), "")
    if not build:
        return
    for program in ("./gradlew", "gradle") if "gradlew" in files else ("gradle",):
        line = f"{program} --offline --no-daemon --continue cleanTest test"
        yield Toolchain("gradle test", "Java", build, line, JUNIT, reports=_GRADLE_REPORTS)


# --- C and C++ without CMake -----------------------------------------------------------------

_MESON_FOLDER: Final = f"{BUILD_FOLDER}/meson"
_MESON_TEST: Final = lazy_pattern(r"^\s*(?:test|benchmark)\s*\(|\.test\s*\(", re.M)
_MESON_OPTIONS: Final = ("meson.options", "meson_options.txt")
_MESON_OPTION: Final = lazy_pattern(r"\boption\s*\(\s*'([\w-]+)'([^)]*)\)")
_AUTOMAKE_TESTS: Final = lazy_pattern(
    r"^\s*(?:TESTS|check_PROGRAMS|check_SCRIPTS)\s*\+?=|^(check|check-local)\s*:", re.M
)
_TARGET: Final = lazy_pattern(r"^(check|test)\s*:", re.M)


def _find_meson(files: Collection[str], read: Read) -> Iterator[Toolchain]:
    if "meson.build" not in files:
        return
    scripts = _named(files, ("meson.build",))[:_READ]
    if not any(_MESON_TEST.search(read_text(read, path)) for path in scripts):
        return
    texts = (read_text(read, name) for name in _MESON_OPTIONS if name in files)
    options = "".join(f" -D{name}={value}" for text in texts for name, value in _meson_options(text))
    for chosen in dict.fromkeys((options, "")):
        setup = f"meson setup --wrap-mode=nodownload{chosen} {_MESON_FOLDER}"
        yield Toolchain(
            "meson test",
            _language(files),
            f"meson.build, with{chosen}" if chosen else "meson.build",
            f"meson test -C {_MESON_FOLDER} --no-rebuild --print-errorlogs",
            JUNIT,
            f"test -f {_MESON_FOLDER}/build.ninja || {setup}",
            f"ninja -C {_MESON_FOLDER}",
            reports=(f"./{_MESON_FOLDER}/meson-logs/testlog.junit.xml",),
        )


def _meson_options(text: str) -> Iterator[tuple[str, str]]:
    """Values for the options whose defaults build no tests."""
    for name, told in _MESON_OPTION.findall(re.sub(r"#[^\n]*", "", text)):
        values = dict(re.findall(r"(\w+)\s*:\s*'?(\w+)", told))
        off = {"boolean": ("false", "true"), "feature": ("disabled", "enabled")}.get(values.get("type", ""))
        if (
            off
            and values.get("value") == off[0]
            and "deprecated" not in values
            and builds_tests(name.replace("-", "_"))
        ):
            yield name, off[1]


def _find_configure(files: Collection[str], read: Read) -> Iterator[Toolchain]:
    """Projects with a `configure` script, which autotools may have to make first."""
    source = next((name for name in ("configure.ac", "configure.in", "configure") if name in files), "")
    if not source or any(name in files for name in MAKEFILES):
        return
    makefiles = _named(files, ("Makefile.am", "Makefile.in"))
    texts = [read_text(read, path) for path in makefiles[:_READ]]
    told = any(_AUTOMAKE_TESTS.search(text) for text in texts)
    target = next((match[1] for text in texts if (match := _TARGET.search(text))), "check" if told else "")
    if not target:
        return
    script = "NOCONFIGURE=1 ./autogen.sh" if "autogen.sh" in files else "autoreconf -fi"
    made = "" if source == "configure" else f"test -f configure || {script} && "
    configure, build, test = (
        f"{made}test -f Makefile || ./configure",
        f"make -j{os.cpu_count() or 2}",
        f"make -k {target}",
    )
    name, language = f"make {target}", _language(files)
    if any(path.endswith(".am") for path in makefiles):
        yield Toolchain(name, language, source, test, COMMAND, configure, build)
        return
    # Without automake the rules are written by hand: they may not say which objects a change makes old.
    clean = "! test -f Makefile || make clean"
    yield Toolchain(name, language, source, f"{configure} && {build} && {test}", clean=clean)


def _language(files: Collection[str]) -> str:
    return "C++" if any(path.endswith((".cpp", ".cc", ".cxx", ".hpp")) for path in files) else "C"


# --- scripts ---------------------------------------------------------------------------------


_GEMSPEC: Final = re.compile(r"[^/]+\.gemspec")
_RSPEC: Final = re.compile(r"spec/(?:.*/)?[^/]+_spec\.rb")
_MINITEST: Final = re.compile(r"test/(?:.*/)?(?:test_[^/]+|[^/]+_test)\.rb")
_GEM: Final = lazy_pattern(
    r"^\s*(?:gem|\w+\.add_(?:development_|runtime_)?dependency)[ (]+[\"\']([\w-]+)", re.M
)


def _find_ruby(files: Collection[str], read: Read) -> Iterator[Toolchain]:
    """RSpec's files, or those of Minitest and test-unit, by rake where it is told how."""
    bundled = ("bundle exec ", "") if "Gemfile" in files else ("",)
    manifests = [path for path in ("Gemfile", *matching(files, (".gemspec",), _GEMSPEC)) if path in files]
    gems = tuple(sorted({name for path in manifests for name in _GEM.findall(read_text(read, path))}))
    if matching(files, ("_spec.rb",), _RSPEC):
        for prefix in bundled:
            why = "spec/ has specifications"
            yield Toolchain("rspec", "Ruby", why, f"{prefix}rspec", RSPEC, requires=gems)
    elif matching(files, (".rb",), _MINITEST):
        if "Rakefile" in files:
            for prefix in bundled:
                yield Toolchain("rake test", "Ruby", "Rakefile", f"{prefix}rake test", requires=gems)
        each = 'Dir["test/**/{test_*,*_test}.rb"].sort.each { |file| require "./#{file}" }'
        line = f"ruby -Ilib:test -e '{each}'"
        yield Toolchain("ruby tests", "Ruby", "test/ has tests", line, requires=gems)


def _find_php(files: Collection[str], read: Read) -> Iterator[Toolchain]:
    where = next(
        (name for name in ("phpunit.xml", "phpunit.xml.dist", "phpunit.dist.xml") if name in files), ""
    )
    if where:
        for program in ("vendor/bin/phpunit", "phpunit"):
            yield Toolchain("phpunit", "PHP", where, program, PHPUNIT)


def _find_perl(files: Collection[str], read: Read) -> Iterator[Toolchain]:
    made = next((name for name in ("Makefile.PL", "Build.PL") if name in files), "")
    tests = any(path.startswith("t/") and path.endswith(".t") for path in files)
    if not tests or not (made or any(path.endswith(".pm") for path in files)):
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
            if any(path.endswith(".bats") and path.rpartition("/")[0] == top for path in files)
        ),
        "",
    )
    if folder:
        yield Toolchain("bats", "Shell", f"{folder}/ has files of Bats", f"bats {folder}")


# --- one manifest, one command ---------------------------------------------------------------


class _Usual(Struct, frozen=True):
    """`manifest` is a pattern for a path at the top; `other` a pattern for its text, and what then runs."""

    manifest: str
    language: str
    line: str
    other: tuple[str, str] = ("", "")


_USUAL: Final = (
    _Usual(r"mix\.exs", "Elixir", "mix test"),
    _Usual(r"Package\.swift", "Swift", "swift test"),
    _Usual(r"dune-project", "OCaml", "dune test"),
    _Usual(r"stack\.yaml", "Haskell", "stack test"),
    _Usual(r"(?:cabal\.project|[\w-]+\.cabal)", "Haskell", "cabal test --offline"),
    _Usual(r"build\.sbt", "Scala", "sbt test"),
    _Usual(r"project\.clj", "Clojure", "lein -o test"),
    _Usual(r"build\.zig", "Zig", "zig build test"),
    _Usual(r"pubspec\.yaml", "Dart", "dart test", (r"^\s*flutter\s*:", "flutter test")),
    _Usual(r"deno\.jsonc?", "TypeScript", "deno test -A", (r"\"test\"\s*:", "deno task test")),
)


_CALLED_AFTER_TESTS: Final = lazy_pattern(
    r"(?i)(?!\.github/)(?:.*[/._-])?(?:tests?|specs?)(?:[/._-].*)?(?<!\.md)|(?-i:.*[a-z]Tests?[./].*)"
)


def _find_usual(files: Collection[str], read: Read) -> Iterator[Toolchain]:
    """The first whose manifest is there, if any file is called after tests."""
    top = sorted(path for path in files if "/" not in path)
    found = next(((each, path) for each in _USUAL for path in top if re.fullmatch(each.manifest, path)), None)
    if found and any(_CALLED_AFTER_TESTS.fullmatch(path) for path in files):
        usual, path = found
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


_Finder = Callable[[Collection[str], Read], Iterator[Toolchain]]
_FINDERS: Final[tuple[_Finder, ...]] = (
    _find_maven,
    _find_gradle,
    _find_ruby,
    _find_php,
    _find_perl,
)
_LAST_FINDERS: Final[tuple[_Finder, ...]] = (_find_shell, _find_dotnet, _find_usual)


def find_ecosystems(files: Collection[str], read: Read, found: bool) -> tuple[tuple[Toolchain, ...], ...]:
    """Groups of alternatives, one for each ecosystem that is there; those of C and C++ are not among them.

    Where tests of another ecosystem were `found`, a lone manifest or script of the last ones is beside them.
    """
    groups = [group for find in _FINDERS if (group := tuple(find(files, read)))]
    if not (groups or found):
        groups = [group for find in _LAST_FINDERS if (group := tuple(find(files, read)))][:1]
    return tuple(groups)


def find_native(files: Collection[str], read: Read) -> tuple[Toolchain, ...]:
    """The ways of C and C++ beside CMake and a plain Makefile: they lead to the same tests."""
    return (*_find_meson(files, read), *_find_configure(files, read))


_MANIFESTS: Final = re.compile(r"Gemfile|[^/]+\.gemspec|pubspec\.yaml|deno\.jsonc?")


def _named(files: Collection[str], names: tuple[str, ...]) -> list[str]:
    """The files with one of these names in any folder, those nearest to the top first."""
    return sorted((path for path in files if path.endswith(names) and basename(path) in names), key=len)


def ecosystem_clues(files: Collection[str]) -> tuple[str, ...]:
    """The files whose text says whether there are tests."""
    scripts = _named(files, ("meson.build", "Makefile.am", "Makefile.in"))
    options = [name for name in _MESON_OPTIONS if name in files]
    manifests = [path for path in files if "/" not in path and _MANIFESTS.fullmatch(path)]
    return (*scripts[: 2 * _READ], *options, *sorted(manifests)[:_READ])
