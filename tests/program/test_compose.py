"""The example of a container limits what kith may use."""

import yaml

from places import ROOT


def test_the_container_is_limited() -> None:
    service = yaml.safe_load((ROOT / "compose.yaml").read_text())["services"]["kith"]
    assert {"cpus", "mem_limit", "pids_limit", "cap_drop", "read_only"} <= service.keys()
    assert service["cpus"] == "${KITH_CPUS:-4}"
