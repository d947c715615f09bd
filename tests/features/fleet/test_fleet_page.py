"""The fleet in `kith serve`: pages, JSON and figures for Prometheus."""

import asyncio
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from kith.features.fleet.artefacts import FolderStore
from kith.features.fleet.attempts import Batch, Result, Spent
from kith.features.fleet.database import Fleet, open_fleet
from kith.features.fleet.settings import Limits, keep_dsn
from kith.features.fleet.tasks import FleetTask, name_tasks
from serving import Serving

HOSTILE = "<script>alert(1)</script> mend"


@pytest.fixture
def batch(dsn: str, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A batch of three: one proven, one failed, one that waits."""
    monkeypatch.setenv("KITH_FLEET_DSN", dsn)
    monkeypatch.setenv("KITH_FLEET_STORE", str(tmp_path / "store"))
    (tmp_path / "a patch").write_text("--- a\n+++ b\n")
    digest = FolderStore(tmp_path / "store").put(tmp_path / "a patch")

    async def fill() -> str:
        async with open_fleet(dsn) as fleet:
            return await ended(fleet, digest)

    return asyncio.run(fill())


async def ended(fleet: Fleet, digest: str) -> str:
    tasks = name_tasks([FleetTask("/srv/r", HOSTILE) for _ in range(3)])
    batch = await fleet.submit(Batch("nightly <b>", "ada", max_usd=9.0), tasks)
    models = [{"name": "box/qwen", "window": 32_768, "read": 400.0, "write": 21.0}]
    await fleet.announce("machine-1", 4, models, {})
    rows = await fleet.rows("SELECT id FROM fleet_runs ORDER BY share")
    results = [Result("proven", 0, artefacts={"patch": digest}), Result("failed", 1, "no <i>idea</i>")]
    for row, result in zip(rows, results, strict=False):
        attempt = await fleet.begin(row["id"], "machine-1", Limits())
        assert attempt
        await fleet.settle(attempt, Spent(2, 100, 20, 0.5), result)
    await fleet.rows(
        "UPDATE fleet_runs SET published = %(url)s WHERE id = %(run)s RETURNING id",
        url="https://forge.example/pulls/1",
        run=rows[0]["id"],
    )
    return batch


def test_the_page_shows_batches_workers_and_failures(batch: str, serve: Serving) -> None:
    page = serve.client.get("/fleet")
    assert page.status_code == 200
    for told in ("nightly &lt;b&gt;", "machine-1", "box/qwen", "2 of 3", "$1.00 of $9.00", "&lt;i&gt;idea"):
        assert told in page.text, told
    assert "style=" not in page.text and "<script>" not in page.text


def test_a_batch_has_a_page_with_its_tasks_and_their_files(batch: str, serve: Serving) -> None:
    page = serve.client.get(f"/fleet/{batch}").text
    assert page.count("&lt;script&gt;") == 3 and "proven" in page and "<script>alert" not in page
    assert 'href="https://forge.example/pulls/1"' in page
    waiting = serve.client.get(f"/fleet/{batch}", params={"state": "waiting"}).text
    assert waiting.count("&lt;script&gt;") == 1
    patch = serve.client.get(f"/fleet/{batch}/1/patch")
    assert patch.text == "--- a\n+++ b\n" and "attachment" in patch.headers["content-disposition"]
    assert serve.client.get(f"/fleet/{batch}/2/patch").status_code in (404, 422)
    assert "nobody" in serve.client.get("/fleet/nobody").text


def test_programs_read_the_same_as_json_and_as_figures(batch: str, serve: Serving) -> None:
    told = serve.client.get("/api/v1/fleet").json()
    assert [each["id"] for each in told["batches"]] == [batch] and told["workers"][0]["slots"] == 4
    figures = {
        (sample.name, *sample.labels.values()): sample.value
        for family in text_string_to_metric_families(serve.client.get("/api/fleet/metrics").text)
        for sample in family.samples
    }
    assert figures["kith_fleet_runs", "done"] == 2 and figures["kith_fleet_runs", "waiting"] == 1
    assert figures["kith_fleet_verdicts", "proven"] == 1 and figures["kith_fleet_cost_usd",] == 1.0
    assert figures["kith_fleet_tokens", "read"] == 200 and figures["kith_fleet_workers", "slots"] == 4


@pytest.mark.slow
def test_without_a_database_the_page_says_so_in_a_sentence(
    serve: Serving,
) -> None:
    page = serve.client.get("/fleet")
    assert page.status_code == 200 and "kith fleet up" in page.text
    keep_dsn("host=/nowhere dbname=x", serve.state)
    assert "does not answer" in serve.client.get("/fleet").text
