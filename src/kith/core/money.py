"""Amounts of money in words."""

_LEAST = 0.0001  # below it nobody counts


def dollars(usd: float) -> str:
    """US dollars for people: cents, and smaller parts where there are no cents."""
    if 0 < usd < _LEAST:
        return f"under ${_LEAST}"
    return f"${usd:,.2f}" if usd >= 0.1 or not usd else f"${usd:.2g}"
