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
    "tests_for_clamp": [
        (
            "checks_of_limits.py",
            "import unittest\n",
            "import unittest\n\nfrom limits import clamp\n\n\nclass TestClamp(unittest.TestCase):\n"
            "    def test_all(self):\n"
            "        self.assertEqual([clamp(0, 1, 3), clamp(2, 1, 3), clamp(9, 1, 3)], [1, 2, 3])\n",
        )
    ],
    "tests_for_slug": [
        (
            "checks_of_titles.py",
            "import unittest\n",
            "import unittest\n\nfrom titles import slug\n\n\nclass TestSlug(unittest.TestCase):\n"
            '    def test_all(self):\n        self.assertEqual(slug("- Big News -"), "big-news")\n',
        )
    ],
    "tests_for_stack": [
        (
            "checks_of_stack.py",
            "import unittest\n",
            "import unittest\n\nfrom stack import Stack\n\n\nclass TestStack(unittest.TestCase):\n"
            "    def test_all(self):\n        stack = Stack()\n        stack.push(1)\n        stack.push(2)\n"
            "        self.assertEqual([len(stack), stack.pop(), len(stack)], [2, 2, 1])\n"
            "        stack.pop()\n        with self.assertRaises(IndexError):\n            stack.pop()\n",
        )
    ],
    "price_with_tax": [
        ("tax.py", "def gross(net):", "def gross(net, rate):"),
        ("tax.py", "return net", "return round(net * (100 + rate) / 100, 2)"),
        ("bill.py", "gross(net)", "gross(net, 19)"),
        ("label.py", "def label", "from tax import gross\n\n\ndef label"),
        ("label.py", "{net:.2f}", "{gross(net, 19):.2f}"),
    ],
    "seconds_to_minutes": [
        ("track.py", "seconds", "minutes"),
        ("player.py", "track.seconds for track in tracks) / 60", "track.minutes for track in tracks)"),
        ("chart.py", "each.seconds", "each.minutes"),
        ("chart.py", "track.seconds", "track.minutes * 60"),
    ],
    "one_error_class": [
        ("errors.py", 'package."""\n', 'package."""\n\n\nclass ShapeError(ValueError):\n    pass\n'),
        ("circles.py", "KeyError", "ShapeError"),
        ("circles.py", "def circle", "from errors import ShapeError\n\n\ndef circle"),
        ("squares.py", "TypeError", "ShapeError"),
        ("squares.py", "RuntimeError", "ShapeError"),
        ("squares.py", "def square", "from errors import ShapeError\n\n\ndef square"),
    ],
    "dry_run": [
        ("cleaner.py", "ending):\n", "ending, dry_run=False):\n"),
        ("cleaner.py", "    for path in gone:\n", "    for path in () if dry_run else gone:\n"),
        (
            "main.py",
            "    options = parser.parse_args(words)\n    clean(files, options.ending)\n",
            '    parser.add_argument("--dry-run", action="store_true")\n'
            "    options = parser.parse_args(words)\n"
            "    paths = clean(files, options.ending, dry_run=options.dry_run)\n"
            '    if options.dry_run:\n        print("\\n".join(paths))\n',
        ),
    ],
    "json_and_text": [
        (
            "weather.py",
            "class Weather:",
            "import json\n\n\nclass Weather:\n    def as_json(self):\n"
            '        return json.dumps({"place": self.place, "degrees": self.degrees})\n',
        ),
        ("app.py", "def show(weather):", 'def show(weather, form="text"):'),
        (
            "app.py",
            "    return weather.as_text()\n",
            '    if form not in ("json", "text"):\n        raise ValueError(form)\n'
            '    return weather.as_json() if form == "json" else weather.as_text()\n',
        ),
    ],
    "find_the_rounding": [("answer.txt", "answer:", "answer: to_cents")],
    "find_the_caller": [("answer.txt", "answer:", "answer: on_birthday")],
    "document_options": [
        (
            "README.txt",
            "Options:\n",
            "Options:\n--retries: how often a copy is tried again (3)\n"
            "--verbose: tell of every file (False)\n--target: the folder to copy to (out)\n",
        )
    ],
    "count_words": [
        (
            "words.py",
            '"""Words of texts."""\n',
            '"""Words of texts."""\n\nfrom collections import Counter\nfrom string import punctuation\n\n\n'
            "def count_words(text):\n"
            "    words = (word.strip(punctuation) for word in text.lower().split())\n"
            "    return dict(Counter(word for word in words if word))\n",
        )
    ],
    "page_of": [
        (
            "pages.py",
            '"""Lists in pages."""\n',
            '"""Lists in pages."""\n\n\ndef page(items, number, size):\n    if number < 1 or size < 1:\n'
            "        raise ValueError(number)\n    return items[(number - 1) * size : number * size]\n",
        )
    ],
    "retry_with_limit": [
        ("client.py", "def fetch(get):", "def fetch(get, tries=3):"),
        (
            "client.py",
            "    return get()\n",
            "    for left in range(tries - 1, -1, -1):\n        try:\n            return get()\n"
            "        except ConnectionError:\n            if not left:\n                raise\n",
        ),
    ],
    "midnight": [
        ("shifts.py", "return minutes(end) - minutes(begin)", "return (minutes(end) - minutes(begin)) % 1440")
    ],
    "stable_order": [("ranking.py", "(each[1], each[0]), reverse=True", "(-each[1], each[0])")],
    "same_code_twice": [
        (
            "times.py",
            "def minutes_of(text):\n",
            'def read(text):\n    parts = [int(each) for each in text.split(":")]\n'
            "    return (*parts, 0)[:3]\n\n\ndef minutes_of(text):\n",
        ),
        (
            "times.py",
            '    parts = text.split(":")\n    hours = int(parts[0])\n    minutes = int(parts[1])\n'
            "    seconds = int(parts[2]) if len(parts) > 2 else 0\n",
            "    hours, minutes, seconds = read(text)\n",
        ),
    ],
    "class_from_functions": [
        (
            "account.py",
            'def new_account():\n    return {"balance": 0}\n\n\ndef deposit(account, amount):\n'
            '    account["balance"] += amount\n\n\ndef withdraw(account, amount):\n'
            '    if amount > account["balance"]:\n        raise ValueError("not enough")\n'
            '    account["balance"] -= amount\n',
            "class Account:\n    def __init__(self):\n        self._balance = 0\n\n    @property\n"
            "    def balance(self):\n        return self._balance\n\n    def deposit(self, amount):\n"
            "        self._balance += amount\n\n    def withdraw(self, amount):\n"
            '        if amount > self._balance:\n            raise ValueError("not enough")\n'
            "        self._balance -= amount\n",
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
