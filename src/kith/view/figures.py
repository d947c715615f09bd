"""Figures and days for people."""

import time


def figure(value: float | None) -> str:
    """Three digits or so: `0.34`, `2.1`, `27.1`, `612`; `-` for none."""
    if value is None:
        return "-"
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}" if value >= 1 else f"{value:.2f}"


def tokens(number: float) -> str:
    """`812`, `4k`, `1.2M`."""
    if number < 1_000:
        return f"{number:.0f}"
    if number < 1_000_000:
        return f"{number / 1_024:.0f}k" if number % 1_024 == 0 else f"{number / 1_000:.0f}k"
    return f"{number / 1_000_000:.1f}M"


def day(at: float) -> str:
    """The day of a moment (seconds since the epoch), by this machine's clock: `2026-11-21`."""
    return time.strftime("%Y-%m-%d", time.localtime(at))
