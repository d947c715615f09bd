"""What an editor sends is words, links and pictures; anything else is refused."""

import base64
from pathlib import Path

import pytest
from acp import text_block
from acp.helpers import audio_block, image_block

from kith.core.errors import UsageError
from kith.features.editors.prompts import read_prompt

PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x02\0\0\0\x03"
PICTURE = base64.b64encode(PNG).decode()


def test_a_picture_comes_with_its_words() -> None:
    given = read_prompt([text_block("What is this?"), image_block(PICTURE, "image/png")], Path("/"))
    assert given.words == "What is this?"
    assert [(each.data, each.media_type, each.width) for each in given.images] == [(PNG, "image/png", 2)]


def test_a_picture_alone_is_a_prompt() -> None:
    assert read_prompt([image_block(PICTURE, "image/png")], Path("/")).words


@pytest.mark.parametrize(
    "block",
    [image_block("aGVsbG8=", "image/png"), image_block("%%", "image/png"), audio_block("", "audio/wav")],
)
def test_what_no_model_takes_is_refused(block: object) -> None:
    with pytest.raises(UsageError):
        read_prompt([block], Path("/"))
