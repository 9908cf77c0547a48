"""Addresses of controllers, as people write them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metashell.errors import UsageError
from metashell.quorum.addresses import parse_addresses
from metashell.security.settings import Address


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("h:9093", [Address("h", 9093)]),
        ("a.example.com:1,b-2:65535", [Address("a.example.com", 1), Address("b-2", 65535)]),
        (" a:1 , b:2 ", [Address("a", 1), Address("b", 2)]),
        ("1@a:1,2@b:2", [Address("a", 1, 1), Address("b", 2, 2)]),
        ("[::1]:9093", [Address("::1", 9093)]),
        ("3000@[fe80::1%eth0]:9093", [Address("fe80::1%eth0", 9093, 3000)]),
        ("CONTROLLER://h:9093", [Address("h", 9093)]),
        ("PLAINTEXT://[2001:db8::2]:9093", [Address("2001:db8::2", 9093)]),
        ("127.0.0.1:1", [Address("127.0.0.1", 1)]),
        ("a:1,A:1,1@a:1,a:2", [Address("a", 1), Address("a", 2)]),
    ],
)
def test_forms(text: str, expected: list[Address]) -> None:
    """All that Kafka's own properties and options hold; each address once, in order."""
    assert tuple(expected) == parse_addresses(text, "`-q`")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("h", "`-q`: `h`: it has no port"),
        ("a:1,b", "`-q`: `b`: it has no port"),
        ("h:", "`-q`: `h:`: that is not HOST:PORT"),
        ("h:x", "`-q`: `h:x`: that is not HOST:PORT"),
        ("h:0", "`-q`: `h:0`: its port is not between 1 and 65535"),
        ("h:65536", "`-q`: `h:65536`: its port is not between 1 and 65535"),
        ("h:9093/x", "`-q`: `h:9093/x`: that is not HOST:PORT"),
        (":9093", "`-q`: `:9093`: it has no host"),
        ("CONTROLLER://:9093", "`-q`: `CONTROLLER://:9093`: it has no host"),
        ("::1:9093", "`-q`: `::1:9093`: put an IPv6 address in brackets"),
        ("[::1]", "`-q`: `[::1]`: it has no port"),
        ("9999999999@h:1", "`-q`: `9999999999@h:1`: its node id is out of range"),
        ("", "`-q`: an address is empty"),
        ("a:1,,b:2", "`-q`: an address is empty"),
        ("a b:1", "`-q`: `a b:1`: that is not HOST:PORT"),
        ("@h:1", "`-q`: `...@h:1`: that is not a host"),
        ("user:hunter2@h:1", "`-q`: `...@h:1`: put an IPv6 address in brackets"),
        ("h:" + "9" * 200, "`-q`: `h:" + "9" * 98 + "...`: that is not HOST:PORT"),
    ],
)
def test_refuses(text: str, message: str) -> None:
    """What is wrong is named, in one sentence; a user's password is not."""
    with pytest.raises(UsageError) as caught:
        parse_addresses(text, "`-q`")
    assert message == caught.value.message


@given(st.text(alphabet=st.sampled_from("a1:@[],./ %-\x00é٣")))
def test_any_text(text: str) -> None:
    """Addresses or a usage error."""
    try:
        found = parse_addresses(text, "x")
    except UsageError:
        return
    assert found
    assert all(a.host and 0 < a.port < 65536 for a in found)


@given(
    st.lists(st.builds(Address, st.sampled_from(["a", "b.c", "::1"]), st.integers(1, 65535)),
             min_size=1, unique_by=str)
)  # fmt: skip
def test_what_is_shown_is_read(addresses: list[Address]) -> None:
    """An address as we write it is one that we read."""
    assert tuple(addresses) == parse_addresses(",".join(map(str, addresses)), "x")
