"""CMake's toolchains: built in a folder that is kept between attempts, tested by CTest or a program."""

import json
import os
import re
import shlex
from collections.abc import Collection, Iterator, Mapping
from typing import Final

from kith.core.patterns import lazy_pattern
from kith.gates.runners.cpp import CTEST, PROGRAM
from kith.gates.toolchain import BUILD_FOLDER, COMMAND, Read, Toolchain, matching, read_text

# Which of a CMake project's own options make it build its tests, and which build what no test needs.

_OPTION: Final = lazy_pattern(
    r"\b(?:cmake_dependent_)?option\s*\(\s*(\w+)\s+(?:\"[^\"]*\"|\w+)\s*(\"[^\"]*\"|[^\s)\"]*)", re.I
)
_CACHED: Final = lazy_pattern(r"\bset\s*\(\s*(\w+)\s+(\w+)\s+CACHE\s+BOOL\b", re.I)
# PROJECT_BUILD_TESTS, PROJECT_TESTS, BUILD_UNIT_TESTS, ENABLE_TESTING, PROJECT_TEST; not PROJECT_FUZZ_TEST.
_BUILDS_TESTS: Final = lazy_pattern(r"(?:\w+_)?(?:UNIT_?)?TEST(?:S|ING)?(?:_ENABLED?|_ON)?", re.I)
_SPECIAL: Final = lazy_pattern(
    r"CUDA|GPU|HIP|SYCL|FUZZ|PERF|BENCH|COVER|SAN\b|SANITI|VALGRIND|INSTALL|PYTHON|JAVA|RUBY|MODULE|NETWORK|ONLINE|EXTERN"
    r"|SYSTEM|DOWNLOAD|LARGE|LONG|SLOW|STRESS|HEAVY|MPI|QT|WASM|ANDROID|IOS|NO_|DISABLE|SKIP|WITHOUT|INTERNAL|COMPILE_FAIL"
    r"|HUNTER|VCPKG|CONAN|MEMORY|LEAK",
    re.I,
)
_NEEDLESS: Final = lazy_pattern(
    r"(?:\w+_)?(?:BUILD_|ENABLE_|WITH_|MAKE_)?(?:DOCS?|DOCUMENTATION|BENCHMARKS?|FUZZ(?:ERS?|ING)?)", re.I
)
_OFF: Final = ("OFF", "FALSE", "NO", "N", "0", "")


def builds_tests(option: str) -> bool:
    """True if an option is called after tests that need nothing special."""
    return bool(_BUILDS_TESTS.fullmatch(option)) and not _SPECIAL.search(option)


def test_options(text: str) -> Mapping[str, str]:
    """Values for the options whose defaults build no tests, or build what no test needs."""
    options = {name: default.strip('"') for name, default in (*_OPTION.findall(text), *_CACHED.findall(text))}
    chosen = {
        name: "ON" for name, default in options.items() if builds_tests(name) and default.upper() in _OFF
    }
    if chosen and "BUILD_TESTING" not in options and re.search(r"\bBUILD_TESTING\b", text):
        chosen = {"BUILD_TESTING": "ON", **chosen}
    if not (chosen or options):
        return chosen
    needless = [
        name for name, default in options.items() if _NEEDLESS.fullmatch(name) and default.upper() not in _OFF
    ]
    return {**chosen, **dict.fromkeys(needless, "OFF")}


PRESET_FOLDER: Final = f"{BUILD_FOLDER}/preset"  # its generator may be another one
# Most time goes into building, so nothing is optimised and nothing is described for a debugger.
_QUICK: Final = " -DCMAKE_BUILD_TYPE=Debug -DCMAKE_C_FLAGS_DEBUG=-O0 -DCMAKE_CXX_FLAGS_DEBUG=-O0"
_TOP: Final = "CMakeLists.txt"
_PRESETS: Final = "CMakePresets.json"
_INNER: Final = lazy_pattern(r"(?:[^/]+/)?(?:unit[-_]?)?tests?(?:ing)?/(?:unit/)?CMakeLists\.txt", re.I)
_INCLUDED: Final = lazy_pattern(r"cmake/[^/]*(?:test|option|setting)[^/]*\.cmake", re.I)
_INNER_READ: Final = 8
_TELLS_CTEST: Final = lazy_pattern(
    r"\b(enable_testing|add_test|include\s*\(\s*CTest\b|(?:gtest|catch|doctest)_discover_tests|gtest_add_tests)",
    re.I,
)
# A target of its own that starts something and is called after tests: CTest knows nothing of it.
_TESTING_TARGET: Final = lazy_pattern(
    r"\badd_custom_target\s*\(\s*(check|(?:run[-_]?)?(?:unit[-_]?)?tests?)\s+"
    r"(?:(?:DEPENDS|COMMENT)\b[^)]*\bCOMMAND\b|(?!(?:ALL|DEPENDS|SOURCES|COMMENT|WORKING_DIRECTORY)\b)[^)\s])",
    re.I,
)
_ELSEWHERE: Final = lazy_pattern(
    r"win|msvc|vs20|mac|osx|apple|android|ios|cross|arm|emscripten|wasm|tidy|doc", re.I
)
_MOST_PROGRAMS: Final = 8


def cmake_clues(files: Collection[str]) -> tuple[str, ...]:
    """The scripts that may say how tests are built."""
    inner = sorted((*matching(files, (_TOP,), _INNER), *matching(files, (".cmake",), _INCLUDED)))
    return (*(path for path in (_TOP, _PRESETS) if path in files), *inner[:_INNER_READ])


def find_cmake(files: Collection[str], read: Read) -> tuple[Toolchain, ...]:
    """Ways to build and run the tests of a CMakeLists.txt, at the top or in a folder of tests."""
    scripts = {path: _script(read, path) for path in cmake_clues(files) if path != _PRESETS}
    top = scripts.get(_TOP, "")
    inner = {path: text for path, text in scripts.items() if path.endswith(f"/{_TOP}")}
    alone = [path for path, text in inner.items() if re.search(r"\bproject\s*\(", text, re.I)]
    added = [path for path in inner if _adds(top, path.removesuffix(f"/{_TOP}"))]
    found: list[Toolchain] = []
    if _TELLS_CTEST.search(top) or added or test_options(top) or _TESTING_TARGET.search(top):
        found += _of_top(scripts, {path: inner[path] for path in added}, files)
    found = found or [
        _of_folder(path.removesuffix(f"/{_TOP}"), inner[path], files) for path in alone if path not in added
    ]
    found += _of_preset(files, read) if found else ()
    return tuple(found[:4])


def _of_top(scripts: dict[str, str], added: dict[str, str], files: Collection[str]) -> Iterator[Toolchain]:
    text = "\n".join(scripts.values())
    options = "".join(f" -D{name}={value}" for name, value in test_options(text).items())
    told = next(
        (match for script in (scripts[_TOP], *added.values()) if (match := _TELLS_CTEST.search(script))), None
    )
    programs = (
        [] if re.search(r"\badd_test|_discover_tests|gtest_add_tests", text, re.I) else list(_programs(added))
    )
    if programs:
        yield _program_toolchain(programs, options, files)
    elif told or options:
        why = f"CMakeLists.txt has {_named(told[1])}" if told else f"CMakeLists.txt has{options}"
        yield _ctest_toolchain(why, ".", f"{_QUICK}{options}", files)
        yield _ctest_toolchain(f"{why}, built as it says", ".", options, files)
    if not told and not programs and (target := _TESTING_TARGET.search(text)):
        yield _target_toolchain(target[1], options, files)


def _named(call: str) -> str:
    return re.sub(r"\s*\(\s*(\w+)$", r"(\1)", call)


def _of_folder(folder: str, text: str, files: Collection[str]) -> Toolchain:
    programs = [] if _TELLS_CTEST.search(text) else list(_programs({_TOP: text}))
    if programs:
        return _program_toolchain(programs, "", files, folder)
    return _ctest_toolchain(f"{folder}/{_TOP} is a project", folder, _QUICK, files)


def _of_preset(files: Collection[str], read: Read) -> Iterator[Toolchain]:
    """The preset that is meant for tests, or the first one that could be for this machine."""
    try:
        data = json.loads(read(_PRESETS) or b"{}") if _PRESETS in files else {}
        tested = [str(each.get("configurePreset", "")) for each in data.get("testPresets", ())]
        named = [str(each["name"]) for each in data.get("configurePresets", ()) if not each.get("hidden")]
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return
    usable = [name for name in (*tested, *named) if name in named and not _ELSEWHERE.search(name)]
    for name in usable[:1]:
        line = f"cmake --preset {shlex.quote(name)} -B {PRESET_FOLDER} -DCMAKE_EXPORT_COMPILE_COMMANDS=ON"
        yield Toolchain(
            "ctest",
            _language(files),
            f"{_PRESETS} has {name}",
            ctest_line(PRESET_FOLDER),
            CTEST,
            line,
            build_line(PRESET_FOLDER),
        )


def _ctest_toolchain(why: str, source: str, options: str, files: Collection[str]) -> Toolchain:
    return Toolchain(
        "ctest",
        _language(files),
        why,
        ctest_line(BUILD_FOLDER),
        CTEST,
        configure_line(options, source),
        build_line(BUILD_FOLDER),
        coverage="--coverage",
    )


def _target_toolchain(target: str, options: str, files: Collection[str]) -> Toolchain:
    return Toolchain(
        f"cmake --target {target}",
        _language(files),
        f"CMakeLists.txt has a target {target}",
        f"cmake --build {BUILD_FOLDER} --target {target}",
        COMMAND,
        configure_line(f"{_QUICK}{options}"),
        build_line(BUILD_FOLDER),
    )


def _program_toolchain(
    programs: list[tuple[str, str]], options: str, files: Collection[str], source: str = "."
) -> Toolchain:
    """Tests that CTest is not told of: only their programs are built, and started one after the other."""
    targets = " ".join(shlex.quote(target) for target, _ in programs)
    return Toolchain(
        "tests",
        _language(files),
        f"{_TOP if source == '.' else f'{source}/{_TOP}'} builds {programs[0][0]}",
        " && ".join(shlex.quote(f"{BUILD_FOLDER}/{path}") for _, path in programs),
        PROGRAM,
        configure_line(f"{_QUICK}{options}", source),
        f"{build_line(BUILD_FOLDER)} --target {targets}",
        coverage="--coverage",
    )


def _programs(added: dict[str, str]) -> Iterator[tuple[str, str]]:
    """(target, path in the build folder) of the programs that the folders of tests build."""
    for path, text in list(added.items())[:_MOST_PROGRAMS]:
        folder = path.rpartition("/")[0]
        values = dict(re.findall(r"\bset\s*\(\s*(\w+)\s+\"?([\w./-]+)\"?\s*\)", text, re.I))
        project = re.search(r"\bproject\s*\(\s*([\w.-]+)", text, re.I)
        values["PROJECT_NAME"] = project[1] if project else ""
        where = re.search(
            r"RUNTIME_OUTPUT_DIRECTORY\w*\s+\"?\$\{(?:CMAKE|PROJECT)_BINARY_DIR\}/?([\w./-]*)", text
        )
        for target in re.findall(r"\badd_executable\s*\(\s*([\w${}.-]+)", text, re.I):
            plain = _resolve(target, values)
            if "$" in plain:
                continue
            output = re.search(
                rf"\bset_target_properties\s*\(\s*{re.escape(target)}\s[^)]*OUTPUT_NAME\s+\"?([\w.-]+)",
                text,
                re.I,
            )
            name = output[1] if output else plain
            yield plain, "/".join(filter(None, (where[1].strip("/") if where else folder, name)))


def _resolve(text: str, values: Mapping[str, str]) -> str:
    return re.sub(r"\$\{(\w+)\}", lambda match: values.get(match[1], match[0]), text)


def _script(read: Read, path: str) -> str:
    return re.sub(r"#\[\[.*?\]\]|#[^\n]*", "", read_text(read, path), flags=re.S)


def _adds(text: str, folder: str) -> bool:
    """True if a script adds this folder, or a folder above it."""
    parts = folder.split("/")
    folders = ["/".join(parts[:length]) for length in range(1, len(parts) + 1)]
    return any(
        re.search(rf"\badd_subdirectory\s*\(\s*\"?{re.escape(each)}/?\"?[\s)]", text, re.I)
        for each in folders
    )


def _language(files: Collection[str]) -> str:
    return "C++" if any(path.endswith((".cpp", ".cc", ".cxx", ".hpp")) for path in files) else "C"


def configure_line(options: str = "", source: str = ".") -> str:
    """Configuring once is enough: CMake detects when a later build has to do it again."""
    configure = (
        f"cmake -S {shlex.quote(source)} -B {BUILD_FOLDER} -DCMAKE_EXPORT_COMPILE_COMMANDS=ON{options}"
    )
    return f'{configure} && cmake -E echo "*" > {BUILD_FOLDER}/.gitignore'


def build_line(folder: str) -> str:
    return f"cmake --build {folder} --parallel {os.cpu_count() or 2}"


def ctest_line(folder: str) -> str:
    """Before CMake 3.20 CTest had no `--test-dir` and would find no tests, which is no failure to it."""
    return f"cmake -E chdir {folder} ctest --output-on-failure"
