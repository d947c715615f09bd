"""Whether an address leads out of this machine and the network it stands in."""

import ipaddress
import re
from urllib.parse import urlsplit

# Names that no public name server answers: mDNS (RFC 6762), the special names of RFC 6761 and RFC 8375, and
# what routers and companies give out at home (ICANN keeps `internal` free for that).
_HOME = (".local", ".localhost", ".home.arpa", ".internal", ".lan", ".home")
_NUMBER = re.compile(r"(0x[0-9a-f]*|[0-9]+)", re.IGNORECASE)  # old ways to write an IPv4 address


def is_cloud(url: str) -> bool:
    """True for everything but loopback, private addresses, `.local` and its kin, and names without a dot.

    What cannot be read counts as outside.
    """
    try:
        host = (urlsplit(url).hostname or "").rstrip(".").lower()
    except ValueError:
        return True
    try:
        address = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return not (host.endswith(_HOME) or ("." not in host and host and not _NUMBER.fullmatch(host)))
    mapped = getattr(address, "ipv4_mapped", None)
    return bool((mapped or address).is_global)
