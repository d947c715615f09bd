"""Money, sizes and times as people read them, and the median of some numbers."""

from collections.abc import Sequence

_LEAST = 0.0001  # below it nobody counts


def dollars(usd: float) -> str:
    """US dollars for people: cents, and smaller parts where there are no cents."""
    if 0 < usd < _LEAST:
        return f"under ${_LEAST}"
    return f"${usd:,.2f}" if usd >= 0.1 or not usd else f"${usd:.2g}"


def size_text(size: float) -> str:
    """A number of bytes in decimal units, as on a download page: `4.7 GB`."""
    for unit in ("bytes", "kB", "MB"):
        if size < 999.5:
            return f"{size:.0f} {unit}"
        size /= 1000
    return f"{size:,.1f} GB"


def time_text(seconds: float) -> str:
    """A time as people say it: `45 s`, `3 min`, `2 h 5 min`."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    hours, minutes = divmod(round(seconds / 60), 60)
    return f"{minutes} min" if not hours else f"{hours} h {minutes} min" if minutes else f"{hours} h"


def median(values: Sequence[float]) -> float:
    """The one in the middle, or halfway between the two; `values` are not empty."""
    ordered, half = sorted(values), len(values) // 2
    if len(ordered) % 2:
        return ordered[half]
    return ordered[half - 1] + 0.5 * (ordered[half] - ordered[half - 1])
