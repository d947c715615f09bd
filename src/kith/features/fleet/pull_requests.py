"""The words of a pull request of a batch: a title, and a body with the receipt."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from kith.features.fleet.publications import Publication
from kith.features.forges.texts import code, make_title, neutral, tell_change, tell_request

_TITLE: Final = 200  # characters; GitLab takes 255 with its prefix


def title_of(publication: Publication) -> str:
    """The first line of what was asked for; a change that no check supports is marked."""
    return neutral(make_title(publication.task.request, publication.verdict == "unproven", _TITLE))


def body_of(publication: Publication, report: Mapping[str, Any]) -> str:
    """The task, the evidence, the changed files, and the words of the model."""
    return "\n\n".join(_parts(publication, report)) + "\n"


def _parts(publication: Publication, report: Mapping[str, Any]) -> Iterator[str]:
    yield "A change by kith. Nobody has read it yet."
    if publication.verdict == "unproven":
        yield "**Unproven: kith held this change back.**"
    yield tell_request(publication.task.request)
    yield from tell_change(report)
    model = f", model {code(str(report['model']))}" if report.get("model") else ""
    where = f"Batch {code(publication.batch)}, task {code(publication.task.key)}"
    yield f"{where}{model}, base {publication.base[:12]}"
