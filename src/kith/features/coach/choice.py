"""The way in which one task is asked: the one that won, a canary, or the one its conversation began in."""

from kith.agent.asking.adaptation import Adaptation
from kith.agent.project import Project
from kith.features.coach.ask import adaptation_of
from kith.features.coach.coached import Coaching, read_coaching
from kith.features.coach.settings import CoachSettings
from kith.features.coach.strategy import ORIGINAL, Strategy, choose, key_of
from kith.memory.past import Past
from kith.models.stack import Opened


def adapt(project: Project, opened: Opened, kind: str, id: str, past: Past) -> Adaptation:
    """The way in which a task of this kind is asked in session `id`, as the kernel applies it."""
    return adaptation_of(_find_strategy(project, opened, kind, id, past))


def _find_strategy(project: Project, opened: Opened, kind: str, id: str, past: Past) -> Strategy:
    """How a task of this kind is asked in session `id`.

    A conversation stays with the way that it began in: its prompt's prefix holds. Otherwise the adopted way,
    or for a share `coach.live` of the sessions the canary.
    """
    coaching = read_coaching(project.log)
    key = key_of(opened.facts.digest, opened.facts.name)
    earlier = past.calls or (past.last.calls if past.last else [])
    if calls := [call for call in earlier if call.model == opened.facts.name]:
        return _find(coaching, key, calls[-1].strategy)
    ways = coaching.ways.get((key, kind))
    return choose(ways, project.settings.section(CoachSettings).live, id) if ways else ORIGINAL


def _find(coaching: Coaching, key: str, id: str) -> Strategy:
    """The way with this id, whatever became of it since."""
    for (digest, _), ways in coaching.ways.items():
        if digest == key and (found := ways.recall(id)):
            return found
    return ORIGINAL
