"""Events as earlier versions wrote them, in today's form: the one place that knows their old form.

What is a field today stood in a sentence, or in a text that several values were joined into.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

Data = dict[str, Any]


def renew(kind: str, data: Any) -> Any:
    """An event's data, with the fields that it was written without; the same object where none is missing."""
    change = _CHANGES.get(kind)
    return change(data) if change and isinstance(data, dict) else data


def _started(data: Data) -> Data:
    """Options were texts: "yes" and "no", and checks with a line for each."""
    told = {name: text for name, text in (data.get("options") or {}).items() if isinstance(text, str)}
    options: Data = {name: told[name] == "yes" for name in _FLAGS if name in told}
    if "check" in told:
        options["check"] = [each for each in told["check"].split("\n") if each]
    return {**data, "options": {**data["options"], **options}} if options else data


_FLAGS: Final = ("read_only", "goal", "symbols", "agree", "quiet")
_CHANGES: Final[Mapping[str, Callable[[Data], Data]]] = {"RunStarted": _started}
