"""Which model files are found on a disk, what they are called, and what is left out."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kith.core.errors import NoModelError
from kith.features.engine.gguf import ModelFileError
from kith.features.engine.libraries import StoredFile, usual_libraries
from kith.features.engine.stored import _names, find_stored, pick_stored, read_stored
from kith.models.discovery.stored import Stored
from model_files import write_model

HUB = ".cache/huggingface/hub"


@pytest.fixture(autouse=True)
def bare(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("LLAMA_CACHE", "HF_HOME", "HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE"):
        monkeypatch.delenv(name, raising=False)


def found(*folders: Path, **more: Any) -> list[tuple[str, str]]:
    """Names and sources, what a system-wide Ollama of this machine may hold left out."""
    stored = find_stored(folders, **more)
    return [(each.name, each.source) for each in stored if not each.path.is_relative_to("/usr/share")]


def in_hub(hub: Path, repo: str, commit: str, file: str, **more: Any) -> Path:
    """A file of a repository: a blob, and a link to it in the snapshot, as Hugging Face's programs do."""
    folder = hub / f"models--{repo.replace('/', '--')}"
    name = file.replace("/", "_") + commit
    blob = write_model(folder / "blobs" / name, **more)
    link = folder / "snapshots" / commit / file
    link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to(os.path.relpath(blob, link.parent))
    return link


def in_ollama(folder: Path, name: str, number: int, **layer: Any) -> Path:
    digest = f"{number:064x}"
    manifest = folder / "manifests" / name
    manifest.parent.mkdir(parents=True, exist_ok=True)
    kind = "application/vnd.ollama.image."
    layers = [{"mediaType": f"{kind}template", "digest": "sha256:aa"}]
    layers.append({"mediaType": f"{kind}model", "digest": f"sha256:{digest}"} | layer)
    manifest.write_text(json.dumps({"layers": layers}))
    return write_model(folder / "blobs" / f"sha256-{digest}", general__name=str(number))


def test_models_of_hugging_face_are_found_through_their_links(home: Path) -> None:
    hub = home / HUB
    link = in_hub(hub, "Qwen/Qwen3-8B-GGUF", "c1", "Qwen3-8B-Q4_K_M.gguf")
    in_hub(hub, "Qwen/Qwen3-8B-GGUF", "c1", "Qwen3-8B-Q8_0.gguf")
    in_hub(hub, "unsloth/Qwen3-8B-GGUF", "c1", "UD-Q4_K_XL/Qwen3-8B-UD-Q4_K_XL.gguf")
    (hub / "models--a--b" / "blobs").mkdir(parents=True)
    (hub / "models--a--b" / "blobs" / "half.incomplete").write_bytes(b"GGUF")
    models = find_stored()
    assert [each.name for each in models if each.source == "Hugging Face"] == [
        "Qwen3-8B:Q4_K_M",
        "Qwen3-8B:Q8_0",
        "Qwen3-8B:UD-Q4_K_XL",
    ]
    assert models[0].path == link and models[0].size == link.stat().st_size


def test_of_two_snapshots_the_present_one_counts_once(home: Path) -> None:
    hub = home / HUB
    for commit in ("c1", "c2", "c3"):
        in_hub(hub, "a/Mini-GGUF", commit, "mini-Q4_K_M.gguf")
    in_hub(hub, "a/Mini-GGUF", "c1", "mini-Q8_0.gguf")
    (hub / "models--a--Mini-GGUF" / "refs").mkdir()
    (hub / "models--a--Mini-GGUF" / "refs" / "main").write_text("c2\n")
    models = [each for each in find_stored() if each.source == "Hugging Face"]
    assert [(each.name, each.path.parent.name) for each in models] == [
        ("Mini:Q4_K_M", "c2"),
        ("Mini:Q8_0", "c1"),
    ]


@pytest.mark.parametrize(
    ("variable", "inside"),
    [
        ("LLAMA_CACHE", ""),
        ("HF_HUB_CACHE", ""),
        ("HUGGINGFACE_HUB_CACHE", ""),
        ("HF_HOME", "hub"),
        ("XDG_CACHE_HOME", "huggingface/hub"),
    ],
)
def test_the_cache_is_where_the_variables_say(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variable: str, inside: str
) -> None:
    monkeypatch.setenv(variable, str(tmp_path / "elsewhere"))
    in_hub(tmp_path / "elsewhere" / inside, "a/Mini-GGUF", "c1", "mini.gguf")
    assert found() == [("Mini:Q4_K_M", "Hugging Face")]


def test_ollamas_models_are_found_behind_their_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OLLAMA_MODELS", str(tmp_path))
    own = "registry.ollama.ai"
    blob = in_ollama(tmp_path, f"{own}/library/qwen3/8b", 1)
    in_ollama(tmp_path, f"{own}/someone/coder/latest", 2)
    in_ollama(tmp_path, "hf.co/unsloth/Qwen3-8B-GGUF/Q4_K_M", 3)
    in_ollama(tmp_path, f"{own}/library/cloud/big", 4, digest="sha256:../../../etc/passwd")
    in_ollama(tmp_path, f"{own}/library/tensors/1", 5, mediaType="application/vnd.ollama.image.tensor")
    (tmp_path / "manifests" / own / "library" / "broken").mkdir()
    (tmp_path / "manifests" / own / "library" / "broken" / "1").write_text("[" * 100_000)
    models = [
        each for each in find_stored() if each.source == "Ollama" and each.path.is_relative_to(tmp_path)
    ]
    assert [each.name for each in models] == [
        "hf.co/unsloth/Qwen3-8B-GGUF:Q4_K_M",
        "qwen3:8b",
        "someone/coder:latest",
    ]
    assert models[1].path == blob


def test_other_programs_keep_models_too(home: Path) -> None:
    data = home / ".local" / "share"
    write_model(home / ".cache" / "llama.cpp" / "user_repo_old-Q8_0.gguf", general__name="1")
    write_model(home / ".lmstudio" / "models" / "pub" / "Repo-GGUF" / "lm-Q6_K.gguf", general__name="2")
    write_model(data / "nomic.ai" / "GPT4All" / "gpt4all-Q4_0.gguf", general__name="3")
    write_model(data / "Jan" / "data" / "llamacpp" / "models" / "jan-4b" / "model.gguf", general__name="4")
    write_model(home / "models" / "deep" / "mine.gguf", general__name="5")
    write_model(home / "Downloads" / "fresh.gguf", general__name="6")
    write_model(home / "Downloads" / "more" / "unseen.gguf", general__name="7")
    write_model(home / "kith" / "models" / "own.gguf", general__name="8")
    write_model(home / "named" / "by-me.gguf", general__name="9")
    assert found(home / "named", cache=home / "kith") == [
        ("by-me:Q4_K_M", "your folder"),
        ("user_repo_old:Q8_0", "llama.cpp"),
        ("lm:Q6_K", "LM Studio"),
        ("gpt4all:Q4_0", "GPT4All"),
        ("jan-4b:Q4_K_M", "Jan"),
        ("own:Q4_K_M", "kith"),
        ("mine:Q4_K_M", "your models"),
        ("fresh:Q4_K_M", "your downloads"),
    ]


def test_every_system_has_its_own_folders(home: Path) -> None:
    mac = {str(each.folder.relative_to(home)) for each in usual_libraries({}, "darwin")}
    assert {"Library/Caches/llama.cpp", "Library/Application Support/nomic.ai/GPT4All"} <= mac
    assert "Library/Application Support/Jan/data/llamacpp/models" in mac
    windows = usual_libraries({"LOCALAPPDATA": str(home / "L"), "APPDATA": str(home / "R")}, "win32")
    there = {str(each.folder.relative_to(home)) for each in windows}
    assert {"L/llama.cpp", "L/nomic.ai/GPT4All", "R/Jan/data/llamacpp/models"} <= {
        each.replace("\\", "/") for each in there
    }


def test_what_is_no_whole_model_is_left_out(tmp_path: Path) -> None:
    write_model(tmp_path / "mmproj-model-f16.gguf")
    write_model(tmp_path / "projector.gguf", general__type="mmproj")
    write_model(tmp_path / "my-lora.gguf")
    write_model(tmp_path / "adapter-of-sorts.gguf", general__type="adapter")
    write_model(tmp_path / "embed.gguf", "nomic-bert")
    write_model(tmp_path / "image.gguf", "flux", words=0)
    write_model(tmp_path / "incomplete-model.gguf")
    write_model(tmp_path / "model.gguf.part")
    cut = write_model(tmp_path / "cut.gguf", weights=50_000)
    os.truncate(cut, cut.stat().st_size - 150_000)
    (tmp_path / "junk.gguf").write_bytes(b"not a model")
    (tmp_path / "folder.gguf").mkdir()
    os.mkfifo(tmp_path / "pipe.gguf")
    (tmp_path / "nowhere.gguf").symlink_to(tmp_path / "gone")
    write_model(tmp_path / "good.gguf")
    assert found(tmp_path) == [("good:Q4_K_M", "your folder")]


def test_parts_are_one_model_and_a_missing_one_is_said(tmp_path: Path) -> None:
    for number in (1, 2, 3):
        write_model(tmp_path / f"big-Q4_K_M-0000{number}-of-00003.gguf", split__count=3, weights=100 * number)
    (model,) = find_stored([tmp_path])
    assert (model.name, model.parts, model.fault) == ("big:Q4_K_M", 3, "")
    assert model.size == sum(each.stat().st_size for each in tmp_path.iterdir())
    (tmp_path / "big-Q4_K_M-00002-of-00003.gguf").unlink()
    (model,) = find_stored([tmp_path])
    assert model.fault == "part 2 of 3 is missing"
    with pytest.raises(NoModelError, match="part 2 of 3 is missing"):
        pick_stored("big", [model])


def test_one_file_is_one_model_however_often_it_is_linked(tmp_path: Path) -> None:
    first = write_model(tmp_path / "a" / "one.gguf")
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "two.gguf").hardlink_to(first)
    (tmp_path / "b" / "three.gguf").symlink_to(first)
    (tmp_path / "a" / "again").symlink_to(tmp_path)  # a loop
    assert found(tmp_path) == [("one:Q4_K_M", "your folder")]


def test_names_are_unique_and_mean_nothing_to_a_shell(tmp_path: Path) -> None:
    write_model(tmp_path / "x" / "same-Q4_K_M.gguf", general__name="1")
    write_model(tmp_path / "y" / "same-Q4_K_M.gguf", general__name="2")
    write_model(tmp_path / "z" / "SAME-Q4_K_M.gguf", general__name="3")
    write_model(tmp_path / "odd" / "a b $(rm -rf x)\n'.gguf", general__name="4")
    names = [each.name for each in find_stored([tmp_path])]
    assert names == ["a-b-rm-rf-x:Q4_K_M", "same:Q4_K_M", "same-Q4_K_M", "SAME-2:Q4_K_M"]


@given(st.text(max_size=30).filter(lambda text: "\0" not in text), st.text(max_size=9))
def test_a_name_is_one_plain_word(file: str, name: str) -> None:
    made = _names(StoredFile(Path(f"{file}.gguf"), "", name=name), "Q8_0")
    for _, each in zip(range(7), made, strict=False):
        assert each and each[0] not in "-/." and not set(each) & set(" \t\r\n'\"$`\\;&|<>(){}*?!~#\x1b")


def test_a_model_is_picked_by_name(tmp_path: Path) -> None:
    write_model(tmp_path / "Qwen3-8B-Q4_K_M.gguf", general__name="1")
    write_model(tmp_path / "Qwen3-8B-Q8_0.gguf", general__name="2")
    write_model(tmp_path / "tiny-Q4_K_M.gguf", general__name="3")
    models = find_stored([tmp_path])
    assert pick_stored("qwen3-8b:q8_0", models).path.name == "Qwen3-8B-Q8_0.gguf"
    assert pick_stored("tiny", models).name == "tiny:Q4_K_M"
    with pytest.raises(NoModelError, match="several models 'Qwen3-8B': Qwen3-8B:Q4_K_M, Qwen3-8B:Q8_0"):
        pick_stored("Qwen3-8B", models)
    with pytest.raises(NoModelError, match="did you mean tiny"):
        pick_stored("tinny", models)
    with pytest.raises(NoModelError, match="there is none"):
        pick_stored("tiny", [])


def test_a_path_is_a_name(tmp_path: Path) -> None:
    path = write_model(tmp_path / "far" / "away-Q8_0.gguf")
    picked = pick_stored(str(path), [])
    assert isinstance(picked, Stored) and (picked.path, picked.name) == (path, "away:Q8_0")
    with pytest.raises(ModelFileError, match="cannot be read"):
        pick_stored(str(tmp_path / "none.gguf"), [])
    with pytest.raises(ModelFileError, match="not a text model"):
        read_stored(write_model(tmp_path / "e.gguf", "bert"))


def test_a_file_is_read_once_until_it_changes(tmp_path: Path) -> None:
    folder, cache = tmp_path / "models", tmp_path / "cache"
    path = write_model(folder / "m.gguf", block_count=3)
    first = find_stored([folder], cache=cache)
    about = path.stat()
    damaged = path.read_bytes().replace(b"qwen2.block_count", b"qwen2.block_xxxxx")
    path.write_bytes(damaged)
    os.utime(path, ns=(about.st_atime_ns, about.st_mtime_ns))
    assert find_stored([folder], cache=cache) == first  # as it is remembered
    os.utime(path, ns=(about.st_atime_ns, about.st_mtime_ns + 1))
    assert find_stored([folder], cache=cache) == ()
    (cache / "headers.json").write_text('{"format": 1, "files": {"x": 7}}')
    write_model(path)
    assert len(find_stored([folder], cache=cache)) == 1


@pytest.mark.parametrize("kept", ["", "[]", "{", '{"format": 1, "files": []}', "[" * 100_000])
def test_a_spoiled_memory_is_done_without(tmp_path: Path, kept: str) -> None:
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache" / "headers.json").write_text(kept)
    write_model(tmp_path / "models" / "m.gguf")
    assert len(find_stored([tmp_path / "models"], cache=tmp_path / "cache")) == 1


def test_a_folder_that_cannot_be_read_is_passed_over(tmp_path: Path) -> None:
    write_model(tmp_path / "open" / "m.gguf")
    assert found(tmp_path / "none", tmp_path / "open" / "m.gguf", tmp_path / "open") == [
        ("m:Q4_K_M", "your folder")
    ]
