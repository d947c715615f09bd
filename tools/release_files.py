"""Make and check the files that are released beside kith: pinned dependencies, and checksums.

    python3 tools/release_files.py lock        # requirements/*.txt anew, from uv.lock (needs the network)
    python3 tools/release_files.py pack DIST   # locked requirements and SHA256SUMS, beside the wheel in DIST
    python3 tools/release_files.py tag [TAG]   # the version; fails where the tag is another one

`.ci/release` builds everything. `tests/test_release.py` fails when a pin no longer fits `pyproject.toml`.
"""

import hashlib
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parent.parent
PINS: Final = ROOT / "requirements"
KITH, BUILD, SBOM = (PINS / name for name in ("kith.txt", "build.txt", "sbom.txt"))
_EXPORT: Final = ("export", "--no-dev", "--extra", "all", "--no-emit-project", "--no-annotate", "--no-header")
_COMPILE: Final = ("pip", "compile", "--generate-hashes", "--universal", "--no-annotate", "--no-header")
_SBOM_TOOL: Final = "cyclonedx-bom[json-validation]>=7.5,<8\n"
_HEAD: Final = "# Made by tools/release_files.py; pip and uv refuse any other file with --require-hashes.\n"


def lock() -> None:
    """Pin kith's dependencies for every system, the build backend, and the program that writes the SBOM."""
    PINS.mkdir(exist_ok=True)
    KITH.write_text(_HEAD + _uv(*_EXPORT, "--format", "requirements.txt"))
    BUILD.write_text(_HEAD + _uv(*_COMPILE, "--python-version", "3.11", "-", text="\n".join(_backend())))
    SBOM.write_text(_HEAD + _uv(*_COMPILE, "--python-version", "3.11", "-", text=_SBOM_TOOL))


def pack(dist: Path) -> None:
    """Write the locked requirements of the wheel in `dist`, and the checksums of all files there."""
    (wheel,) = dist.glob("*.whl")
    own = f"kith-agent[all]=={version()} \\\n    --hash=sha256:{_digest(wheel)}\n"
    pins = KITH.read_text().removeprefix(_HEAD)
    (dist / f"kith-agent-{version()}-locked.txt").write_text(_HEAD + own + pins)
    sums = dist / "SHA256SUMS"
    files = sorted(each for each in dist.iterdir() if each != sums and not each.name.startswith("."))
    sums.write_text("".join(f"{_digest(file)}  {file.name}\n" for file in files))


def version() -> str:
    """The version that `pyproject.toml` names."""
    return str(_project()["version"])


def _project() -> dict[str, object]:
    project: dict[str, object] = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    return project


def _backend() -> list[str]:
    requires: list[str] = tomllib.loads((ROOT / "pyproject.toml").read_text())["build-system"]["requires"]
    return requires


def _digest(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


def _uv(*words: str, text: str = "") -> str:
    uv = ["uv"] if shutil.which("uv") else [sys.executable, "-m", "uv"]
    ran = subprocess.run([*uv, *words, "--quiet"], cwd=ROOT, input=text, capture_output=True, text=True)
    if ran.returncode:
        sys.exit(ran.stderr)
    return re.sub(r"^#.*\n", "", ran.stdout, flags=re.MULTILINE)


def main() -> None:
    match sys.argv[1:]:
        case ["lock"]:
            lock()
        case ["pack", dist]:
            pack(Path(dist))
        case ["tag"]:
            print(version())
        case ["tag", tag] if tag == f"v{version()}":
            print(version())
        case ["tag", tag]:
            sys.exit(f"The tag is {tag}, but pyproject.toml has the version {version()}.")
        case _:
            sys.exit(__doc__)


if __name__ == "__main__":
    main()
