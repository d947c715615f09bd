"""Rust's and Go's toolchains: one manifest, one command."""

import re
from collections.abc import Collection
from typing import Final

from kith.gates.toolchains.toolchain import Read, Toolchain, read_text

OTHER_CLUES: Final = ("Cargo.toml",)


def find_cargo(files: Collection[str], read: Read) -> tuple[Toolchain, ...]:
    """All packages of a workspace, and all their programs of tests although an earlier one fails."""
    if "Cargo.toml" not in files:
        return ()
    text = read_text(read, "Cargo.toml")
    workspace = " --workspace" if re.search(r"^\[workspace\]", text, re.M) else ""
    whole = Toolchain(
        "cargo test", "Rust", "Cargo.toml", f"cargo test --offline{workspace} --no-fail-fast", "cargo"
    )
    if not workspace or not re.search(r"^\[package\]", text, re.M):
        return (whole,)
    top = Toolchain("cargo test", "Rust", "Cargo.toml", "cargo test --offline --no-fail-fast", "cargo")
    return (whole, top)


def find_go(files: Collection[str], read: Read) -> tuple[Toolchain, ...]:
    """All packages of the module; of a workspace, of all its modules."""
    if "go.work" in files:
        line = "go test $(go list -m -f '{{.Dir}}/...')"
        return (Toolchain("go test", "Go", "go.work", line, "go"),)
    if "go.mod" not in files:
        return ()
    return (Toolchain("go test", "Go", "go.mod", "go test ./...", "go"),)
