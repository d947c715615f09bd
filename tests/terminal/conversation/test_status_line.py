"""The status line calls a model by the name under which it is listed."""

from pathlib import Path

from msgspec.structs import replace

from kith.agent.models import listed_name
from kith.core.events import Called, Engaged
from kith.settings import load_settings
from kith.settings.values import NamedEndpoint
from kith.terminal.conversation.status_line import StatusLine

HERE = "http://127.0.0.1:8111"


def test_a_model_of_a_named_endpoint_has_one_name(repository: Path) -> None:
    box = NamedEndpoint("openai", f"{HERE}/v1")
    chosen = replace(load_settings(repository, {}), endpoints={"box": box})
    status = StatusLine(listed=lambda each: listed_name(chosen, each.model, each.server))
    for model, server, name in (
        ("vllm/org/x", HERE, "box/org/x"),
        ("vllm/org/x", "http://127.0.0.1:8000", "vllm/org/x"),
        ("replay/x", "", "replay/x"),
    ):
        status.hear(Engaged(model, server, window=10))
        status.hear(Called(model, "edit", 1))
        assert f" {name}" in status.line(80).replace("\x1b[2m", " ")
