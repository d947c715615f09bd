"""An opened model, dressed for a run: told of in the log, within its limits, and asked with consent."""

from kith.core.events import Engaged
from kith.core.run import Run
from kith.models.stack import Opened


def engage(run: Run, opened: Opened) -> None:
    """Say in the log what runs, where, and on which machine: what is measured of a call is joined with it."""
    from kith.models.discovery.machine import machine_name

    facts = opened.facts
    run.emit(
        Engaged(
            facts.name,
            facts.server,
            facts.digest,
            facts.quantisation,
            facts.parameters,
            opened.window,
            facts.cloud,
            machine_name(),
        )
    )
