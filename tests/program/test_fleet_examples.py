"""The examples of a fleet's deployment: limited, drained in time, with commands that kith has."""

import shlex
import shutil
import subprocess
import sys
from argparse import ArgumentParser
from configparser import ConfigParser
from pathlib import Path
from typing import Any

import pytest
import yaml

from kith.features.fleet import FEATURE
from kith.features.fleet.forges import TOKEN
from kith.features.fleet.settings import DSN, FleetSettings
from places import ROOT

FLEET = ROOT / "examples" / "fleet"
END_S = 60  # after the grace, for kith to end and for checkpoints
COMPOSE: dict[str, Any] = yaml.safe_load((FLEET / "compose.yaml").read_text())
OBJECTS: list[dict[str, Any]] = list(yaml.safe_load_all((FLEET / "kubernetes.yaml").read_text()))


def known(name: str) -> bool:
    """True for a variable that kith reads."""
    field = name.removeprefix("KITH_FLEET_").lower()
    return name in (DSN, TOKEN) or field in FleetSettings.__struct_fields__


def services() -> dict[str, Any]:
    return {name: each for name, each in COMPOSE["services"].items() if "command" in each}


def of_kind(kind: str) -> dict[str, Any]:
    return {each["metadata"]["name"]: each for each in OBJECTS if each["kind"] == kind}


def pods() -> dict[str, Any]:
    found = {**of_kind("Deployment"), **of_kind("Job")}
    return {name: each["spec"]["template"]["spec"] for name, each in found.items()}


def unit() -> ConfigParser:
    parser = ConfigParser(strict=False, interpolation=None)
    parser.optionxform = str  # type: ignore[assignment, method-assign]
    parser.read(FLEET / "kith-fleet-worker.service")
    return parser


def parse(words: list[str]) -> Any:
    """The options of a command as kith's own parser reads them."""
    command = next(each for each in FEATURE.commands if each.name == " ".join(words[:2]))
    parser = ArgumentParser(exit_on_error=False)
    assert command.arguments
    command.arguments.load()(parser)
    return parser.parse_args(words[2:])


def test_every_command_is_one_that_kith_takes() -> None:
    commands = [each["command"] for each in services().values()]
    commands += [pod["containers"][0]["args"] for pod in pods().values()]
    commands.append(shlex.split(unit()["Service"]["ExecStart"])[1:])
    parsed = [parse(words) for words in commands]
    assert sum(bool(getattr(each, "publish_only", False)) for each in parsed) == 2


def test_every_variable_is_one_that_kith_reads() -> None:
    names = [name for each in services().values() for name in each["environment"]]
    for each in (*of_kind("Secret").values(), *of_kind("ConfigMap").values()):
        names += each.get("stringData", {}) | each.get("data", {})
    names += [each["name"] for pod in pods().values() for each in pod["containers"][0].get("env", [])]
    names.append(unit()["Service"]["Environment"].partition("=")[0])
    assert all(known(name) for name in names if name.startswith("KITH_")) and len(names) > 10


def test_workers_have_time_to_drain() -> None:
    worker = services()["worker"]
    assert worker["stop_grace_period"] == "3m" and parse(worker["command"]).grace + END_S <= 180
    pod = pods()["kith-fleet-worker"]
    grace = parse(pod["containers"][0]["args"]).grace
    assert pod["terminationGracePeriodSeconds"] >= grace + END_S
    service = unit()["Service"]
    assert int(service["TimeoutStopSec"]) >= parse(shlex.split(service["ExecStart"])[1:]).grace + END_S
    # "mixed" spares the tasks the signal, "always" starts a worker again that was ended by an update.
    assert [service[name] for name in ("KillSignal", "KillMode", "Restart")] == ["SIGTERM", "mixed", "always"]


def test_everything_is_limited() -> None:
    for each in services().values():
        assert {"cpus", "mem_limit", "pids_limit", "read_only", "cap_drop", "security_opt"} <= each.keys()
    for pod in pods().values():
        (container,) = pod["containers"]
        assert "memory" in container["resources"]["limits"] and "cpu" in container["resources"]["requests"]
        security = container["securityContext"]
        assert security["readOnlyRootFilesystem"] and not security["allowPrivilegeEscalation"]
        assert pod["securityContext"]["runAsNonRoot"] and not pod["automountServiceAccountToken"]
    assert {"CPUQuota", "MemoryMax", "TasksMax"} <= unit()["Service"].keys()


def test_the_token_is_with_the_publisher_alone() -> None:
    assert [name for name, each in services().items() if TOKEN in each["environment"]] == ["publisher"]
    (secret,) = [name for name, each in of_kind("Secret").items() if TOKEN in each["stringData"]]
    users = [name for name, pod in pods().items() if secret in str(pod)]
    assert users == ["kith-fleet-publisher"]


def test_no_worker_begins_before_the_tables_are_made() -> None:
    done = {"condition": "service_completed_successfully"}
    assert all(services()[name]["depends_on"] == {"init": done} for name in ("worker", "publisher"))
    assert services()["init"]["depends_on"] == {"database": {"condition": "service_healthy"}}


def test_the_container_has_what_a_fleet_needs() -> None:
    file = (ROOT / "Containerfile").read_text()
    assert "[fleet-s3]" in file and "openssh-client" in file
    made = next(line for line in file.splitlines() if "install -d -o kith" in line).split()
    volumes = [each.partition(":")[2] or each for each in services()["worker"]["volumes"]]
    assert set(volumes) <= set(made)


@pytest.mark.slow
def test_systemd_takes_the_unit(tmp_path: Path) -> None:
    if not shutil.which("systemd-analyze"):
        pytest.skip("systemd is not here")
    kith = Path(sys.executable).with_name("kith")
    text = (FLEET / "kith-fleet-worker.service").read_text()
    copy = tmp_path / "kith-fleet-worker.service"
    copy.write_text(text.replace("/home/kith/.local/bin/kith", str(kith)))
    done = subprocess.run(["systemd-analyze", "verify", "--man=no", copy], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
