"""A picture is what its first bytes say, whatever its name; half a header is none."""

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kith.core.pictures import read_picture

PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + struct.pack(">II", 640, 480)
GIF = b"GIF89a" + struct.pack("<HH", 640, 480)
JPEG = b"\xff\xd8\xff\xe0\0\x10JFIF" + bytes(10) + b"\xff\xc0\0\x11\x08" + struct.pack(">HH", 480, 640)
VP8 = b"RIFF\0\0\0\0WEBPVP8 " + bytes(10) + struct.pack("<HH", 640, 480)
VP8L = b"RIFF\0\0\0\0WEBPVP8L" + bytes(5) + struct.pack("<I", 639 | 479 << 14)
VP8X = b"RIFF\0\0\0\0WEBPVP8X" + bytes(8) + (639).to_bytes(3, "little") + (479).to_bytes(3, "little")
EVERY = {"png": PNG, "gif": GIF, "jpeg": JPEG, "webp": VP8, "webp of VP8L": VP8L, "webp of VP8X": VP8X}


@pytest.mark.parametrize("kind", EVERY)
def test_its_type_and_size_are_read(kind: str) -> None:
    picture = read_picture(EVERY[kind], "shot")
    assert picture and (picture.width, picture.height) == (640, 480)
    assert picture.media_type == f"image/{kind.partition(' ')[0]}"


@pytest.mark.parametrize("kind", EVERY)
def test_a_header_that_is_cut_is_no_picture(kind: str) -> None:
    whole = EVERY[kind]
    assert all(read_picture(whole[:size], "shot") is None for size in range(len(whole)))


@given(st.binary(max_size=200), st.sampled_from(sorted(EVERY)))
def test_no_bytes_are_a_bug(noise: bytes, kind: str) -> None:
    for data in (noise, EVERY[kind][:12] + noise):
        picture = read_picture(data, "shot")
        assert picture is None or (picture.width > 0 and picture.height > 0)
