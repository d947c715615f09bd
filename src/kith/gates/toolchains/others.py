"""Rust's and Go's toolchains: one manifest, one command."""

from collections.abc import Collection

from kith.gates.toolchains.toolchain import Read, Toolchain


def find_cargo(files: Collection[str], read: Read) -> Toolchain | None:
    if "Cargo.toml" not in files:
        return None
    return Toolchain("cargo test", "Rust", "Cargo.toml", "cargo test --offline", "cargo")


def find_go(files: Collection[str], read: Read) -> Toolchain | None:
    if "go.mod" not in files:
        return None
    return Toolchain("go test", "Go", "go.mod", "go test ./...", "go")
