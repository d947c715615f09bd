"""Helpers for values, which are all `msgspec.Struct`."""

from collections.abc import Callable

from msgspec import Struct


def repr_without(*names: str) -> Callable[[Struct], str]:
    """Make a `__repr__` that leaves out these fields: secrets, and what is long."""

    def represent(value: Struct) -> str:
        shown = (name for name in value.__struct_fields__ if name not in names)
        return f"{type(value).__name__}({', '.join(f'{name}={getattr(value, name)!r}' for name in shown)})"

    return represent
