"""Read what a picture is from its first bytes: its type, and its size in pixels."""

import struct
from typing import Final

from kith.core.values import Image

MOST_BYTES: Final = 5_000_000  # of one picture; Anthropic refuses larger ones
SUFFIXES: Final = (".png", ".jpg", ".jpeg", ".gif", ".webp")
_JPEG_SIZES: Final = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}  # markers of frames


def read_picture(data: bytes, name: str) -> Image | None:
    """The picture in these bytes; None for anything that is no whole PNG, JPEG, GIF or WebP header.

    Sources: W3C PNG (IHDR), ITU T.81 (SOF), GIF89a (logical screen), RFC 9649 (VP8, VP8L, VP8X).
    """
    kind = _kind_of(data)
    try:
        size = _SIZES[kind](data) if kind else None
    except (struct.error, IndexError):
        return None
    if size is None or not all(size):
        return None
    return Image(data, f"image/{kind}", name, *size)


def _kind_of(data: bytes) -> str:
    if data.startswith(b"\x89PNG\r\n\x1a\n"):
        return "png"
    if data.startswith(b"\xff\xd8\xff"):
        return "jpeg"
    if data[:6] in (b"GIF87a", b"GIF89a"):
        return "gif"
    return "webp" if data[:4] == b"RIFF" and data[8:12] == b"WEBP" else ""


def _size_of_png(data: bytes) -> tuple[int, int]:
    width, height = struct.unpack_from(">II", data, 16)
    return width, height


def _size_of_gif(data: bytes) -> tuple[int, int]:
    width, height = struct.unpack_from("<HH", data, 6)
    return width, height


def _size_of_jpeg(data: bytes) -> tuple[int, int] | None:
    """Segment after segment, up to the frame."""
    at = 2
    while data[at] == 0xFF:
        marker = data[at + 1]
        if marker in _JPEG_SIZES:
            height, width = struct.unpack_from(">HH", data, at + 5)
            return width, height
        (length,) = struct.unpack_from(">H", data, at + 2)
        at += 2 + max(length, 2)
    return None


def _size_of_webp(data: bytes) -> tuple[int, int] | None:
    match data[12:16]:
        case b"VP8 ":
            width, height = struct.unpack_from("<HH", data, 26)
            return width & 0x3FFF, height & 0x3FFF
        case b"VP8L":
            (bits,) = struct.unpack_from("<I", data, 21)
            return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
        case b"VP8X":
            (low, mid, high) = struct.unpack_from("<HHH", data, 24)  # two numbers of 24 bits
            return low + ((mid & 0xFF) << 16) + 1, (mid >> 8) + (high << 8) + 1
    return None


_SIZES: Final = {"png": _size_of_png, "jpeg": _size_of_jpeg, "gif": _size_of_gif, "webp": _size_of_webp}
