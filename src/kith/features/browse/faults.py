"""The reasons why a page cannot be had, as data; `answers.py` words them."""

from typing import Literal

Why = Literal[
    "address",  # no address of a page
    "private",  # it leads to this machine, or into a private network
    "moved",  # it redirects to a host that was not asked about
    "circles",  # it redirects too often
    "robots",  # robots.txt forbids it
    "status",  # the server answered with an error
    "kind",  # it is no text
    "coding",  # it is packed in a way that nobody asked for
    "slow",  # it took too long
    "broken",  # no connection, or no answer that can be read
    "markup",  # it cannot be turned into Markdown
]


class PageError(Exception):
    """A page cannot be had; `detail` says more, such as the address that it moved to."""

    def __init__(self, why: Why, detail: str = "") -> None:
        super().__init__(f"{why}: {detail}")
        self.why: Why = why
        self.detail = detail
