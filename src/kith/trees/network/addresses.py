"""Which addresses are the public internet's, and which belong to this machine or to the network around it."""

import ipaddress

_Address = ipaddress.IPv4Address | ipaddress.IPv6Address
# Addresses of IPv4 as translators (NAT64) write them: the last 32 bits (RFC 6052).
_TRANSLATED = ipaddress.IPv6Network("64:ff9b::/96")
# Not the internet's either, though some versions of `ipaddress` say so: for protocols and other clouds' own
# machines, old relays, translators of a network's own, documents, segments of routes (IANA's registries).
_SPECIAL = tuple(
    map(
        ipaddress.ip_network,
        ("192.0.0.0/24", "192.88.99.0/24", "64:ff9b:1::/48", "3fff::/20", "5f00::/16"),
    )
)
# Where clouds answer about their own machines, beside the link-local addresses.
_METADATA = (ipaddress.ip_address("fd00:ec2::254"), ipaddress.ip_address("168.63.129.16"))


def is_public(text: str) -> bool:
    """Whether an address leads to the internet: not to this machine, nor into a private network."""
    address = _meant(text)
    if isinstance(address, ipaddress.IPv6Address) and (
        address.sixtofour or address.teredo or address.is_site_local
    ):
        return False  # what they lead to depends on who routes them
    closed = address.is_loopback or address.is_link_local or address.is_multicast or address.is_unspecified
    special = address in _METADATA or any(address in network for network in _SPECIAL)
    return address.is_global and not closed and not address.is_reserved and not special


def is_near(text: str) -> bool:
    """Whether an address is this machine's or a private network's: neither public nor a special one."""
    address = _meant(text)
    special = address.is_link_local or address.is_multicast or address.is_unspecified or address in _METADATA
    return not special and (address.is_loopback or address.is_private)


def _meant(text: str) -> _Address:
    """The address, without the clothes of IPv6 around one of IPv4."""
    address = ipaddress.ip_address(text.partition("%")[0])
    if isinstance(address, ipaddress.IPv6Address):
        if address in _TRANSLATED:
            return ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
        return address.ipv4_mapped or address
    return address
