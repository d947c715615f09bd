"""A name leads to the internet, or to this machine and the network around it, in whatever clothes."""

import pytest

from kith.trees.network import is_near, is_public

PUBLIC = ("93.184.216.34", "1.1.1.1", "2606:4700::6810:84e5", "64:ff9b::101:101", "::ffff:1.1.1.1")
NEAR = (
    *("127.0.0.1", "127.8.9.1", "10.1.2.3", "172.16.0.1", "192.168.0.1", "::1", "fd12:3456::1"),
    *("::ffff:127.0.0.1", "::ffff:192.168.1.1", "64:ff9b::a00:1"),
)
SPECIAL = (
    *(
        "169.254.169.254",
        "::ffff:169.254.169.254",
        "fe80::1",
        "fe80::1%eth0",
        "fd00:ec2::254",
        "168.63.129.16",
    ),
    *("0.0.0.0", "::", "224.0.0.1", "ff02::1", "::ffff:0.0.0.0", "64:ff9b::a9fe:a9fe"),
)
NEITHER = (
    *("100.64.0.1", "2002:7f00:1::", "2001:0:4136:e378::1", "fec0::1", "::127.0.0.1", "192.0.0.192"),
    *("192.88.99.1", "64:ff9b:1::a00:1", "3fff::1", "5f00::1"),
)


@pytest.mark.parametrize("address", PUBLIC)
def test_the_internet_is_public(address: str) -> None:
    assert is_public(address) and not is_near(address)


@pytest.mark.parametrize("address", NEAR)
def test_private_networks_are_near(address: str) -> None:
    assert is_near(address) and not is_public(address)


@pytest.mark.parametrize("address", SPECIAL)
def test_special_addresses_are_neither(address: str) -> None:
    assert not is_public(address) and not is_near(address)


@pytest.mark.parametrize("address", NEITHER)
def test_what_others_route_is_never_public(address: str) -> None:
    assert not is_public(address)
