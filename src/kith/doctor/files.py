"""Model files on the disk, kith's own engine, and whether there is anything to ask at all."""

from typing import Final

from kith.core.errors import KithError
from kith.doctor.check import Check, Tell, closed
from kith.doctor.servers import Ward, plain
from kith.models.discovery.machine import read_memory
from kith.models.discovery.memory import FLOOR, fits
from kith.models.discovery.stored import find_stored
from kith.models.engine.available import find_engine
from kith.settings import Settings

ENGINE: Final = 'pip install "kith-agent[engine]"'


def check_files(settings: Settings, ward: Ward, tell: Tell) -> None:
    """What lies on the disk, whether it fits the memory, and whether there is an engine to run it."""
    stored = find_stored(cache=settings.cache)
    fault = ""
    try:
        engine = find_engine()
        tell(Check("engine", "green", f"kith's own engine is {engine}."))
    except KithError as error:
        fault = str(error)
        tell(Check("engine", "yellow" if stored else "green", closed(fault), ENGINE if stored else ""))
    if not stored:
        tell(Check("files", "green", "No model files on this disk."))
        return
    memory = read_memory(cards=True)
    good = [each for each in stored if not each.fault and fits(each.header, each.size, memory, FLOOR)[0]]
    ward.files += [each.name for each in good if not fault]
    names = ", ".join(each.name for each in good[:3]) or "none"
    many = f"{len(stored)} model file{'s' if len(stored) > 1 else ''} on this disk"
    if good:
        tell(Check("files", "green", f"{many}; {len(good)} fit the memory: {names}."))
    else:
        each = stored[0]
        why = each.fault or fits(each.header, each.size, memory, FLOOR)[1]
        tell(
            Check("files", "yellow", f"{many}, and none can run: {each.name} {why}.", "kith models recommend")
        )


def check_choice(settings: Settings, ward: Ward) -> Check:
    """Whether there is a model to ask, and the one that the person chose is among them."""
    names = [card.name for server in ward.servers.values() for card in server.models]
    chosen = settings.model
    if chosen.startswith("replay/"):
        return Check("model", "green", f"{chosen} plays a script.")
    if chosen:
        bare = chosen.partition("/")[2]
        wanted = {chosen, bare, f"{chosen}:latest", f"{bare}:latest"}
        if wanted & {*names, *ward.files}:
            return Check("model", "green", f"{chosen} is there.")
        return Check(
            "model", "red", f"{chosen}, the model that is chosen, is nowhere to be found.", "kith models"
        )
    if names:
        return Check("model", "green", f"kith asks {plain(names[0])} unless told otherwise.")
    if ward.files:
        return Check("model", "green", f"No server runs; kith starts its own, with {ward.files[0]}.")
    return Check(
        "model",
        "red",
        "There is no model to ask: no server has one, and no file can be run.",
        "kith models recommend",
    )
