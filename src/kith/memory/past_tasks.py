"""Weigh files by earlier tasks like this one: which changes a person accepted or refused."""

import json
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final

from msgspec import Struct

from kith.context.task_words import Words, find_words
from kith.memory.log import Log

_SESSIONS: Final = 20  # the newest ones of a project
_ALIKE: Final = 0.3  # from which share of their words on two tasks are alike
_WIDE: Final = 20  # files; a change of more says little of any of them
_REFUSED: Final = -0.5  # a refused file, where an accepted one counts 1
_ROWS: Final = f"""
SELECT session, kind, at, json_extract(body, '$.options.recorded'), json_extract(body, '$.answer.unasked'),
  coalesce(json_extract(body, '$.task'), json_extract(body, '$.feedback'), ''),
  json_extract(body, '$.change_id'), json_extract(body, '$.undoes'),
  (SELECT json_group_array(json_extract(value, '$.path')) FROM json_each(body, '$.files'))
FROM events WHERE session IN (
  SELECT session FROM events WHERE kind = 'RunStarted' AND json_extract(body, '$.root') = ?
  GROUP BY session ORDER BY max(seq) DESC LIMIT {_SESSIONS}
) AND (kind IN ('RunStarted', 'Proposed', 'Applied', 'Answered')
  OR (kind = 'Judged' AND json_extract(body, '$.gate') = 'person' AND NOT json_extract(body, '$.ok')))
ORDER BY seq
"""


class PastTask(Struct):
    """A task, with the person's reasons for refusals, and the files of accepted and refused changes."""

    words: str
    at: float
    accepted: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()


def past_tasks(log: Log, root: str) -> tuple[PastTask, ...]:
    """The newest tasks of a project whose changes a person accepted, refused or undid."""
    tasks, made = list[PastTask](), dict[str, PastTask]()
    latest, proposed, unasked = dict[str, PastTask](), dict[str, tuple[str, ...]](), dict[str, bool]()
    for session, kind, at, recorded, nobody, words, change, undoes, listed in log.query(_ROWS, (root,)):
        files = tuple(json.loads(listed)) if listed else ()
        task = latest.get(session)
        if kind == "RunStarted":
            latest[session] = PastTask(words, at)
            tasks += () if recorded else (latest[session],)
        elif kind == "Answered":
            unasked[session] = bool(nobody)
        elif task is None:
            continue
        elif kind == "Proposed":
            proposed[session] = files
        elif kind == "Judged" and not unasked.get(session):
            task.refused = proposed.get(session, ())
            task.words += f"\n{words}"
        elif kind == "Applied" and undoes in made:
            before = made[undoes]
            before.accepted, before.refused = (), files
        elif kind == "Applied" and not undoes:
            made[change], task.accepted = task, (*task.accepted, *files)
    return tuple(task for task in tasks if task.accepted or task.refused)


def weigh_files(words: Words, tasks: Sequence[PastTask], before: float = math.inf) -> Mapping[str, float]:
    """Weigh files by the outcome of tasks like this one; of those `before` a time alone.

    Two tasks are alike by the words that they share, where a word counts by its rarity among the tasks.
    """
    known = [(each, frozenset(find_words(each.words).stems)) for each in tasks if each.at < before]
    counts = Counter(stem for _, stems in known for stem in stems)
    rarity = {stem: math.log(1 + len(known) / (counts[stem] or 1)) for stem in (*counts, *words.stems)}

    def weigh(stems: frozenset[str]) -> float:
        return sum(rarity[stem] for stem in stems)

    asked, found = frozenset(words.stems), Counter[str]()
    for task, stems in known:
        both = weigh(asked & stems)
        alike = both / math.sqrt(weigh(asked) * weigh(stems)) if both else 0.0
        if alike >= _ALIKE:
            rejected = tuple(path for path in task.refused if path not in task.accepted)
            for paths, sign in ((task.accepted, 1.0), (rejected, _REFUSED)):
                amount = sign * alike * alike / math.sqrt(len(paths) or 1)
                found.update(dict.fromkeys(paths if len(paths) <= _WIDE else (), amount))
    return dict(found)
