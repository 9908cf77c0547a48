"""Networks that an ACL may name, and those that it can't."""

from __future__ import annotations

from ipaddress import IPv4Address

import pytest

from metashell.answers.hosts import parse_host_pattern


@pytest.mark.parametrize(
    ("text", "low", "high"),
    [
        ("10.0.0.255/32", "10.0.0.255", "10.0.0.255"),
        ("255.255.255.255/24", "255.255.255.0", "255.255.255.255"),
        ("10.1.2.3/0", "0.0.0.0", "255.255.255.255"),
        ("10.1.2.3/31", "10.1.2.2", "10.1.2.3"),
    ],
)
def test_network(text: str, low: str, high: str) -> None:
    """An octet may be 255, and a network may be one address or all."""
    found = parse_host_pattern(text)

    assert found is not None
    assert (low, high) == (str(IPv4Address(found.low)), str(IPv4Address(found.high)))


@pytest.mark.parametrize(
    "text", ["10.0.0.256/32", "256.0.0.0/8", "10.0.0.1/33", "::ffff:1.2.3.4/8"]
)
def test_no_network(text: str) -> None:
    """No client's host is ever in it."""
    assert None is parse_host_pattern(text)
