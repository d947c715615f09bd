"""An answer that follows the person's JSON Schema: read from replies, asked for, and its faults."""

import json
from pathlib import Path
from typing import Any

import pytest

from kith.agent.final_answer import ASKS, read_answer, read_schema
from kith.agent.project import Project
from kith.agent.tasks import Task, run_task
from kith.core.errors import UsageError
from kith.core.event_loop import run_loop
from kith.core.events import Applied
from mending import DONE, NEW, OLD, edit
from outside import Kith, Serve

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"count": {"type": "integer"}},
    "required": ["count"],
    "additionalProperties": False,
}
GOOD = '{"count": 2}'


@pytest.mark.parametrize(
    "text",
    [GOOD, f"```json\n{GOOD}\n```", f"Here it is:\n\n```\n{GOOD}\n```\nIt counts two.", f"I count: {GOOD}."],
)
def test_a_value_is_found_in_other_words(text: str) -> None:
    assert read_answer(text, SCHEMA).value == {"count": 2}


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", "not one JSON value"),
        ("two", "not one JSON value"),
        ("[1, 2", "not one JSON value: Expecting"),
        ('{"count": "2"}', "$.count: '2' is not of type 'integer'"),
        ("{}", "'count' is a required property"),
        ('{"count": NaN}', "NaN is no JSON number"),
        ("[" * 90 + "]" * 90, "nested too deeply"),
        ("[" * 90_000, "nested too deeply"),
    ],
)
def test_a_fault_is_named(text: str, fault: str) -> None:
    assert fault in read_answer(text, SCHEMA).fault


@pytest.mark.parametrize("value", ["null", "0", "false", '""', "[]"])
def test_any_json_value_can_be_an_answer(value: str) -> None:
    answer = read_answer(value, {})
    assert not answer.fault and answer.value == json.loads(value)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("{", "s.json is not JSON: Expecting property name"),
        ("[]", "must hold a JSON Schema"),
        ('{"type": "text"}', "s.json is not a JSON Schema: 'text' is not valid"),
        ('{"$ref": "https://example.com/s.json"}', "refers to https://example.com/s.json"),
        ('{"$ref": "file:///etc/passwd"}', "refers to file:///etc/passwd"),
        ('{"$ref": "#/$defs/x"}', "refers to #/$defs/x, which it does not define"),
        ('{"$schema": 5}', "not a JSON Schema"),
        ('{"pattern": "("}', "'(' is not a 'regex' at $.pattern"),
        ('{"patternProperties": {"(": {}}}', "'(' is not a 'regex'"),
        (json.dumps({"description": "x" * 60_000}), "over the limit"),
        ('{"a":' * 500 + "1" + "}" * 500, "nested too deeply"),
    ],
)
def test_a_bad_schema_is_one_sentence(text: str, why: str) -> None:
    with pytest.raises(UsageError, match=r"^s\.json ") as error:
        read_schema(text, "s.json")
    assert why in str(error.value)


@pytest.mark.parametrize("dialect", ["2020-12/schema", "2019-09/schema"])
def test_references_within_the_schema_are_followed(dialect: str) -> None:
    text = {"$schema": f"https://json-schema.org/draft/{dialect}", "$ref": "#/$defs/n"}
    schema = read_schema(json.dumps(text | {"$defs": {"n": {"type": "integer"}}}), "s.json")
    assert read_answer("2", schema).value == 2 and read_answer('"2"', schema).fault


def test_an_unknown_dialect_is_read_as_the_newest() -> None:
    schema = {"$schema": "https://example.com/d", "$ref": "#/$defs/n", "$defs": {"n": {"type": "integer"}}}
    assert read_answer("2", read_schema(json.dumps(schema), "s.json")).value == 2


def test_an_older_draft_and_an_endless_schema_are_read() -> None:
    older = {"$schema": "http://json-schema.org/draft-07/schema#", "$ref": "#/definitions/n"}
    schema = read_schema(json.dumps(older | {"definitions": {"n": {"type": "integer"}}}), "s.json")
    assert read_answer("2", schema).value == 2
    assert "without end" in read_answer("2", read_schema('{"$ref": "#"}', "s.json")).fault


# --- from outside --------------------------------------------------------------------------------


@pytest.fixture
def schema(tmp_path: Path) -> str:
    file = tmp_path / "schema.json"
    file.write_text(json.dumps(SCHEMA))
    return str(file)


@pytest.mark.parametrize("dialect", ["ollama", "llama-server"])
def test_the_value_alone_is_printed(kith: Kith, serve: Serve, schema: str, dialect: str) -> None:
    server = serve(["There are two functions.", GOOD], dialect)
    done = kith("run", "--output-schema", schema, "how many functions?")
    assert json.loads(done.stdout) == {"count": 2}
    first, last = server.requests
    assert '"count"' in first["messages"][-1]["content"]
    assert last["messages"][: len(first["messages"])] == first["messages"], "the prompt only grows"
    assert last["tools"] == first["tools"]
    held = last["format"] if dialect == "ollama" else last["response_format"]["json_schema"]["schema"]
    assert held == SCHEMA and "format" not in first and "response_format" not in first


def test_a_value_given_unasked_costs_no_other_call(kith: Kith, serve: Serve, schema: str) -> None:
    server = serve([GOOD])
    report = kith.run("--read-only", "--output-schema", schema, "how many?")
    assert report["answer"] == {"count": 2} and report["status"] == "done" and len(server.requests) == 1


def test_a_bad_value_is_asked_for_again(kith: Kith, serve: Serve, schema: str) -> None:
    server = serve(["Two.", '{"count": "2"}', GOOD])
    assert kith.run("--output-schema", schema, "how many?")["answer"] == {"count": 2}
    assert "'2' is not of type 'integer'" in server.requests[-1]["messages"][-1]["content"]


def test_no_value_that_follows_it_is_a_failure(kith: Kith, serve: Serve, schema: str) -> None:
    server = serve(["Two."] * (1 + ASKS))
    done = kith("run", "--output-schema", schema, "how many?", code=1)
    assert done.stdout == "" and "does not follow the schema: it is not one JSON value" in done.stderr
    assert len(server.requests) == 1 + ASKS


def test_a_refused_schema_is_left_out(kith: Kith, serve: Serve, schema: str) -> None:
    refusal = {"error": {"status": 400, "text": "Invalid schema for response_format 'reply'"}}
    server = serve(["Two.", refusal, "{}", GOOD], "vllm")
    assert kith.run("--output-schema", schema, "how many?")["answer"] == {"count": 2}
    held = ["response_format" in request for request in server.requests]
    assert held[-2:] == [False, False] and True in held


def test_a_change_comes_with_its_answer(kith: Kith, serve: Serve, schema: str) -> None:
    serve([edit(), DONE, GOOD])
    report = kith.run("--yes", "--check", "none", "--output-schema", schema, "fix mean")
    assert report["answer"] == {"count": 2} and report["applied"]
    assert NEW in (kith.folder / "utils.py").read_text()


def test_a_change_that_waits_leaves_stdout_empty(kith: Kith, serve: Serve, schema: str) -> None:
    serve([edit(), DONE])
    done = kith("run", "--check", "none", "--output-schema", schema, "fix mean", code=3)
    assert done.stdout.strip() == "" and "waits" in done.stderr


def test_exact_edits_get_an_answer_too(kith: Kith, serve: Serve, schema: str) -> None:
    serve([edit(), DONE, GOOD])
    words = f'replace "{OLD.strip()}" with "{NEW.strip()}" in utils.py'
    assert kith.run("--yes", "--check", "none", "--output-schema", schema, words)["answer"] == {"count": 2}


def test_a_bad_schema_ends_before_a_model_is_asked(kith: Kith, tmp_path: Path) -> None:
    file = tmp_path / "s.json"
    file.write_text('{"type": 3}')
    assert "JSON Schema" in kith("run", "--output-schema", str(file), "x", code=2).stderr
    assert "nowhere.json" in kith("run", "--output-schema", "nowhere.json", "x", code=2).stderr


def test_a_task_killed_before_its_answer_gives_it_on_resume(kith: Kith, serve: Serve, schema: str) -> None:
    """The change is applied already; the schema comes from the log."""

    class Killed(BaseException):
        pass

    def die(event: object, path: tuple[str, ...]) -> None:
        if isinstance(event, Applied):
            raise Killed

    async def agree(question: Any) -> Any:
        from kith.core.values import Answer

        return Answer("all")

    serve([edit(), DONE, GOOD])
    project = Project.open(kith.folder, {"check": ("none",)})
    with pytest.raises(Killed):
        run_loop(run_task(project, Task("fix mean", schema=SCHEMA), agree, [die], "abc123def456"))
    done = kith("run", "--resume", "abc123", code=0)
    assert json.loads(done.stdout) == {"count": 2}
