"""kith's own engine: started, shared, restarted, and never left behind. Real processes, real signals."""

import asyncio
import json
import os
import shutil
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from engines import SMALL, another_kith, heard, ignore, kill, names_of, provider
from kith.core.errors import KithError, ModelError
from kith.core.events import Delta, Event, Notice, Progress
from kith.core.model import Emit, Prompt
from kith.core.values import Reply, Sampling, say
from kith.features.engine.model_files import EngineModel
from kith.features.engine.options import EngineOptions
from kith.features.engine.processes import birth
from kith.features.engine.running import EngineAddress, open_engine, running_engines, stop_engines
from kith.models.providers.openai_like import OpenAILike
from kith.models.providers.wire import Endpoint
from processes import only, processes_of, record_of, wait_until_gone
from waiting import until

pytestmark = pytest.mark.slow


def test_it_starts_answers_and_ends_when_idle(state: Path, wheel: Path) -> None:
    events: list[Event] = []
    prompt = Prompt("", (say("Say it."),), sampling=Sampling(max_tokens=20))

    async def work() -> Reply:
        address = await open_engine(wheel, SMALL, state, events.append, name="tiny", idle_s=0.3)
        assert (address.window, len(address.digest)) == (2048, 64)
        running = only(state)
        assert (running.name, running.used, running.state) == ("tiny", True, "ready")
        reply = await provider(address, grammar='root ::= "one two"')(prompt, events.append)
        with pytest.raises(ModelError, match="refused the key"):
            await OpenAILike("tiny", Endpoint(address.url), "llama-server")(prompt, ignore)
        address.release()
        return reply

    assert asyncio.run(work()).message.text == "one two"
    assert Progress("loading tiny", 0, 100) in events
    wait_until_gone(state)


def test_two_kiths_share_one_engine_until_both_are_killed(state: Path, wheel: Path) -> None:
    one, other = (another_kith(state, wheel, "xllamacpp", "--no-warmup") for _ in range(2))
    assert heard(one, "open") == heard(other, "open")
    engine = record_of(state).engine
    kill(one)
    time.sleep(0.8)  # longer than it waits for somebody to want it
    assert record_of(state).engine == engine
    kill(other)
    wait_until_gone(state)


def test_a_crash_in_the_middle_of_an_answer_is_mended(state: Path, wheel: Path) -> None:
    reply, events = talk(state, wheel, crashes=1)
    assert (reply.stop, reply.usage.output) == ("length", 1500)
    (notice,) = [event.text for event in events if isinstance(event, Notice)]
    assert notice.startswith("The engine ended while it ran tiny (SIGKILL")
    assert notice.endswith("; it was started again.")
    assert (state / "engines" / "last-failure.log").exists()


def test_a_prompt_that_crashes_it_twice_is_given_up(state: Path, wheel: Path) -> None:
    with pytest.raises(ModelError, match=r"crashed twice on the same prompt.*SIGKILL") as caught:
        talk(state, wheel, crashes=2)
    assert not caught.value.retryable


def talk(state: Path, model: Path, crashes: int) -> tuple[Reply, list[Event]]:
    """One long answer of an engine that is killed, so many times, when it begins to answer."""
    events: list[Event] = []
    left = crashes

    def listen(event: Event) -> None:
        nonlocal left
        first = isinstance(event, Delta) and not isinstance(events[-1], Delta)
        events.append(event)
        if first and left:  # the old engine's last words come before the notice, the new one's after it
            left -= 1
            os.kill(record_of(state).engine, signal.SIGKILL)

    async def work() -> Reply:
        owned = EngineModel(
            "engine/tiny", opener(state, model), lambda address: provider(address, ignore_eos=True)
        )
        return await owned(Prompt("", (say("Go on."),), sampling=Sampling(max_tokens=1500)), listen)

    return asyncio.run(work()), events


def opener(state: Path, model: Path) -> Callable[[Emit], Any]:
    async def begin(emit: Emit) -> EngineAddress:
        return await open_engine(model, SMALL, state, emit, name="tiny", idle_s=30)

    return begin


def test_facts_and_counts_survive_a_stop(state: Path, wheel: Path) -> None:
    async def work() -> None:
        owned = EngineModel("engine/tiny", opener(state, wheel), provider)
        address, before = await owned.start(ignore), await owned.facts()
        assert (before.digest, before.window, before.server) == (address.digest, 2048, address.url)
        assert stop_engines(state) == 1
        assert await owned.count(Prompt("", (say("hello"),)))
        after = await owned.facts()
        assert (after.digest, after.window) == (before.digest, 2048)
        assert after.server != before.server

    asyncio.run(work())


def test_when_the_keeper_is_killed_the_engine_goes_with_it(state: Path, wheel: Path) -> None:
    async def work() -> None:
        opened = await open_engine(wheel, SMALL, state, ignore, idle_s=30)
        record = record_of(state)
        os.kill(record.keeper, signal.SIGKILL)
        until(lambda: birth(record.engine) != record.engine_born, "the engine lives on")
        again = await open_engine(wheel, SMALL, state, ignore, idle_s=30)
        assert again.url != opened.url

    asyncio.run(work())


def test_a_record_of_an_earlier_boot_is_replaced(state: Path, wheel: Path) -> None:
    async def work() -> None:
        opened = await open_engine(wheel, SMALL, state, ignore, idle_s=30)
        home, text = opened.home, opened.home.record.read_text()
        stop_engines(state)
        opened.release()
        # The numbers of then are somebody else's now: here, this very process's.
        mine = {name: os.getpid() for name in ("keeper", "engine")}
        born = dict.fromkeys(("keeper_born", "engine_born"), "an-earlier-boot 12")
        home.make()
        home.record.write_text(json.dumps({**json.loads(text), **mine, **born}))
        assert running_engines(state) == []
        again = await open_engine(wheel, SMALL, state, ignore, idle_s=30)
        assert (again.home, again.window) == (home, 2048)
        assert again.url != opened.url

    asyncio.run(work())


def test_an_engine_whose_state_was_removed_ends(state: Path, wheel: Path) -> None:
    async def work() -> None:
        address = await open_engine(wheel, SMALL, state, ignore, idle_s=1)
        shutil.rmtree(state)
        address.release()

    asyncio.run(work())
    until(lambda: not processes_of(state), "the engine outlived its state")


def test_another_model_takes_the_place_of_an_idle_one(state: Path, wheel: Path, tmp_path: Path) -> None:
    other = Path(shutil.copy(wheel, tmp_path / "other.gguf"))
    events: list[Event] = []

    async def work() -> None:
        first = await open_engine(wheel, SMALL, state, ignore, name="first", idle_s=30)
        second = await open_engine(other, SMALL, state, events.append, name="second", idle_s=30)
        assert names_of(state) == ["first", "second"] and not notices()  # both are in use
        first.release()
        third = await open_engine(wheel, EngineOptions(1024, threads=1), state, events.append, name="third")
        assert names_of(state) == ["second", "third"]
        assert notices() == ["Stopped the idle engine of first to make room."]
        assert stop_engines(state) == 2
        second.release()
        third.release()

    def notices() -> list[str]:
        return [event.text for event in events if isinstance(event, Notice)]

    asyncio.run(work())


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda data: b"<html>" + data, r"odd\.gguf is not a GGUF"),
        (lambda data: data[:100_000], r"odd\.gguf is incomplete"),
        (lambda data: data.replace(b"llama", b"lxxma", 1), r"does not know odd's architecture \(lxxma\)"),
    ],
)
def test_a_file_that_cannot_be_run_is_said_in_a_sentence(
    state: Path, wheel: Path, tmp_path: Path, change: Callable[[bytes], bytes], words: str
) -> None:
    odd = tmp_path / "odd.gguf"
    odd.write_bytes(change(wheel.read_bytes()))
    with pytest.raises(KithError, match=words) as caught:
        asyncio.run(open_engine(odd, SMALL, state, ignore))
    assert "\n" not in str(caught.value)
    wait_until_gone(state)  # at once: nobody will want it


def test_the_engine_inside_takes_the_flags(state: Path, wheel: Path) -> None:
    extra = ("-np", "2", "-kvu")
    options = EngineOptions(512, 0, "on", threads=1, cache_type_k="q8_0", cache_type_v="q8_0", extra=extra)

    async def work() -> tuple[int, Any]:
        address = await open_engine(wheel, options, state, ignore, idle_s=30)
        return address.window, await Endpoint(address.url, address.key).get("/slots")

    window, slots = asyncio.run(work())
    assert (window, len(slots)) == (512, 2)
    log = only(state).home.log.read_text()
    assert "n_slots = 2" in log and "kv_unified = 'true'" in log
