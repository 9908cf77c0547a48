"""Hosts as ACLs name them: all, one address, or a network; and which of them lie in which.

A client's host is the text that Java has for its address, and an ACL's host is compared with that
text as it is: an abbreviated IPv6 address or a name in an ACL never matches. Networks are compared
by number.

Source: StandardAuthorizerData.findResult, CidrUtils.isInRange (KIP-1276, since Kafka 4.4),
org.apache.commons.net.util.{SubnetUtils, SubnetUtils6}, java.net.Inet6Address.getHostAddress.
"""

from __future__ import annotations

import re
from ipaddress import AddressValueError, IPv4Address, IPv6Address
from typing import Final

from metashell.dataclass import dataclass

_IPV4_NETWORK: Final = re.compile(
    r"([0-9]{1,3})\.([0-9]{1,3})\.([0-9]{1,3})\.([0-9]{1,3})/([0-9]{1,3})"
)
_IPV6_NETWORK: Final = re.compile(r"([0-9A-Fa-f:.]*:[0-9A-Fa-f:.]*)/\+?([0-9]{1,9})")

_BITS: Final = {4: 32, 6: 128}
_LONGEST: Final = 64
"""Characters of the longest text that can be an address, its zone included."""


@dataclass(frozen=True, slots=True)
class HostPattern:
    """The addresses ``low..high`` of an IP version; version 0 is all addresses there are."""

    text: str
    version: int
    low: int
    high: int
    is_network: bool

    @property
    def key(self) -> tuple[int, int, int, str]:
        """Equal for patterns of the same addresses; sorts what contains before what lies in it."""
        return self.version, self.low, -self.high, "" if self.is_network else self.text

    @property
    def narrowness(self) -> int:
        """Greater for what lies in another."""
        if self.version == 0:
            return 0
        return 1_000 if not self.is_network else _BITS[self.version] - self._free_bits + 1

    @property
    def _free_bits(self) -> int:
        return (self.high - self.low).bit_length()

    def covers(self, other: HostPattern) -> bool:
        """Whether every address of the other is one of these."""
        if self.version == 0:
            return True
        if not self.is_network:
            return not other.is_network and self.text == other.text
        return self.version == other.version and self.low <= other.low and other.high <= self.high


EVERY_HOST: Final = HostPattern("*", 0, 0, 1 << 128, is_network=True)


def parse_host_pattern(text: str) -> HostPattern | None:
    """The hosts that an ACL's host stands for; None where no client's host is ever one."""
    if text == "*":
        return EVERY_HOST
    if "/" in text:
        return _network(text)
    address = _address(text)
    return address if address is not None and address.text == text else None


def client_host(text: str) -> HostPattern | None:
    """A client's address, written in any way, as Kafka knows it; None where it is none."""
    return _address(text)


def _address(text: str) -> HostPattern | None:
    if len(text) > _LONGEST:
        return None
    try:
        four = IPv4Address(text)
    except AddressValueError:
        pass
    else:
        return HostPattern(str(four), 4, int(four), int(four), is_network=False)
    try:
        six = IPv6Address(text)
    except AddressValueError:
        return None
    if six.ipv4_mapped is not None:
        # Java makes an IPv4 address of it.
        return _address(str(six.ipv4_mapped))
    number = int(six)
    groups = ":".join(f"{number >> shift & 0xFFFF:x}" for shift in range(112, -1, -16))
    zone = f"%{six.scope_id}" if six.scope_id else ""
    return HostPattern(groups + zone, 6, number, number, is_network=False)


def _network(text: str) -> HostPattern | None:
    if len(text) > _LONGEST:
        return None
    if match := _IPV4_NETWORK.fullmatch(text):
        *octets, length = map(int, match.groups())
        if max(octets) > 255:
            return None
        return _range(text, 4, int.from_bytes(bytes(octets), "big"), length)
    if match := _IPV6_NETWORK.fullmatch(text):
        try:
            six = IPv6Address(match[1])
        except AddressValueError:
            return None
        return None if six.ipv4_mapped is not None else _range(text, 6, int(six), int(match[2]))
    return None


def _range(text: str, version: int, address: int, length: int) -> HostPattern | None:
    free = _BITS[version] - length
    if free < 0:
        return None
    low = address >> free << free
    return HostPattern(text, version, low, low + (1 << free) - 1, is_network=True)
