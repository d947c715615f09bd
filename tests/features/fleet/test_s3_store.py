"""Artefacts in S3, with moto as the server: kept once, read back whole, and refused in one sentence."""

import urllib.request
from collections.abc import Iterator
from pathlib import Path

import obstore
import pytest
from obstore.store import S3Store

from kith.core.errors import TreeError, UsageError
from kith.features.fleet.artefacts import FolderStore, Store, digest_of
from kith.features.fleet.stores import open_store


@pytest.fixture(scope="module")
def s3() -> Iterator[str]:
    """The address of an S3 with a bucket named `artefacts`."""
    moto = pytest.importorskip("moto.server", reason="moto is in the group fuzz")
    server = moto.ThreadedMotoServer(ip_address="127.0.0.1", port=0)
    server.start()
    url = "http://{}:{}".format(*server.get_host_and_port())
    urllib.request.urlopen(urllib.request.Request(f"{url}/artefacts", method="PUT")).close()
    yield url
    server.stop()


@pytest.fixture
def store(s3: str, monkeypatch: pytest.MonkeyPatch) -> Store:
    given = {"ENDPOINT_URL": s3, "REGION": "us-east-1"}
    for name, value in {**given, "ACCESS_KEY_ID": "key", "SECRET_ACCESS_KEY": "a-secret"}.items():
        monkeypatch.setenv(f"AWS_{name}", value)
    return open_store("s3://artefacts/team/fleet")


def bucket() -> S3Store:
    return S3Store("artefacts", client_options={"allow_http": True})


@pytest.mark.slow
@pytest.mark.parametrize("size", [0, 10, 11 << 20])
def test_an_artefact_comes_back_whole(size: int, store: Store, tmp_path: Path) -> None:
    file, back = tmp_path / "file", tmp_path / "back"
    file.write_bytes(bytes(range(256)) * (size // 256) + b"x" * (size % 256))
    digest = store.put(file)
    assert digest == digest_of(file) == store.put(file)
    store.get(digest, back)
    assert back.read_bytes() == file.read_bytes()
    assert obstore.head(bucket(), f"team/fleet/{digest[:2]}/{digest}")["size"] == size
    for _ in range(2):  # once is enough, and twice is no error
        store.remove(digest)
    with pytest.raises(TreeError):
        store.get(digest, back)


@pytest.mark.slow
def test_a_damaged_artefact_is_refused(store: Store, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"right")
    digest = store.put(file)
    obstore.put(bucket(), f"team/fleet/{digest[:2]}/{digest}", b"wrong")
    with pytest.raises(TreeError):
        store.get(digest, tmp_path / "back")
    assert not (tmp_path / "back").exists()


@pytest.mark.slow
def test_a_missing_artefact_or_bucket_is_said_without_a_secret(store: Store, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"x")
    for trouble in (
        lambda: store.get("0" * 64, tmp_path / "back"),
        lambda: open_store("s3://nowhere").put(tmp_path / "file"),
    ):
        with pytest.raises(TreeError) as error:
            trouble()
        assert "a-secret" not in str(error.value) and "\n" not in str(error.value)


@pytest.mark.parametrize("place", ["gs://bucket", "store", "s3://", "s3://key:secret@bucket/x", "s3://b?x=1"])
def test_a_store_of_another_kind_is_refused(place: str) -> None:
    with pytest.raises(UsageError):
        open_store(place)


def test_a_folder_is_a_store(tmp_path: Path) -> None:
    assert isinstance(open_store(str(tmp_path)), FolderStore)
