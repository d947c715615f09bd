"""git's name for a file's content: equal contents have equal names, on every machine."""

from hashlib import sha1


def blob_id(content: bytes) -> str:
    """The SHA-1 of git's blob form, in hexadecimal.

    https://git-scm.com/book/en/v2/Git-Internals-Git-Objects
    """
    return sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()
