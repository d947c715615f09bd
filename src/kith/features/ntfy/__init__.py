"""Notices on your phone over ntfy: kith asks you something, or a long task is over."""

from typing import Annotated

from msgspec import Meta, Struct

from kith.core.feature import Feature, Lazy, lazy_in

_here = lazy_in(__name__)


class NtfySettings(Struct, frozen=True):
    """The settings of notices: `[ntfy]`.

    `url` is the topic, which gets a POST for each notice; `token_env` names the variable with its token.
    `page` is the address at which you reach `kith serve`, for the link in a notice.
    """

    url: str = ""
    token_env: str = ""
    page: str = ""
    after_seconds: Annotated[float, Meta(ge=0)] = 30.0  # a question waits so long, a task took so long


FEATURE = Feature(
    "ntfy",
    "notices on your phone over ntfy; off until you set ntfy.url",
    settings=Lazy(f"{__name__}:NtfySettings"),
    listener=_here("listening:make_listener"),
)
