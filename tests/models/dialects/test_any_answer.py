"""Whatever a server answers, there is a reply or one sentence, and never a traceback."""

import asyncio
import json
from contextlib import suppress
from typing import Any

import httpx2
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kith.core.errors import ModelError, NoModelError
from kith.core.model import Prompt
from kith.core.values import Reply, say
from kith.models.discovery.cards import cards, kind_of
from kith.models.discovery.memory import Memory, choose_window, fits
from kith.models.providers.answers import fraction
from kith.models.providers.ollama import Ollama, shape_of
from kith.models.providers.openai_like import OpenAILike
from kith.models.providers.wire import Endpoint
from kith.models.traits import describe

HI = Prompt("", (say("hi"),))
DEEP, HUGE = "[" * 100_000, 10**400

simple = st.one_of(
    st.none(), st.booleans(), st.floats(), st.text(max_size=5), st.sampled_from([-1, 0, 7, HUGE])
)
anything = st.recursive(
    simple, lambda inner: st.one_of(st.lists(inner, max_size=2), st.dictionaries(st.text(max_size=3), inner))
)


def objects(**keys: Any) -> Any:
    """Objects that have these keys perhaps, with what belongs there or with anything at all."""
    return st.fixed_dictionaries(
        {}, optional={key: st.one_of(value, anything) for key, value in keys.items()}
    )


def each(value: Any) -> Any:
    return st.lists(st.one_of(value, anything), max_size=2)


function = objects(name=st.just("read"), arguments=st.sampled_from(["{", '{"a": 1}', {"a": 1}]))
call = objects(index=st.integers(0, 1), id=st.just("c"), function=function)
said = objects(content=st.text(), reasoning_content=st.text(), thinking=st.text(), tool_calls=each(call))
chunk = objects(
    choices=each(objects(delta=said, finish_reason=st.just("stop"))),
    usage=objects(prompt_tokens=st.integers(), prompt_tokens_details=objects(cached_tokens=st.integers())),
    timings=objects(prompt_ms=st.floats(), cache_n=st.integers()),
    prompt_progress=objects(processed=st.integers(), total=st.integers()),
    message=said,
    done=st.booleans(),
    prompt_eval_count=st.integers(),
    error=st.text(),
)


def answering(body: str, kind: str = "application/json") -> Endpoint:
    answer = httpx2.Response(200, content=body.encode("utf-8", "replace"), headers={"content-type": kind})
    return Endpoint("http://127.0.0.1:1", transport=httpx2.MockTransport(lambda request: answer))


@pytest.mark.slow
@settings(max_examples=80, deadline=None)
@given(st.lists(chunk, max_size=3), st.booleans())
def test_of_a_stream(chunks: list[Any], native: bool) -> None:
    lines = [json.dumps(each) for each in chunks]
    if native:
        model: Any = Ollama("m", answering("\n".join(lines)))
    else:
        body = "".join(f"data: {line}\n\n" for line in (*lines, "[DONE]"))
        model = OpenAILike("m", answering(body, "text/event-stream"), "llama-server")
    with suppress(ModelError):
        assert isinstance(asyncio.run(model(HI, lambda event: None)), Reply)


@pytest.mark.parametrize("body", [DEEP, json.dumps({"data": [{"id": "m", "meta": {"size": HUGE}}]})])
def test_of_a_list(body: str) -> None:
    for kind in ("ollama", "llama-server", "lmstudio", "vllm", "openai"):
        for ask in (kind_of, lambda at, kind=kind: cards(kind, at, details=True)):
            with suppress(ModelError):
                asyncio.run(ask(answering(body)))
    for model in (Ollama("m", answering(body)), OpenAILike("m", answering(body), "llama-server")):
        with suppress(ModelError, NoModelError):
            asyncio.run(model.facts())
        with pytest.raises(ModelError):
            asyncio.run(model(HI, lambda event: None))


def test_of_a_measure() -> None:
    """What it is divided by it stays a number."""
    for measure in (1e-300, 1e300, float("nan"), float("inf"), -1.0, HUGE, "1", None):
        assert fraction(measure) == 0.0
    assert fraction(0.25) == 0.25


@pytest.mark.slow
@settings(max_examples=50, deadline=None)
@given(objects(model_info=st.dictionaries(st.text(max_size=4), anything), capabilities=anything))
def test_of_a_models_shape(shown: Any) -> None:
    shape = asyncio.run(shape_of(answering(json.dumps(shown)), "m"))
    assert 0 <= shape.trained < 1 << 60


@given(
    st.dictionaries(
        st.sampled_from(
            [
                f"q.{key}"
                for key in (
                    *("block_count", "context_length", "embedding_length", "vocab_size"),
                    *("attention.head_count", "attention.head_count_kv", "attention.key_length"),
                    *(
                        "attention.value_length",
                        "attention.sliding_window",
                        "ssm.inner_size",
                        "ssm.state_size",
                    ),
                    *("full_attention_interval", "attention.sliding_window_pattern", "expert_count"),
                )
            ]
        ),
        st.one_of(anything, st.integers(-1, 1 << 60), st.lists(st.integers(-1, 1 << 60), max_size=3)),
    ),
    st.integers(0, 1 << 60),
)
def test_of_a_header(info: dict[str, Any], size: int) -> None:
    """Numbers of any size give a window, and a sentence of fair length."""
    header = describe({"general.architecture": "q", **info})
    memory = Memory(16 << 30, 8 << 30)
    assert choose_window(header, size, memory).window > 0
    assert len(fits(header, size, memory)[1]) < 200
