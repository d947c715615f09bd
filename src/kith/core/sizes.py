"""Sizes for people: one unit everywhere, so that a file, a memory and a disk compare at a glance."""


def size_text(size: float) -> str:
    """A number of bytes in decimal units, as on a download page: `4.7 GB`."""
    for unit in ("bytes", "kB", "MB"):
        if size < 999.5:
            return f"{size:.0f} {unit}"
        size /= 1000
    return f"{size:,.1f} GB"
