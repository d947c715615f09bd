"""Commands that run at moments of kith's work, as they are written: `[[hooks]]`."""

from typing import Any, Final, get_args, get_type_hints

from kith.core.errors import UsageError
from kith.settings.check import fit, in_words, unknown_key
from kith.settings.places import Place
from kith.settings.values import Hook

_HINTS: Final = {key: get_type_hints(Hook)[key] for key in ("on", "command", "tool", "seconds", "where")}
_MOMENTS: Final = get_args(_HINTS["on"])
_ABOUT_TOOLS: Final = ("before_tool", "after_tool")


def read_hooks(data: Any, place: Place, *, brought: bool) -> tuple[Hook, ...]:
    """The hooks of one file; `brought`: of a project's. Raises UsageError saying where and what is wrong."""
    if not isinstance(data, list):
        raise UsageError(f"{place}: hooks are a list of tables, each headed by [[hooks]].")
    return tuple(_read_hook(each, place.at(number), brought) for number, each in enumerate(data))


def _read_hook(data: Any, place: Place, brought: bool) -> Hook:
    if not isinstance(data, dict):
        raise UsageError(f"{place}: a hook is a table with `on` and `command`.")
    values: dict[str, Any] = {"where": "trial" if brought else "machine"}
    for key, value in data.items():
        if key not in _HINTS:
            raise UsageError(f"{place.at(key)}: {unknown_key(key, sorted(_HINTS))}")
        values[key] = fit(value, _HINTS[key])
        if values[key] in (None, "", ()):
            raise UsageError(f"{place.at(key)}: {key} must be {in_words(_HINTS[key])}, not {value!r}.")
    if "on" not in data or not values.get("command", "").strip():
        raise UsageError(f"{place}: a hook needs `on` ({', '.join(_MOMENTS)}) and a `command`.")
    if "tool" in data and values["on"] not in _ABOUT_TOOLS:
        raise UsageError(f"{place.at('tool')}: a hook on {values['on']!r} is about no tool.")
    if not values.get("seconds", 1) > 0:
        raise UsageError(f"{place.at('seconds')}: seconds must be more than 0, not {data['seconds']!r}.")
    if brought and values["where"] != "trial":
        raise UsageError(
            f"{place.at('where')}: what a project brings runs in the trial, never on the machine."
        )
    return Hook(**values, brought=brought, place=str(place))
