"""Find which sources of a project use which others: what they import, and what they name."""

import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from posixpath import basename, dirname, splitext
from typing import Any, Final

from kith.context.imports import SCRIPT_ENDINGS, Resolver, find_imports
from kith.context.source import CPP_ENDINGS
from kith.context.symbols import PYTHON_ENDINGS
from kith.core.patterns import lazy_pattern
from kith.core.toml_text import inner_table, read_toml
from kith.gates.evidence.script_imports import PACKAGE, TS_CONFIGS, find_places, read_aliases
from kith.gates.evidence.source_facts import SourceFacts
from kith.gates.toolchains.manifests import parse_object

_CRATE: Final = "Cargo.toml"
_GO_MODULE: Final = "go.mod"
_PYPROJECT: Final = "pyproject.toml"
MANIFESTS: Final = frozenset({PACKAGE, _CRATE, _GO_MODULE, _PYPROJECT, *TS_CONFIGS})
_OF_FOLDERS: Final = frozenset({"__init__", "index", "mod"})  # sources that stand for their folder
_FOLLOWED: Final = frozenset({*PYTHON_ENDINGS, *CPP_ENDINGS, *SCRIPT_ENDINGS, ".go", ".rs"})
_WORD: Final = lazy_pattern(r"\w+")
_DASHED: Final = lazy_pattern(r"\b\w+(?:-\w+)+")
# Where a plain word such as `data` is the name of a source, and no word of its language.
_IMPORTING: Final = lazy_pattern(r"\b(?:import|require|use|using|include|source|load|alias|autoload)|:as\b")
_PLAIN: Final = lazy_pattern(r"(?<=[/\\])\w+|(?<!\w)\w+(?=:\w)")
_FILE: Final = lazy_pattern(r"(?<![\w-])[\w-]+\.\w+")
_FIXTURE: Final = lazy_pattern(
    r"^@(?:pytest[._])?(?:\w+\.)?fixture\b(.{0,2000}?)^(?:async )?def (\w+)", re.M | re.S
)
_NAMED: Final = lazy_pattern(r"""\bname\s*=\s*["'](\w+)""")
_SETTINGS: Final = lazy_pattern(r"\bDJANGO_SETTINGS_MODULE[\"'\],=\s]+([\w.]+)")
_OF_DJANGO: Final = lazy_pattern(
    r"\bdjango(?:\.test\b|_db\b)|\brest_framework\.test\b|\bself\.client\b|\bdef test\w*\([^)]*\bclient\b"
)
_WALKS: Final = lazy_pattern(r"\b(?:walk_packages|iter_modules)\b")


def has_imports(path: str) -> bool:
    """True for a source whose imports are resolved to files; others use whatever they name."""
    return splitext(path)[1].lower() in _FOLLOWED


def module_name(path: str) -> str:
    """The last part of the name under which others know a source; a package's is its folder's."""
    name = splitext(basename(path))[0]
    return basename(dirname(path)) or name if name in _OF_FOLDERS else name


def find_users(
    texts: Mapping[str, str], facts: Mapping[str, SourceFacts], manifests: Mapping[str, str]
) -> Mapping[str, set[str]]:
    """For each file those that use it directly; the files of a Go package use each other.

    A header uses the source that implements it. `facts` are those of the texts, `manifests` the files of
    these names.
    """
    users = defaultdict[str, set[str]](set)
    resolver = Resolver(sorted(texts), go_modules=_go_modules(manifests), mains=_mains(manifests))
    python = {path: text for path, text in texts.items() if path.endswith(".py")}
    pairs = (
        _by_imports(facts, manifests, resolver),
        _by_crate({path: text for path, text in texts.items() if path.endswith(".rs")}, manifests),
        _by_name({path: text for path, text in texts.items() if not has_imports(path)}),
        _by_path(texts, facts),
        _by_dotted_name(python, facts, manifests, resolver),
        _by_fixture(python),
        _by_django(python, resolver),
        _by_walk(python, facts, resolver),
    )
    for found in pairs:
        for used, user in found:
            users[used].add(user)
    packages = defaultdict[str, set[str]](set)
    for path in texts:
        if path.endswith(".go"):
            packages[path.rpartition("/")[0] + "/"].add(path)
    for folder, members in packages.items():
        for path in members:
            users[path] |= members | users.get(folder, set())
    return users


_Uses = Iterator[tuple[str, str]]  # what is used, and who uses it


def _by_imports(facts: Mapping[str, SourceFacts], manifests: Mapping[str, str], resolver: Resolver) -> _Uses:
    aliases = read_aliases(manifests)
    for path, own in sorted(facts.items()):
        targets = {target for target, _ in resolver.resolve(path, own.imports)}
        targets.update(resolver.scripts_at(find_places(path, own.packages, aliases)))
        for target in targets:
            yield target, path
            if _implements(path, target):
                yield path, target


def _implements(path: str, header: str) -> bool:
    """True if a C or C++ source implements a header, so that including the header runs the source."""
    (name, ending), (declared, _) = (splitext(basename(each)) for each in (path, header))
    return ending.lower() in CPP_ENDINGS and name == declared


def _by_crate(texts: Mapping[str, str], manifests: Mapping[str, str]) -> _Uses:
    """The sources of Rust that name a library of the project, such as its integration tests."""
    crates = _crates(manifests)
    if not crates:
        return
    pattern = re.compile(rf"\b({'|'.join(map(re.escape, crates))})::")
    for path, text in texts.items():
        for name in set(pattern.findall(text)):
            yield crates[name], path


def _by_name(texts: Mapping[str, str]) -> _Uses:
    """The sources that hold the name of another as a word: `cart_item.rb` is `cart_item` or `CartItem`.

    A name of one small word counts only where something is imported, or in a path.
    """
    named = defaultdict[str, set[str]](set)
    for path in texts:
        name = module_name(path)
        parts = re.split(r"[_-]", name)
        for each in (name, "".join(part[:1].upper() + part[1:] for part in parts)):
            named[each].add(path)
        named[basename(path)].add(path)
    plain = {name for name in named if name.islower() and name.isalnum()}
    for path, text in texts.items():
        words = {*_WORD.findall(text), *_DASHED.findall(text)} - plain
        words.update(_PLAIN.findall(text), _FILE.findall(text))
        for line in text.splitlines() if plain else ():
            if _IMPORTING.search(line):
                words.update(_WORD.findall(line))
        for word in named.keys() & words:
            yield from ((target, path) for target in named[word] - {path})


def _by_path(texts: Mapping[str, str], facts: Mapping[str, SourceFacts]) -> _Uses:
    """The sources that hold the path of one other, to start it as a program; imports have paths, too."""
    named = defaultdict[str, list[str]](list)
    for path in texts:
        if module_name(path) == splitext(basename(path))[0]:
            named[basename(path)].append(path)
    for path, own in facts.items():
        for found in own.programs:
            inside = re.sub(r"^(?:\.{0,2}/)+", "", found)
            ends = [each for each in named.get(basename(inside), ()) if f"/{each}".endswith(f"/{inside}")]
            if len(ends) == 1:
                yield ends[0], path


# --- Python ----------------------------------------------------------------------------------


def _by_dotted_name(
    texts: Mapping[str, str],
    facts: Mapping[str, SourceFacts],
    manifests: Mapping[str, str],
    resolver: Resolver,
) -> _Uses:
    """The sources with a module's whole name: `-m pkg.cli`, a setting, an attribute of a package.

    A command that the project installs is its module.
    """
    heads = {part for path in texts for part in splitext(path)[0].split("/")}
    commands = _commands(manifests)
    quoted = re.compile(rf"""["']({"|".join(map(re.escape, commands))})["'\s]""") if commands else None
    for path, text in texts.items():
        named = (*facts[path].dotted, *facts[path].quoted)
        names = {name for name in named if name.partition(".")[0] in heads}
        names |= {commands[each] for each in quoted.findall(text)} if quoted else set()
        for name in names:
            while "." in name:
                if found := [target for target, _ in resolver.resolve(path, (name,))]:
                    yield from ((target, path) for target in found if target != path)
                    break
                name = name.rpartition(".")[0]


def _commands(manifests: Mapping[str, str]) -> Mapping[str, str]:
    """The commands that a pyproject.toml defines -> their modules."""
    found: dict[str, str] = {}
    for _, text in _of_kind(manifests, _PYPROJECT):
        tables = read_toml(text)
        for table in (("project", "scripts"), ("tool", "poetry", "scripts")):
            told = inner_table(tables, *table).items()
            found |= {name: place.partition(":")[0] for name, place in told if isinstance(place, str)}
    return found


def _by_fixture(texts: Mapping[str, str]) -> _Uses:
    """The sources below a conftest.py that name one of its fixtures, or all where one is for all."""
    for path, text in texts.items():
        if basename(path) != "conftest.py":
            continue
        found = _FIXTURE.findall(text)
        names = {name for options, own in found for name in (own, *_NAMED.findall(options))}
        for_all = any("autouse" in options for options, _ in found)
        folder = path.removesuffix("conftest.py")
        for other, words in texts.items():
            if other.startswith(folder) and (for_all or _holds_word(words, names)):
                yield path, other


def _holds_word(text: str, words: Collection[str]) -> bool:
    likely = {word for word in words if word in text}  # far quicker than to divide a text into its words
    return bool(likely) and not likely.isdisjoint(_WORD.findall(text))


def _by_django(texts: Mapping[str, str], resolver: Resolver) -> _Uses:
    """Tests with Django's client name addresses; what these lead to is in the settings."""
    naming = (text for text in texts.values() if "DJANGO_SETTINGS_MODULE" in text)  # sooner than a pattern
    named = {name for text in naming for name in _SETTINGS.findall(text)}
    for path, text in texts.items() if named else ():
        if _OF_DJANGO.search(text):
            yield from ((target, path) for target, _ in resolver.resolve(path, named) if target != path)


def _by_walk(texts: Mapping[str, str], facts: Mapping[str, SourceFacts], resolver: Resolver) -> _Uses:
    """The sources that import a package and ask which modules it has."""
    for path, text in texts.items():
        if any(name in text for name in ("walk_packages", "iter_modules")) and _WALKS.search(text):
            imported = (target for target, _ in resolver.resolve(path, facts[path].imports))
            for folder in {dirname(target) for target in imported if basename(target) == "__init__.py"}:
                yield from ((other, path) for other in texts if other.startswith(f"{folder}/"))


# --- what the manifests of other languages tell ----------------------------------------------


def _mains(manifests: Mapping[str, str]) -> Mapping[str, str]:
    """Each folder with a package.json -> the file that an import of the folder means."""
    packages = _of_kind(manifests, PACKAGE)
    return {folder: _main_of(parse_object(text)) for folder, text in packages}


def _main_of(package: Mapping[str, Any]) -> str:
    exports = package.get("exports")
    exports = exports.get(".", exports) if isinstance(exports, dict) else exports
    if isinstance(exports, dict):
        exports = exports.get("default")
    return next((main for main in (package.get("main"), exports) if isinstance(main, str)), "index.js")


def _crates(manifests: Mapping[str, str]) -> Mapping[str, str]:
    """The name of each library of Rust -> its root; https://doc.rust-lang.org/cargo/reference/manifest.html."""
    found = {}
    for folder, text in _of_kind(manifests, _CRATE):
        tables = read_toml(text)
        library, package = inner_table(tables, "lib"), inner_table(tables, "package")
        name, path = library.get("name", package.get("name")), library.get("path", "src/lib.rs")
        if isinstance(name, str) and isinstance(path, str):
            found[name.replace("-", "_")] = folder + path
    return found


def _go_modules(manifests: Mapping[str, str]) -> Mapping[str, str]:
    """Each folder with a go.mod -> the name of its module."""
    named = ((folder, find_imports(_GO_MODULE, text)) for folder, text in _of_kind(manifests, _GO_MODULE))
    return {folder: names[0].removeprefix("module ") for folder, names in named if names}


def _of_kind(manifests: Mapping[str, str], name: str) -> Iterator[tuple[str, str]]:
    """The folders, with a slash, and texts of the manifests with this name."""
    return ((path.removesuffix(name), text) for path, text in manifests.items() if basename(path) == name)
