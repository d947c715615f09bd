"""One way to solve each exercise, as replacements in its files: so they are known to be solvable."""

from kith.features.measure.bench.exercises import Exercise

REPLACED: dict[str, list[tuple[str, str, str]]] = {
    "leap_year": [
        ("calendar_rules.py", "year % 4 == 0", "year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)")
    ],
    "stock_level": [
        (
            "stock.py",
            "        self.pieces[article] = self.pieces.get(article, 0) - number\n",
            "        if number > self.pieces.get(article, 0):\n            raise ValueError(article)\n"
            "        self.pieces[article] -= number\n",
        )
    ],
    "seat_labels": [("seats.py", "range(1, seats)", "range(1, seats + 1)")],
    "shared_basket": [
        ("shop.py", "basket=[]", "basket=()"),
        ("shop.py", "self.basket = basket", "self.basket = list(basket)"),
    ],
    "moving_average": [
        (
            "series.py",
            '"""Series of measured values."""\n',
            '"""Series of measured values."""\n\n\ndef moving_average(values, width):\n'
            "    if width < 1:\n        raise ValueError(width)\n"
            "    places = range(len(values) - width + 1)\n"
            "    return [sum(values[at : at + width]) / width for at in places]\n",
        )
    ],
    "duration_words": [
        (
            "durations.py",
            '    return f"{hours} hours {minutes} minutes {seconds} seconds"\n',
            '    parts = ((hours, "hour"), (minutes, "minute"), (seconds, "second"))\n'
            "    said = [f\"{many} {name}{'s' if many > 1 else ''}\" for many, name in parts if many]\n"
            '    return " ".join(said) or "0 seconds"\n',
        )
    ],
    "queue_limit": [
        ("jobs.py", "def __init__(self):\n", "def __init__(self, limit=None):\n        self.limit = limit\n"),
        (
            "jobs.py",
            "        self.waiting.append(job)\n",
            "        self.waiting.append(job)\n"
            "        if self.limit is not None and len(self.waiting) > self.limit:\n"
            "            self.waiting.pop(0)\n            self.dropped += 1\n",
        ),
    ],
    "config_lines": [
        ("settings_file.py", "if not line.strip():", 'if not line.strip() or line.strip().startswith("#"):'),
        ("settings_file.py", "= value.strip()", '= value.partition(" #")[0].strip()'),
    ],
    "rename_everywhere": [
        ("cargo.py", "calc", "total_weight"),
        ("report.py", "calc", "total_weight"),
    ],
    "split_function": [
        (
            "orders.py",
            "    if is_member and total >= 10_000:\n        return total - total // 10\n"
            "    if total >= 50_000:\n        return total - total // 20\n    return total\n",
            "    return total - discount(total, is_member)\n\n\ndef discount(total, is_member):\n"
            "    if is_member and total >= 10_000:\n        return total // 10\n"
            "    return total // 20 if total >= 50_000 else 0\n",
        )
    ],
    "two_modules": [("readings.py", 'letter == "."', 'letter in ".-"')],
    "bus_stops": [
        (
            "lines.py",
            "    return line[line.index(start) : line.index(end) + 1]\n",
            "    first, last = line.index(start), line.index(end)\n"
            "    if last >= first:\n        return line[first : last + 1]\n"
            "    return line[first:] + line[: last + 1]\n",
        )
    ],
}


def solved(exercise: Exercise) -> dict[str, str]:
    """The files that change, as they are when the exercise is solved."""
    found: dict[str, str] = {}
    for path, old, new in REPLACED[exercise.name]:
        text = found.get(path, exercise.files[path])
        assert old in text, (exercise.name, path, old)
        found[path] = text.replace(old, new)
    return found


def solution(exercise: Exercise) -> str:
    """What a model says that solves it: each file, whole."""
    return "\n".join(f"{path}\n```python\n{text}```\n" for path, text in solved(exercise).items())
