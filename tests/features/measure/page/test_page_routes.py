"""What was measured, over HTTP: as JSON, for Prometheus, and as pages."""

import json
import random
import time
from pathlib import Path

from prometheus_client.parser import text_string_to_metric_families

from kith.core.events import Asked, Called, Options, RunStarted
from kith.core.values import Question, Usage
from kith.memory.log import LOG_FILE, Log
from kith.memory.session import Session
from measuring import a_task, write
from serving import Serving


def the_log(home: Path) -> Log:
    return Log(home / ".local/state/kith" / LOG_FILE)


def values(serve: Serving) -> dict[tuple[str, ...], float]:
    """Each series: its name and its labels' values -> its value."""
    answered = serve.client.get("/metrics", headers={"Accept": "application/openmetrics-text; version=odd"})
    assert answered.status_code == 200 and answered.headers["content-type"].startswith("text/plain")
    return {
        (sample.name, *(sample.labels[name] for name in sorted(sample.labels))): sample.value
        for family in text_string_to_metric_families(answered.text)
        for sample in family.samples
    }


def test_a_profile_as_json_and_as_a_page(serve: Serving, home: Path, repository: Path) -> None:
    rng, now = random.Random(2), time.time() - 40 * 86_400
    every = (a_task(f"s{n}", now + 80_000 * n, rng, str(repository)) for n in range(40))
    write(the_log(home), [told for task in every for told in task])
    told = serve.client.get("/api/v1/profile").json()
    assert told["calls"] > 40 and {"speed", "success", "money", "errors", "builds"} <= told.keys()
    assert serve.client.get("/api/profile", params={"since": time.time()}).json()["calls"] == 0
    refused = serve.client.get("/api/profile", params={"model": "nobody"})
    assert refused.status_code == 422 and "No model 'nobody'" in refused.json()["detail"]
    page = serve.client.get("/profile")
    assert page.status_code == 200 and "<figcaption>Writing speed</figcaption>" in page.text
    assert (
        "style=" not in page.text and "<script>" not in page.text and 'href="/profile?days=30"' in page.text
    )
    assert "Nothing was measured yet" not in serve.client.get("/profile", params={"days": 7}).text
    models = serve.client.get("/models")
    assert models.status_code == 200 and "<h1>Models</h1>" in models.text


def test_metrics_follow_the_log_and_their_labels_are_few(
    serve: Serving, home: Path, repository: Path
) -> None:
    log = the_log(home)
    assert values(serve)["kith_sessions_open",] == 0
    rng = random.Random(3)
    write(log, list(a_task("one", time.time(), rng, str(repository))))
    before = values(serve)
    assert sum(value for key, value in before.items() if key[0] == "kith_tasks_total") == 1
    with Session(log, "two") as session:
        session.emit(RunStarted("x", str(repository), "m", "0", Options("review")))
        session.emit(Called("m", "edit", 1, Usage(100, 10, 60), usd=0.5))
        session.emit(Asked(Question("q", "change", "Apply?")))
        now = values(serve)
        assert now["kith_sessions_open",] == 1 and now["kith_questions_open",] == 1
        assert now["kith_tokens_total", "read", "m"] == 40 and now["kith_tokens_total", "cached", "m"] == 60
        assert now["kith_cost_usd_total", "m"] == 0.5 and now["kith_calls_total", "m", "answered"] == 1
    write(log, [("many", time.time(), (), Called(f"model-{n}", "edit", 1)) for n in range(200)])
    after = values(serve)
    names = {key[1] for key in after if key[0] == "kith_calls_total"}
    assert len(names) <= 51 and "other" in names
    assert sum(value for key, value in after.items() if key[0] == "kith_calls_total") > 200


def test_nobody_reads_measurements_without_the_token(serve: Serving) -> None:
    for path in ("/metrics", "/api/profile", "/profile", "/models"):
        bare = serve.client.get(path, headers={"Authorization": ""})
        assert bare.status_code in (401, 403), json.dumps([path, bare.status_code])
