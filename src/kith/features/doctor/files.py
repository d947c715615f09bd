"""Model files on the disk, kith's own engine, and whether there is anything to ask at all."""

from collections.abc import Collection
from pathlib import Path
from typing import Final

from kith.core.errors import NoModelError
from kith.features.doctor.check import Check, Tell, closed
from kith.features.doctor.servers import Ward
from kith.features.engine.model_files import engine_of, rank
from kith.models.choose import first_model
from kith.models.discovery.machine import read_memory
from kith.models.discovery.memory import FLOOR, fits
from kith.models.discovery.servers import full_name
from kith.models.discovery.stored import find_stored
from kith.settings import Settings

ENGINE: Final = 'pip install "kith-agent[engine]"'


def check_files(settings: Settings, ward: Ward, tell: Tell) -> None:
    """What lies on the disk, whether it fits the memory, and whether there is an engine to run it."""
    own = engine_of(settings)
    stored = find_stored(own.folders, cache=settings.cache)
    fault = ""
    try:
        tell(Check("engine", "green", f"kith's own engine is {own.engine()}."))
    except NoModelError as error:
        fault, wanted = str(error), bool(stored) and own.program != "off"
        tell(Check("engine", "yellow" if wanted else "green", closed(fault), ENGINE if wanted else ""))
    if not stored:
        tell(Check("files", "green", "No model files on this disk."))
        return
    memory = read_memory(cards=True)
    good = [each for each in stored if not each.fault and fits(each.header, each.size, memory, FLOOR)[0]]
    good.sort(key=lambda each: rank(each, memory), reverse=True)
    ward.files += [each.name for each in good if not fault]
    ward.lacks_engine = bool(good and fault)
    names = ", ".join(each.name for each in good[:3]) or "none"
    many = f"{len(stored)} model file{'s' if len(stored) > 1 else ''} on this disk"
    if good:
        tell(Check("files", "green", f"{many}; {len(good)} fit the memory: {names}."))
        return
    why = stored[0].fault or fits(stored[0].header, stored[0].size, memory, FLOOR)[1]
    text = f"{many}, and none can run: {stored[0].name} {why}."
    tell(Check("files", "yellow", text, "kith models recommend"))


def check_choice(settings: Settings, ward: Ward) -> Check:
    """Whether there is a model to ask, and the one that the person chose is among them."""
    chosen = settings.model
    if chosen.startswith("replay/"):
        return Check("model", "green", f"{chosen} plays a script.")
    if chosen:
        names = [card.name for server in ward.servers.values() for card in server.models]
        if _is_there(chosen, {*names, *ward.files}):
            return Check("model", "green", f"{chosen} is there.")
        text = f"{chosen}, the model that is chosen, is nowhere to be found."
        return Check("model", "red", text, "kith models")
    if found := first_model(ward.ranks):
        server, card = found
        name = full_name(server, card.name, ward.places)
        return Check("model", "green", f"kith asks {name} unless told otherwise.")
    if ward.files:
        text = f"No model server runs; kith's own engine runs file/{ward.files[0]} unless told otherwise."
        return Check("model", "green", text)
    text = "There is no model to ask: no server has one, and no file can be run."
    return Check("model", "red", text, ENGINE if ward.lacks_engine else "kith models recommend")


def _is_there(chosen: str, names: Collection[str]) -> bool:
    """Whether a chosen name means one of these: with its provider or without, its tag or quantisation too."""
    known = {name.casefold() for name in names}
    known |= {name.rpartition(":")[0] for name in known}
    model = chosen.partition("/")[2]
    if {chosen.casefold(), model.casefold()} & (known - {""}):
        return True
    return any(each.endswith(".gguf") and Path(each).expanduser().is_file() for each in (chosen, model))
