"""Find the toolchains of C and C++ beside CMake and a plain Makefile: Meson and autotools."""

import os
import re
from collections.abc import Collection, Iterator
from posixpath import basename
from typing import Final

from kith.core.patterns import lazy_pattern
from kith.gates.runners.junit_files import JUNIT
from kith.gates.toolchain import BUILD_FOLDER, COMMAND, Read, Toolchain, ending_with, read_text
from kith.gates.toolchains.cmake import builds_tests
from kith.gates.toolchains.manifests import MAKEFILES

_READ: Final = 40  # build files of one kind

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


def find_native(files: Collection[str], read: Read) -> tuple[Toolchain, ...]:
    """The ways of C and C++ beside CMake and a plain Makefile: they lead to the same tests."""
    return (*_find_meson(files, read), *_find_configure(files, read))


def _named(files: Collection[str], names: tuple[str, ...]) -> list[str]:
    """The files with one of these names in any folder, those nearest to the top first."""
    return sorted((path for path in ending_with(files, names) if basename(path) in names), key=len)


def native_clues(files: Collection[str]) -> tuple[str, ...]:
    """The files whose text says whether there are tests."""
    scripts = _named(files, ("meson.build", "Makefile.am", "Makefile.in"))
    options = [name for name in _MESON_OPTIONS if name in files]
    return (*scripts[: 2 * _READ], *options)
