"""What Ollama knows of a model's build: all that is needed to choose its window before it is loaded."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from kith.models.providers.answers import Row, part, plain, rows, string, whole
from kith.models.providers.faults import MissingModelError
from kith.models.providers.listed import missing
from kith.models.providers.wire import Endpoint


@dataclass(frozen=True, slots=True)
class Shape:
    """One model of an Ollama server. Sizes in bytes, windows in tokens; 0, "" and None where nobody says.

    `info` has the keys of a GGUF header: `general.architecture`, `qwen2.block_count`,
    `qwen2.attention.head_count_kv`, `.key_length`, `.embedding_length`, `.context_length` ... `running` is
    the window it runs with now, 0 when it is not loaded.
    """

    info: Mapping[str, Any] = field(default_factory=dict)
    size: int = 0
    digest: str = ""
    quantisation: str = ""
    parameters: str = ""
    running: int = 0
    able: tuple[str, ...] | None = None  # completion, tools, thinking, vision, insert ...
    remote: str = ""  # the cloud that really runs it

    @property
    def trained(self) -> int:
        """The model's own maximum."""
        sizes = (whole(size) for key, size in self.info.items() if key.endswith(".context_length"))
        return max(sizes, default=0)

    def can(self, what: str) -> bool | None:
        """Whether the model is able to; None when the server is too old to say."""
        return None if self.able is None else what in self.able


async def shape_of(endpoint: Endpoint, model: str) -> Shape:
    """Read a model's shape without loading it. Raises ModelError, and NoModelError when it is not there."""
    listed = _row(rows(await endpoint.get("/api/tags"), "models"), model)
    try:
        shown = await endpoint.post("/api/show", {"model": model})
    except MissingModelError as error:
        raise await missing("ollama", endpoint, model) from error
    running, details = await running_row(endpoint, model), part(shown, "details")
    able = shown.get("capabilities") if isinstance(shown, dict) else None
    return Shape(
        part(shown, "model_info"),
        whole(listed.get("size")),
        str(listed.get("digest") or running.get("digest") or ""),
        string(details.get("quantization_level")).removeprefix("unknown"),
        string(details.get("parameter_size")),
        whole(running.get("context_length")),
        tuple(str(each) for each in able) if isinstance(able, list) else None,
        string(plain(shown).get("remote_host")),
    )


async def running_row(endpoint: Endpoint, model: str) -> Row:
    """What the server says of a model that is loaded; empty when it is not."""
    return _row(rows(await endpoint.get("/api/ps"), "models"), model)


def _row(found: list[Row], model: str) -> Row:
    """The row of a model; a name without a tag means the tag `latest`."""
    names = {model, f"{model}:latest"}
    return next((row for row in found if {row.get("name"), row.get("model")} & names), {})
