"""Artefacts in a bucket of Amazon S3, or of a server that speaks as S3 does.

Credentials, region and endpoint come from the environment (`AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY`,
`AWS_REGION`, `AWS_ENDPOINT_URL`), or from the machine's role in the cloud.
"""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from kith.core.errors import TreeError, UsageError
from kith.features.fleet.artefacts import RETAINED_S, check_digest, digest_of, shard

if TYPE_CHECKING:
    from obstore.store import ClientConfig
    from obstore.store import S3Store as Bucket

_CHUNK: Final = 8 << 20  # bytes


class S3Store:
    """A bucket. `name` is the one for people."""

    def __init__(self, bucket: "Bucket", name: str) -> None:
        self._bucket, self.name = bucket, name

    def put(self, file: Path) -> str:
        import obstore

        digest = digest_of(file)
        with self._in_words():
            if not self._is_young(digest, RETAINED_S / 2):  # or it is wanted now, and put again
                obstore.put(self._bucket, shard(digest), file)
        return digest

    def get(self, digest: str, file: Path) -> None:
        import obstore

        with self._in_words():
            stream = obstore.get(self._bucket, shard(digest)).stream(min_chunk_size=_CHUNK)
            with file.open("wb") as out:
                for chunk in stream:
                    out.write(chunk)
        check_digest(file, digest)

    def remove(self, digest: str, young_s: float = 0.0) -> None:
        import obstore

        with self._in_words(), suppress(FileNotFoundError):
            if not (young_s and self._is_young(digest, young_s)):
                obstore.delete(self._bucket, shard(digest))

    def _is_young(self, digest: str, seconds: float) -> bool:
        """True if an artefact is there that was put so many seconds ago at most, by this machine's clock.

        S3 itself refuses the requests of a machine whose clock is 15 minutes off (RequestTimeTooSkewed).
        """
        import obstore

        try:
            put = obstore.head(self._bucket, shard(digest))["last_modified"]
        except FileNotFoundError:
            return False
        return (datetime.now(UTC) - put).total_seconds() < seconds

    @contextmanager
    def _in_words(self) -> Iterator[None]:
        from obstore.exceptions import BaseError

        try:
            yield
        except FileNotFoundError as error:
            raise TreeError(f"the store {self.name} lacks an artefact") from error
        except (BaseError, OSError, ValueError) as error:
            raise TreeError(f"the store {self.name} cannot be used: {_cause(error)}") from error


def _cause(error: Exception) -> str:
    """The first line of an error, which has no secret in it, without the library's debugging."""
    lines = str(error).strip().splitlines()
    return (lines[0] if lines else type(error).__name__).rstrip(".")[:300]


def open_bucket(place: str) -> S3Store:
    """The store at `s3://BUCKET/PREFIX`. Raises UsageError for other words, or without the library."""
    parts = urlsplit(place)
    if not parts.netloc or "@" in parts.netloc or parts.query or parts.fragment:
        raise UsageError(f"`fleet.store` is s3://BUCKET/PREFIX, not {place!r}.")
    try:
        from obstore.exceptions import BaseError
        from obstore.store import S3Store as Bucket
    except ImportError as error:
        raise UsageError("A store in S3 needs the extra: pip install 'kith-agent[fleet-s3]'.") from error
    options: ClientConfig = {"connect_timeout": "10s", "read_timeout": "60s", "timeout": "1h"}
    options["allow_http"] = True  # where the endpoint says so, and only there
    try:
        bucket = Bucket(parts.netloc, prefix=parts.path.strip("/") or None, client_options=options)
    except (BaseError, ValueError) as error:
        raise UsageError(f"{place} cannot be opened: {_cause(error)}.") from error
    return S3Store(bucket, place)
