"""Model files as the programs of this machine keep them: the folders, and what each calls its models."""

import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any, Final, Literal

from msgspec import Struct

from kith.models.providers.answers import read_json

MOST_ENTRIES: Final = 20_000  # in one folder, and of files in one library
MOST_FOLDERS: Final = 5_000  # in one library
LARGEST_MANIFEST: Final = 1 << 20  # bytes
_BLOB: Final = re.compile(r"sha256:([0-9a-f]{64})")
_MODEL_LAYER: Final = "application/vnd.ollama.image.model"
_OWN_REGISTRY: Final = ("registry.ollama.ai", "library")
# Files that end in .gguf and are no whole model: projectors, adapters, statistics, downloads under way.
_BESIDE: Final = re.compile(r"(^|[-_.])(mmproj|lora|adapter|imatrix)([-_.]|$)|^incomplete|^downloading", re.I)


class Library(Struct, frozen=True):
    """A folder of model files: whose it is, how it is laid out, and how many folders deep to look."""

    source: str
    folder: Path
    layout: Literal["files", "hub", "ollama"] = "files"
    depth: int = 3


class StoredFile(Struct, frozen=True):
    """A file that may be a model. `name` is what its owner calls it, "" where only the file's name tells."""

    path: Path
    source: str
    owner: str = ""
    name: str = ""
    exact: bool = False  # the name says all, quantisation included


def cache_folder(environ: Mapping[str, str] = os.environ) -> Path:
    """The folder where llama.cpp looks for downloads; the usual one unless LLAMA_CACHE is set.

    Source: `hf-cache.cpp` of llama.cpp.
    """
    for name, inside in (
        ("LLAMA_CACHE", ""),
        ("HF_HUB_CACHE", ""),
        ("HUGGINGFACE_HUB_CACHE", ""),
        ("HF_HOME", "hub"),
        ("XDG_CACHE_HOME", "huggingface/hub"),
    ):
        if environ.get(name):
            return Path(environ[name]).expanduser().absolute() / inside
    return Path("~/.cache/huggingface/hub").expanduser().absolute()


def usual_libraries(
    environ: Mapping[str, str] = os.environ, platform: str = sys.platform, cache: Path | None = None
) -> tuple[Library, ...]:
    """List folders that may hold models; `cache` is kith's own cache folder. Folders may not exist."""
    hubs = dict.fromkeys((cache_folder(environ), cache_folder({**environ, "LLAMA_CACHE": ""})))
    ollama = environ.get("OLLAMA_MODELS")
    stores = [Path(ollama).expanduser()] if ollama else [Path("~/.ollama/models").expanduser()]
    if platform == "linux":
        stores.append(Path("/usr/share/ollama/.ollama/models"))
    return (
        *(Library("Hugging Face", folder, "hub") for folder in hubs),
        *(Library("Ollama", folder, "ollama") for folder in stores),
        *_programs(environ, platform),
        *([Library("kith", cache / "models")] if cache else []),
        Library("your models", Path("~/models").expanduser()),
        Library("your downloads", Path("~/Downloads").expanduser(), depth=0),
    )


def _programs(environ: Mapping[str, str], platform: str) -> Iterator[Library]:
    """The folders of programs that keep plain files."""
    local, roaming = environ.get("LOCALAPPDATA"), environ.get("APPDATA")
    if platform == "win32":
        data = caches = Path(local or "~/AppData/Local").expanduser()
        jan = Path(roaming or "~/AppData/Roaming").expanduser()
    elif platform == "darwin":
        data = jan = Path("~/Library/Application Support").expanduser()
        caches = Path("~/Library/Caches").expanduser()
    else:
        data = jan = Path(environ.get("XDG_DATA_HOME") or "~/.local/share").expanduser()
        caches = Path(environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser()
    yield Library("llama.cpp", caches / "llama.cpp")
    yield Library("LM Studio", Path("~/.lmstudio/models").expanduser())
    yield Library("LM Studio", Path("~/.cache/lm-studio/models").expanduser())
    yield Library("GPT4All", data / "nomic.ai" / "GPT4All", depth=1)
    yield Library("Jan", jan / "Jan" / "data" / "llamacpp" / "models", depth=4)
    yield Library("Jan", Path("~/jan").expanduser(), depth=5)


def look_through(library: Library) -> Iterator[StoredFile]:
    """The files of a library that may be models, always in the same order; none where it cannot be read."""
    match library.layout:
        case "hub":
            yield from _hub_files(library)
        case "ollama":
            yield from _ollama_blobs(library)
        case "files":
            for path in _model_files(library.folder, library.depth):
                inside = path.parent.relative_to(library.folder).parts
                yield StoredFile(path, library.source, inside[-2] if len(inside) > 1 else "")


def _hub_files(library: Library) -> Iterator[StoredFile]:
    """Each file of a repository once, in the newest snapshot that has it.

    Layout: https://huggingface.co/docs/huggingface_hub/guides/manage-cache.
    """
    for folder in map(Path, _entries(library.folder)):
        kind, _, rest = folder.name.partition("--")
        owner, _, repo = rest.rpartition("--")
        if kind != "models" or not repo:
            continue
        newest = _text(folder / "refs" / "main").strip()
        seen: set[Path] = set()
        snapshots = map(Path, _entries(folder / "snapshots"))
        for snapshot in sorted(snapshots, key=lambda each: (each.name != newest, -_age(each), each.name)):
            for path in _model_files(snapshot, 2):
                inside = path.relative_to(snapshot)
                if inside not in seen:
                    seen.add(inside)
                    yield StoredFile(path, library.source, owner, re.sub(r"[-_.]gguf$", "", repo, flags=re.I))


def _ollama_blobs(library: Library) -> Iterator[StoredFile]:
    """The weights behind each of Ollama's names: manifests/HOST/NAMESPACE/MODEL/TAG name blobs/sha256-HEX."""
    for manifest in _files(library.folder / "manifests", 3):
        host, namespace, model, tag = ("", "", "", *manifest.parts)[-4:]
        if blob := _weights(manifest):
            prefix = "" if (host, namespace) == _OWN_REGISTRY else f"{namespace}/"
            prefix = prefix if host == _OWN_REGISTRY[0] else f"{host}/{prefix}"
            path = library.folder / "blobs" / f"sha256-{blob}"
            yield StoredFile(path, library.source, "", f"{prefix}{model}:{tag}", exact=True)


def _weights(manifest: Path) -> str:
    """The digest of the layer with the weights; "" for a model in a cloud, or what is no manifest."""
    try:
        data: Any = read_json(_text(manifest, LARGEST_MANIFEST))
    except ValueError:
        return ""
    layers = data.get("layers") if isinstance(data, dict) else None
    for layer in layers if isinstance(layers, list) else ():
        if isinstance(layer, dict) and layer.get("mediaType") == _MODEL_LAYER:
            found = _BLOB.fullmatch(str(layer.get("digest")))
            return found[1] if found else ""
    return ""


def _model_files(folder: Path, depth: int) -> Iterator[Path]:
    for path in _files(folder, depth):
        if path.suffix.lower() == ".gguf" and not _BESIDE.search(path.name):
            yield path


def _files(folder: Path, depth: int) -> Iterator[Path]:
    """Files below a folder, at most `depth` folders down and MOST_ENTRIES in all; loops of links end."""
    return map(Path, islice(_walk(folder, depth, set()), MOST_ENTRIES))


def _walk(
    folder: Path | os.DirEntry[str], depth: int, seen: set[tuple[int, int]]
) -> Iterator[os.DirEntry[str]]:
    try:
        about = folder.stat()
    except OSError:
        return
    if (about.st_dev, about.st_ino) in seen or len(seen) >= MOST_FOLDERS:
        return
    seen.add((about.st_dev, about.st_ino))
    folders = []
    for entry in _entries(folder):
        if entry.name.startswith("."):
            continue
        if _is_folder(entry):
            folders.append(entry)
        else:
            yield entry
    for each in folders if depth else ():
        yield from _walk(each, depth - 1, seen)


def _entries(folder: Path | os.DirEntry[str]) -> list[os.DirEntry[str]]:
    """List a folder by name; empty where it is missing or unreadable."""
    try:
        with os.scandir(folder) as entries:
            return sorted(islice(entries, MOST_ENTRIES), key=lambda entry: entry.name)
    except OSError:
        return []


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:
        return False


def _age(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0


def _text(path: Path, most: int = 4096) -> str:
    """The beginning of a file as text; "" where it cannot be read, or is no file."""
    try:
        if not path.is_file():
            return ""
        with path.open("rb") as file:
            return file.read(most).decode("utf-8", "replace")
    except OSError:
        return ""


def libraries_of(folders: Iterable[Path]) -> tuple[Library, ...]:
    """Folders that the user named, as libraries."""
    return tuple(Library("your folder", folder.expanduser()) for folder in folders)
