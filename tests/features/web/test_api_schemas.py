"""The OpenAPI description is true: whatever is sent, no 500, and no answer that it does not tell of."""

from typing import Any

import pytest

pytest.importorskip("schemathesis")

import schemathesis
from hypothesis import HealthCheck, given, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from serving import Serving

CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
]
TRIES, FEW = 20, 3
BEGIN = ("/api/v1/agent", "/api/v1/sessions")  # each of these starts a process


@pytest.mark.slow
def test_the_description_is_true(serve: Serving) -> None:
    headers = {"Authorization": f"Bearer {serve.token}"}
    schema = schemathesis.openapi.from_url(f"{serve.url}/openapi.json", headers=headers)
    found = [each.ok() for each in schema.get_all_operations()]
    own = [each for each in found if each.path.startswith("/api/")]
    assert len(own) >= 18
    session = serve.client.post("/api/v1/sessions", json={"words": "Say hello"}).json()["session"]
    real = {"id": session, "name": "search"}
    for operation in own:
        begins = operation.method.upper() == "POST" and operation.path in BEGIN
        try_operation(operation, headers, FEW if begins else TRIES)
        if "{" in operation.path:
            try_operation(operation, headers, FEW, real)


def try_operation(
    operation: Any, headers: dict[str, str], tries: int, real: dict[str, str] | None = None
) -> None:
    """Requests of all kinds; `real` are parts of paths that are there."""

    @given(case=operation.as_strategy())
    @settings(max_examples=tries, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    def is_true(case: Any) -> None:
        parts = case.path_parameters or {}
        case.path_parameters = parts | {key: real[key] for key in parts if real and key in real}
        if case.operation.path.endswith("/events"):
            case.query = {**(case.query or {}), "follow": "no"}
        case.call_and_validate(checks=CHECKS, headers=headers, timeout=30)

    is_true()
