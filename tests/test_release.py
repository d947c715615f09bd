"""What is released is pinned: dependencies by hash, the build by hash, the workflow's actions by commit."""

import re
import subprocess
import sys
import tomllib
from importlib.metadata import PackageNotFoundError, requires
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parent.parent
TOOL = ROOT / "tools" / "release_files.py"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
LATEST = "run `python3 tools/release_files.py lock`"
# Of extras that kith's own name, the packages that they stand for.
EXTRAS = {"psycopg[binary]": "psycopg-binary"}


def pinned(name: str) -> dict[str, str]:
    """Each package of a file with its version; every line is a pin with hashes, or a comment."""
    text = re.sub(r"^#.*\n", "", (ROOT / "requirements" / name).read_text(), flags=re.MULTILINE)
    found = {}
    for entry in re.split(r"\n(?=\S)", text.strip()):
        pin, *hashes = entry.replace("\\\n", "\n").split("\n")
        assert hashes and all(re.fullmatch(r" +--hash=sha256:[0-9a-f]{64} *", each) for each in hashes), entry
        requirement = Requirement(pin.strip())
        (exact,) = requirement.specifier
        assert exact.operator == "==" and not requirement.url and not exact.version.endswith("*"), pin
        found[canonicalize_name(requirement.name)] = exact.version
    return found


def own_requirements() -> list[str]:
    project = PROJECT["project"]
    extras = project["optional-dependencies"].values()
    return [*project["dependencies"], *(each for extra in extras for each in extra)]


def test_what_kith_needs_is_pinned_by_hash() -> None:
    pins = pinned("kith.txt")
    for text in own_requirements():
        each = Requirement(text)
        if each.name != "kith-agent":
            pin = pins.get(canonicalize_name(each.name), "")
            assert pin and each.specifier.contains(pin), f"{text}: {LATEST}"
        if each.extras and each.name != "kith-agent":
            assert EXTRAS[f"{each.name}[{','.join(each.extras)}]"] in pins


def test_what_those_need_is_pinned_too() -> None:
    pins = pinned("kith.txt")
    environment = {"python_version": "3.12", "python_full_version": "3.12.0", "extra": ""}
    for name in pins:
        try:
            needed = [Requirement(text) for text in requires(name) or ()]
        except PackageNotFoundError:  # for another system
            continue
        for each in needed:
            if each.marker is None or each.marker.evaluate(environment):
                assert canonicalize_name(each.name) in pins, f"{name} needs {each}: {LATEST}"


def test_nothing_else_is_released() -> None:
    """Programs of developers stay out."""
    assert not {"pytest", "mypy", "ruff", "hypothesis", "kith-agent"} & pinned("kith.txt").keys()


def test_the_build_is_pinned_by_hash() -> None:
    (backend,) = map(Requirement, PROJECT["build-system"]["requires"])
    ((name, version),) = pinned("build.txt").items()
    assert name == canonicalize_name(backend.name) and backend.specifier.contains(version), LATEST
    assert "cyclonedx-bom" in pinned("sbom.txt")


def test_every_action_is_pinned_and_gets_only_what_it_needs() -> None:
    workflow = yaml.safe_load((ROOT / ".github" / "workflows" / "release.yml").read_text())
    jobs = workflow["jobs"]
    used = [step["uses"] for job in jobs.values() for step in job["steps"] if "uses" in step]
    assert used and all(re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40}", each) for each in used)
    assert workflow["permissions"] == {} and all("permissions" in job for job in jobs.values())
    assert {name: job["permissions"] for name, job in jobs.items()} == {
        "build": {"contents": "read"},
        "attest": {"id-token": "write", "attestations": "write"},
        "pypi": {"id-token": "write"},
        "github": {"contents": "write"},
    }
    # Nobody but those who push tags starts it, and no secret is there to be taken.
    assert workflow[True] == {"push": {"tags": ["v*"]}}  # YAML takes `on` for a yes
    assert "secrets." not in (ROOT / ".github" / "workflows" / "release.yml").read_text()


def test_the_soak_runs_each_week_with_pinned_actions_and_no_rights() -> None:
    file = ROOT / ".github" / "workflows" / "soak.yml"
    workflow = yaml.safe_load(file.read_text())
    (job,) = workflow["jobs"].values()
    used = [step["uses"] for step in job["steps"] if "uses" in step]
    assert used and all(re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40}", each) for each in used)
    assert (workflow["permissions"], job["permissions"]) == ({}, {"contents": "read"})
    assert set(workflow[True]) == {"schedule", "workflow_dispatch"}  # YAML takes `on` for a yes
    assert ".ci/soak" in job["steps"][-1]["run"] and "secrets." not in file.read_text()
    script = ROOT / ".ci" / "soak"
    assert script.stat().st_mode & 0o100
    for each in re.findall(r"\S+\.py", script.read_text()):
        assert (ROOT / each).is_file(), each


def test_a_wheel_comes_with_its_pins_and_checksums(tmp_path: Path) -> None:
    version = PROJECT["project"]["version"]
    wheel = tmp_path / f"kith_agent-{version}-py3-none-any.whl"
    wheel.write_bytes(b"a wheel")
    subprocess.run([sys.executable, TOOL, "pack", tmp_path], check=True)
    locked = tmp_path / f"kith-agent-{version}-locked.txt"
    sums = dict(reversed(line.split("  ")) for line in (tmp_path / "SHA256SUMS").read_text().splitlines())
    assert set(sums) == {wheel.name, locked.name}
    own = f"kith-agent[all]=={version} \\\n    --hash=sha256:{sums[wheel.name]}\n"
    assert (
        own in locked.read_text()
        and (ROOT / "requirements/kith.txt").read_text()[-200:] in locked.read_text()
    )


@pytest.mark.parametrize(("tag", "code"), [(f"v{PROJECT['project']['version']}", 0), ("v999", 1)])
def test_a_tag_must_be_the_version(tag: str, code: int) -> None:
    ran = subprocess.run([sys.executable, TOOL, "tag", tag], capture_output=True, text=True)
    assert ran.returncode == code and (not code or ran.stderr.startswith("The tag is v999, but "))
