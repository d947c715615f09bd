"""Times in plain phrases, cron syntax and OnCalendar; systemd itself reads what is written for it."""

import re
import shutil
import subprocess
from datetime import datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kith.core.errors import UsageError
from kith.features.schedule.when import When, read_when

FRIDAY = datetime(2026, 11, 27, 7, 0)


@pytest.mark.parametrize(
    ("text", "cron"),
    [
        ("every night", "0 2 * * *"),
        ("Every Night at 3", "0 3 * * *"),
        ("every night at 11", "0 23 * * *"),
        ("nightly", "0 2 * * *"),
        ("every day at 18:30", "30 18 * * *"),
        ("at 14:00 every day", "0 14 * * *"),
        ("at 9 pm", "0 21 * * *"),
        ("at 12 am", "0 0 * * *"),
        ("at noon", "0 12 * * *"),
        ("daily", "0 0 * * *"),
        ("every morning", "0 7 * * *"),
        ("every evening at 7", "0 19 * * *"),
        ("every hour", "0 * * * *"),
        ("every minute", "* * * * *"),
        ("every 15 minutes", "0,15,30,45 * * * *"),
        ("every 1 minutes", "* * * * *"),
        ("every 6 hours", "0 0,6,12,18 * * *"),
        ("every weekday at 9:30", "30 9 * * 1,2,3,4,5"),
        ("weekends", "0 2 * * 0,6"),
        ("every monday", "0 2 * * 1"),
        ("on fridays at 17:00", "0 17 * * 5"),
        ("every mon and thu at 9am", "0 9 * * 1,4"),
        ("every monday, wednesday and friday at 5 pm", "0 17 * * 1,3,5"),
        ("every sunday night", "0 2 * * 0"),
        ("every week", "0 2 * * 1"),
        ("every month at noon", "0 12 1 * *"),
        ("0 2 * * *", "0 2 * * *"),
        ("*/30 9-11 * jan,feb mon-fri", "0,30 9,10,11 * 1,2 1,2,3,4,5"),
        ("5 4 * * 7", "5 4 * * 0"),
        ("5 4 * * 0-6", "5 4 * * *"),
        ("0 */8 1-31 * *", "0 0,8,16 * * *"),
        ("@weekly", "0 0 * * 0"),
    ],
)
def test_a_phrase_means_these_times(text: str, cron: str) -> None:
    assert read_when(text).cron == cron
    assert read_when(cron).cron == cron


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "When should it run?"),
        ("every blue moon", "'every blue moon' is not known; kith knows \"every night\""),
        ("every day at 25:00", "There is no time '25:00'"),
        ("every day at 13 pm", "There is no time '13 pm'"),
        ("every day at 9:75", "There is no time '9:75'"),
        ("every 7 minutes", "must be one of 1, 2, 3"),
        ("every 0 hours", "must be one of"),
        ("every 99999999999999999999 hours", "must be one of"),
        ("0 25 * * *", "'25' is not the hour"),
        ("60 2 * * *", "'60' is not the minute"),
        ("0 9-5 * * *", "'9-5' is not the hour"),
        ("*/0 * * * *", "'*/0' is not the minute"),
        ("0 0 1 * 1", "make two schedules"),
        ("1 2 3 4", "is not known; kith knows"),
        ("Mon\n*:00:00", "one line"),
        ("@reboot", "is not known; kith knows"),
        ("tomorrow at 9", "is not known; kith knows"),
        ("x" * 5_000, "is not known; kith knows"),
    ],
)
def test_other_words_are_one_sentence(text: str, why: str) -> None:
    with pytest.raises(UsageError) as error:
        read_when(text)
    assert why in str(error.value) and len(str(error.value)) < 250


def test_the_next_time_is_found() -> None:
    assert read_when("every night").after(FRIDAY) == datetime(2026, 11, 28, 2, 0)
    assert read_when("every friday at 7").after(FRIDAY) == datetime(2026, 12, 4, 7, 0)
    assert read_when("0 0 29 2 *").after(FRIDAY) == datetime(2028, 2, 29)
    assert read_when("0 0 31 2 *").after(FRIDAY) is None


def test_times_that_only_systemd_knows_have_no_cron() -> None:
    when = read_when("Mon..Fri *-*-* 09:00")
    assert (when.on_calendar, when.cron, when.after(FRIDAY)) == ("Mon..Fri *-*-* 09:00", "", None)


def some(low: int, high: int) -> st.SearchStrategy[tuple[int, ...]]:
    return st.lists(st.integers(low, high), max_size=3, unique=True).map(lambda found: tuple(sorted(found)))


def test_a_date_on_one_weekday_is_found_however_far_it_is() -> None:
    assert When(days=(12,), months=(3,), weekdays=(3,)).after(datetime(2026, 11, 27)) == datetime(2037, 3, 12)
    leap = When((0,), (0,), (29,), (2,), (6,))
    assert leap.after(datetime(2072, 3, 1)) == datetime(2088, 2, 29)
    assert When((0,), (0,), (30,), (2,)).after(datetime(2026, 1, 1)) is None


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="systemd-analyze is not installed")
@settings(max_examples=25, deadline=None)
@given(
    st.builds(When, some(0, 59), some(0, 23), some(1, 28), some(1, 12), some(0, 6)),
    st.integers(0, 500_000).map(lambda minutes: FRIDAY + timedelta(minutes=minutes)),
)
def test_systemd_comes_to_the_same_next_time(when: When, moment: datetime) -> None:
    base = f"--base-time={moment:%Y-%m-%d %H:%M:%S} UTC"
    command = ["systemd-analyze", "calendar", base, when.on_calendar]
    said = subprocess.run(command, env={"TZ": "UTC", "PATH": "/usr/bin:/bin"}, capture_output=True, text=True)
    found = re.search(r"Next elapse: \w+ ([\d-]+ [\d:]+)", said.stdout)
    expected = when.after(moment)
    assert said.returncode == 0, said.stderr
    assert (datetime.fromisoformat(found[1]) if found else None) == expected
