"""Ask a site's robots.txt first, by RFC 9309."""

from msgspec.structs import replace

from kith.features.browse.address import Address
from kith.features.browse.cache import Cache, Page
from kith.features.browse.faults import PageError
from kith.features.browse.fetching import AGENT, Reach, ask

_MOST = 500 << 10  # bytes that a crawler must read


async def check_robots(address: Address, reach: Reach, cache: Cache) -> None:
    """Raises PageError where the site wants no such program at this address.

    Without a robots.txt everything is allowed; with a server that fails, nothing is.
    """
    if address.rest == "/robots.txt":
        return
    rules = await _rules(address, reach, cache)
    if not rules.strip():
        return
    from protego import Protego

    if not Protego.parse(rules).can_fetch(str(address), AGENT):
        raise PageError("robots", address.origin)


async def _rules(address: Address, reach: Reach, cache: Cache) -> str:
    place = replace(address, rest="/robots.txt")
    if kept := cache.find(place):
        return kept.text
    answer = await ask(place, replace(reach, most=_MOST))
    if answer.status >= 500:
        raise PageError("robots", f"{address.origin} (status {answer.status})")
    text = answer.body.decode("utf-8", "replace") if answer.status == 200 else ""
    cache.keep(Page(str(place), str(place), text))
    return text
