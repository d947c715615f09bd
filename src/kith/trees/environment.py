"""Find the programs, variables and installed packages of a command outside the tree."""

import os
import re
import shutil
import stat
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Final

from msgspec import Struct

from kith.trees.virtual_environments import VENVS, find_environment

# Which programs outside /usr a command may see, and which variables it gets.

# Version managers: the variable that says where one is, its folder in the home where none does, and the parts
# of it that commands may see (none named: all). The home itself and whatever holds credentials
# (.cargo/credentials.toml, .m2/settings.xml, .gradle/gradle.properties, .local/share/uv/credentials, .config)
# stay hidden.
_MANAGERS: Final[Mapping[str, tuple[str, tuple[str, ...]]]] = {
    "PYENV_ROOT": (".pyenv", ()),
    "RBENV_ROOT": (".rbenv", ()),
    "NODENV_ROOT": (".nodenv", ()),
    "GOENV_ROOT": (".goenv", ()),
    "JENV_ROOT": (".jenv", ()),
    "RUSTUP_HOME": (".rustup", ()),
    "CARGO_HOME": (".cargo", ("bin", "registry", "git")),
    "NVM_DIR": (".nvm", ()),
    "VOLTA_HOME": (".volta", ()),
    "BUN_INSTALL": (".bun", ()),
    "DENO_INSTALL": (".deno", ()),
    "ASDF_DATA_DIR": (".asdf", ()),
    "SDKMAN_DIR": (".sdkman", ()),
    "MISE_DATA_DIR": (".local/share/mise", ()),
    "PROTO_HOME": (".proto", ()),
    "GOPATH": ("go", ("bin", "pkg")),
}
# What is only where such a variable says.
_INSTALLATIONS: Final = (
    *("JAVA_HOME", "GOROOT", "DOTNET_ROOT", "M2_HOME", "MAVEN_HOME", "GRADLE_HOME", "FNM_DIR"),
    "UV_PYTHON_INSTALL_DIR",
)
_IN_HOME: Final = (
    *("sdk", ".local/bin", ".local/lib", ".local/go", ".local/opt", ".dotnet", ".ghcup/bin", ".ghcup/ghc"),
    *(".juliaup", ".opam", ".rvm", ".rye", ".pixi/bin", ".pixi/envs", ".npm-global", ".local/share/uv/tools"),
    *(".local/share/pipx", ".local/share/pnpm", ".local/pipx", ".m2/repository", "miniconda3", "anaconda3"),
    *("mambaforge", "miniforge3", "micromamba", ".conda/envs", ".gradle/wrapper", ".gradle/caches"),
    *(".local/share/fnm", ".local/share/uv/python"),
)
_OF_SETTINGS: Final = ("/etc", "/var", "/run", "/dev", "/proc", "/sys", "/boot")
_NVM: Final = (".config", "nvm")  # where nvm lies for who has XDG_CONFIG_HOME
_PERSONAL: Final = (".ssh", ".gnupg", ".aws", ".config", ".kube", ".docker")
_BREWED = ("bin", "sbin", "lib", "libexec", "opt", "share", "include", "Cellar")  # not var, with its sockets
_WITH_PROGRAMS = ("bin", "sbin", "lib", "lib64", "libexec", "include", "pyvenv.cfg")
# Not every LC_*: people send whatever they like through ssh under such names.
_LOCALE = ("ALL", "CTYPE", "NUMERIC", "TIME", "COLLATE", "MONETARY", "MESSAGES", "PAPER", "MEASUREMENT")
_PASSED = (
    *("LANG", "LANGUAGE", "TERM", "TZ", "COLUMNS", "SYSTEMROOT", "COMSPEC", "PATHEXT"),
    *(f"LC_{category}" for category in _LOCALE),
    # Which versions, compilers and flags the person chose.
    *(
        "PYENV_VERSION",
        "RBENV_VERSION",
        "NODENV_VERSION",
        "GOENV_VERSION",
        "JENV_VERSION",
        "RUSTUP_TOOLCHAIN",
    ),
    *("CC", "CXX", "CPP", "FC", "AR", "LD", "CFLAGS", "CXXFLAGS", "CPPFLAGS", "FFLAGS", "LDFLAGS", "LDLIBS"),
    *("RUSTFLAGS", "GOFLAGS", "GOTOOLCHAIN", "CMAKE_GENERATOR", "CMAKE_PREFIX_PATH"),
    *("CMAKE_BUILD_PARALLEL_LEVEL", "PKG_CONFIG_PATH"),
)
_MOST_READ = 64 << 10  # bytes of a file that the project brings along
_SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib64", "/opt", "/nix")


class Surroundings(Struct, frozen=True):
    """The things outside a tree that its commands find: folders that they can read, and variables.

    `venv`: the virtual environment of the project, where it is not in the tree.
    """

    folders: tuple[Path, ...] = ()
    variables: Mapping[str, str] = {}
    venv: Path | None = None


def find_surroundings(root: Path, pass_env: Iterable[str] = ()) -> Surroundings:
    """The folders outside /usr that commands in the tree at `root` need, and the variables that they get.

    Of kith's own variables the known ones are passed, so that no credential is among them. The person can
    name more in `pass_env`.
    """
    venv = find_environment(root)
    folders = _find_folders(root, venv)
    passed = {name: os.environ[name] for name in (*_PASSED, *pass_env) if name in os.environ}
    return Surroundings(folders, {**_places(root), **passed}, venv)


def _find_folders(root: Path, venv: Path | None) -> tuple[Path, ...]:
    home = _home()
    found = [
        *(home / name for name in _IN_HOME),
        *(path / part for variable, path in _managers(root) for part in _MANAGERS[variable][1] or (".",)),
        *(path for _, path in _installations(root)),
        *(Path("/home/linuxbrew/.linuxbrew", name) for name in _BREWED),
        Path("/run/current-system"),  # NixOS keeps its programs here
        Path(sys.base_prefix),
        *_environments(root, venv),
        *_searched(root),
        *_repository(root),
    ]
    found += list(_targets(found))
    existing = dict.fromkeys(
        each for path in found if os.access(path, os.R_OK) for each in (path, path.resolve())
    )
    kept = [path for path in existing if _is_wanted(path, root)]
    return tuple(
        path for path in kept if not any(path.is_relative_to(other) for other in kept if other != path)
    )


def _managers(root: Path) -> Iterator[tuple[str, Path]]:
    """Yield the version managers that are there, with the variables that say where."""
    for variable, (name, parts) in _MANAGERS.items():
        for path in _named_by(variable, root) or (_home() / name,):
            if any((path / part).is_dir() for part in parts or (".",)):
                yield variable, path


def _installations(root: Path) -> Iterator[tuple[str, Path]]:
    for variable in _INSTALLATIONS:
        for path in _named_by(variable, root):
            if path.is_dir():
                yield variable, path


def _named_by(variable: str, root: Path) -> tuple[Path, ...]:
    """The folders that a variable names and that only the person can have meant; several in GOPATH."""
    named = map(Path, filter(None, os.environ.get(variable, "").split(os.pathsep)))
    return tuple(
        path
        for path in named
        if path.is_absolute() and not path.is_relative_to(root) and not _may_hold_secrets(path)
    )


def _may_hold_secrets(path: Path) -> bool:
    """True for folders of settings, such as ~/.m2 with passwords, that a variable names by mistake."""
    if any(path.is_relative_to(system) for system in _OF_SETTINGS):
        return True
    inside = path.relative_to(_home()).parts if path.is_relative_to(_home()) else ()
    known = inside[:1] == (".dotnet",) or any(inside == Path(name).parts for name, _ in _MANAGERS.values())
    hidden = len(inside) == 1 and inside[0].startswith(".") and not known
    return hidden or (bool(inside) and inside[0] in _PERSONAL and inside != _NVM)


def _places(root: Path) -> dict[str, str]:
    """A private HOME hides version managers from themselves; their variables say where they are."""
    places = dict[str, list[str]]()
    for variable, path in (*_managers(root), *_installations(root)):
        places.setdefault(variable, []).append(str(path))
    return {**{variable: os.pathsep.join(paths) for variable, paths in places.items()}, **dict(_caches())}


def _caches() -> Iterator[tuple[str, str]]:
    """Yield where the JVM's tools keep what they fetched, which they look for below their HOME."""
    fetched = _home() / ".m2" / "repository"
    if fetched.is_dir() and not re.search(r"\s", str(fetched)):
        yield "MAVEN_OPTS", f"-Dmaven.repo.local={fetched}"  # the person's own may hold a password
    # Source: Gradle's manual, "The Dependency Cache", read-only dependency cache.
    if (_home() / ".gradle" / "caches" / "modules-2").is_dir():
        yield "GRADLE_RO_DEP_CACHE", str(_home() / ".gradle" / "caches")


def _searched(root: Path) -> Iterator[Path]:
    """Folders of programs that the person put into PATH, with what they need; and conda's environment."""
    for path in search_path(root):
        if path.name == "bin":
            beside = path.parent not in (_home(), _home() / ".local")
            yield from (path.parent / name for name in (_WITH_PROGRAMS if beside else ("bin",)))
    prefix = Path(os.environ.get("CONDA_PREFIX") or os.devnull)
    if os.access(prefix / "conda-meta", os.R_OK):
        yield prefix


def _targets(folders: Iterable[Path]) -> Iterator[Path]:
    """The programs elsewhere to which links in folders of programs lead; each on its own."""
    for folder in folders:
        if folder.name == "bin" and folder.parent == _home() / ".local":
            with suppress(OSError):
                yield from (
                    link.resolve() for link in folder.iterdir() if link.is_symlink() and link.is_file()
                )


def search_path(root: Path) -> tuple[Path, ...]:
    """The folders of PATH that nobody but the person can have meant: absolute ones outside the tree."""
    return _search_path(os.environ.get("PATH") or os.defpath, root)


@cache
def _search_path(value: str, root: Path) -> tuple[Path, ...]:
    named = dict.fromkeys(map(Path, value.split(os.pathsep)))
    return tuple(path for path in named if path.is_absolute() and not path.is_relative_to(root))


def _home() -> Path:
    return Path(os.path.expanduser("~"))  # noqa: PTH111  (Path.home() raises for users without a name)


def _is_wanted(path: Path, root: Path) -> bool:
    """Neither there already, nor so high up that it would show the home or the tree."""
    home = _home()
    too_wide = any(each.is_relative_to(path) for each in (home, home.resolve(), root))
    already = path.is_relative_to(root) or any(path.is_relative_to(system) for system in _SYSTEM)
    return not too_wide and not already


def _environments(root: Path, outside: Path | None) -> Iterator[Path]:
    """The environment outside the tree, and the interpreters that it and the project's own are built upon."""
    if outside and _base_of(outside):
        yield outside
    for venv in (*(root / name for name in VENVS), *([outside] if outside else ())):
        base = _base_of(venv)
        if base:
            yield base


def _base_of(venv: Path) -> Path | None:
    """The installation that `pyvenv.cfg` names.

    The file belongs to the project and is not trusted. Only a folder with Python's own landmark
    (`lib/python3.*/os.py`, as in CPython's getpath) is taken for an installation.
    """
    try:
        text = _read(venv / "pyvenv.cfg")
    except OSError:
        return None
    pairs = (line.partition("=") for line in text.splitlines())
    home = next((value.strip() for key, _, value in pairs if key.strip() == "home"), "")
    base = Path(home).parent
    if not home or not base.is_absolute() or ".." in base.parts:
        return None
    return base if any(base.glob("lib/python3*/os.py")) or any(base.glob("lib/pypy3*/os.py")) else None


def _repository(root: Path) -> Iterator[Path]:
    """Yield the repository of a linked worktree: read-only, so `git diff` works and `git commit` does not.

    The project names that place, so it is checked. It must list this tree as one of its worktrees, and lie
    where git puts worktrees, inside the repository. Only the repository is shown.
    """
    try:
        folder = (root / _read(root / ".git").removeprefix("gitdir:").strip()).resolve()
        repository = (folder / _read(folder / "commondir").strip()).resolve()
        named = Path(_read(folder / "gitdir").strip()) == root / ".git"
    except (OSError, RuntimeError, ValueError):
        return  # no linked worktree
    if named and folder.parent == repository / "worktrees":
        yield repository


def _read(path: Path) -> str:
    """The first words of a plain file. Raises OSError, also for a pipe or a device that would never end."""
    fd = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    try:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            raise OSError(f"{path} is no plain file")
        with open(fd, "rb", closefd=False) as file:
            return file.read(_MOST_READ).decode("utf-8", errors="replace")
    finally:
        os.close(fd)


def python_inside() -> str:
    """The interpreter that runs kith, as a sandbox sees it: not a virtual environment's link to it."""
    with suppress(OSError):
        return os.path.realpath(getattr(sys, "_base_executable", sys.executable), strict=True)
    return "/usr/bin/python3"


def path_variable(root: Path) -> str:
    """Return PATH for a command: it never leads into the tree at `root`."""
    return os.pathsep.join(map(str, search_path(root))) or os.defpath


def environment_of(root: Path, surroundings: Surroundings, extra: Mapping[str, str]) -> dict[str, str]:
    """The variables of a command in the tree at `root`; `extra` come last."""
    environment = {"LANG": "C.UTF-8", **surroundings.variables, "PATH": path_variable(root)}
    environment |= {"PYTHONDONTWRITEBYTECODE": "1", "GIT_OPTIONAL_LOCKS": "0"}
    for venv in (*(root / name for name in VENVS), surroundings.venv or Path(os.devnull)):
        if os.access(venv / "pyvenv.cfg", os.R_OK):
            environment["VIRTUAL_ENV"] = str(venv)
            environment["PATH"] = f"{venv / 'bin'}{os.pathsep}{environment['PATH']}"
            break
    return environment | dict(extra)


def may_find(root: Path, program: str) -> bool:
    """False if no command in the tree at `root` finds a program of this name, in a trial neither.

    What PATH names inside the tree (its virtual environment) may be there in a trial alone.
    """
    path = environment_of(root, Surroundings(venv=find_environment(root)), {})["PATH"]
    inside = any(Path(folder).is_relative_to(root) for folder in path.split(os.pathsep))
    return inside or shutil.which(program, path=path) is not None


_INSTALLED: Final = ("lib/python3*/site-packages", "lib/python3*/dist-packages")


def name_environment(root: Path, folder: str = "") -> str:
    """A digest that changes when PATH does, or when something is installed where the tree's commands look.

    The commands of a project in a folder look there, too.
    """
    venv = find_environment(root)
    told = [path_variable(root), str(venv or "")]
    programs = [Path(folder) for folder in told[0].split(os.pathsep) if folder]
    prefixes = [folder.parent for folder in programs]
    tops = [root / folder, root] if folder else [root]
    prefixes += [*(top / name for top in tops for name in VENVS), *([venv] if venv else ())]
    libraries = [found for prefix in prefixes for pattern in _INSTALLED for found in prefix.glob(pattern)]
    modules = [top / "node_modules" for top in tops]
    for each in [*programs, *libraries, *modules, *(place / ".package-lock.json" for place in modules)]:
        try:
            told.append(f"{each} {each.stat().st_mtime_ns}")
        except OSError:
            continue
    return sha256("\0".join(told).encode("utf-8", "surrogateescape")).hexdigest()[:16]
