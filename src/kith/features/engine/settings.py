"""What a person chooses about kith's own engine: `[engine]`."""

from dataclasses import dataclass, field
from typing import Literal


@dataclass(frozen=True, slots=True)
class EngineSettings:
    """How kith's own engine runs a model file; None and "" leave the choice to kith or to the engine."""

    program: Literal["auto", "xllamacpp", "llama-server", "off"] = "auto"
    ngl: int | None = field(default=None, metadata={"least": 0})  # layers on the GPU
    flash_attn: Literal["auto", "on", "off"] = "auto"
    threads: int | None = field(default=None, metadata={"least": 1})
    cache_type_k: str = ""
    cache_type_v: str = ""
    args: tuple[str, ...] = ()  # handed to llama-server as they are
    idle: float = field(default=300.0, metadata={"least": 1})  # seconds without anybody before it stops
