"""Findings about the addresses that brokers advertise.

Fenced brokers do not count: a broker that took over the host of a dead one is no conflict.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from metashell.answers.hosts import client_host
from metashell.checks.finding import Finding
from metashell.checks.quorum_findings import listed
from metashell.findings.kind import FindingKind
from metashell.image.image import Image
from metashell.judgement.evidence import Evidence
from metashell.parts.forms import SECURITY_PROTOCOLS
from metashell.schema.arena import AnyArray
from metashell.schema.columns import Columns

_LOCAL: Final = "localhost"
_MOST_PARTITIONS: Final = 3
"""Partitions that are named one by one."""


class AdvertisedAddress(NamedTuple):
    """An address of a node, or only an address."""

    node: int
    listener: str
    host: str
    port: int
    protocol: str | None = None
    """The security protocol; None where nothing says."""

    def __str__(self) -> str:
        """Such as ``CONTROLLER://c1:9093``, or ``c1:9093`` without a listener."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.listener}{'://' * bool(self.listener)}{host}:{self.port}"

    @property
    def address(self) -> tuple[str, int]:
        """Equal for equal addresses; all loopback and unspecified hosts are one."""
        host = self.host.lower().removesuffix(".")
        found = client_host(host)
        is_local = host in ("", _LOCAL, "localhost.localdomain") or host.endswith(f".{_LOCAL}")
        if found is not None:
            host = found.text
            is_local = found.low in (0, 1) or (found.version == 4 and found.low >> 24 == 127)
        return _LOCAL if is_local else host, self.port


def endpoints_of(
    ids: AnyArray, records: Columns, name: str = "end_points"
) -> list[AdvertisedAddress]:
    """The endpoints of records.

    Args:
        ids: int[n]: the node of each record.
        records: n records.
        name: The field with endpoints.
    """
    endpoints = records.structs(name)
    items, codes = endpoints.items, [-1] * endpoints.items.n
    if "security_protocol" in items.fields:
        codes = items.fixed("security_protocol").tolist()
    columns = (
        np.repeat(ids, np.diff(endpoints.list_offsets)).tolist(),
        *(items.span(text).texts() for text in ("name", "host")),
        items.fixed("port").tolist(),
        [SECURITY_PROTOCOLS.get(code, str(code)) for code in codes],
    )
    return list(map(AdvertisedAddress._make, zip(*columns, strict=True)))


def find(evidence: Evidence, kinds: Sequence[FindingKind]) -> Iterator[Finding]:
    """Find addresses that clients fail with."""
    image = evidence.image
    alive = np.flatnonzero(~image.brokers.fenced)
    brokers = endpoints_of(image.brokers.ids[alive], image.brokers.registration.take(alive))
    shared = [of for _, of in grouped(brokers, lambda one: one.address) if len(nodes(of)) > 1]
    yield from map(_shared, shared)
    local = [one for one in brokers if one.address[0] == _LOCAL]
    reported = {one for group in shared for one in group}
    others = [one for one in local if one not in reported]
    if others and len(nodes(brokers)) > 1:
        without = _but(brokers, local)
        yield _finding(
            "loopback-address",
            "brokers",
            others,
            f"{_named(others)} advertise {listed(sorted({one.host for one in others}))}"
            + (f", which {_named(without)} do not" if without else "")
            + ": other machines do not reach them",
        )
    for listener, group in grouped(brokers, lambda one: one.listener):
        if lacking := _but(brokers, group):
            yield _lacking(image, f"listener {listener}", lacking)
        by_protocol = grouped(group, lambda one: one.protocol)
        if len(by_protocol) > 1:
            spoken = "; ".join(f"{name} on {_named(of)}" for name, of in by_protocol)
            yield _finding("listener-protocols", f"listener {listener}", group, f"it is {spoken}")


def _shared(group: Sequence[AdvertisedAddress]) -> Finding:
    subject = f"address {group[0]._replace(listener='')}"
    local = ", and other machines do not reach it" if group[0].address[0] == _LOCAL else ""
    listeners = listed(sorted({one.listener for one in group}))
    return _finding(
        "same-advertised-address",
        subject,
        group,
        f"{subject} is advertised by {_named(group)} (listener {listeners}){local}. Clients reach"
        " only one of them, or none. With ZooKeeper Kafka refused this"
        ' ("advertised listeners are already registered by broker"). In KRaft it says nothing',
    )


def _lacking(image: Image, subject: str, lacking: Sequence[AdvertisedAddress]) -> Finding:
    partitions = image.partitions
    rows = np.flatnonzero(np.isin(partitions.leader, nodes(lacking)))
    some = rows[:_MOST_PARTITIONS]
    topics = image.topics.raw_names.take(partitions.topic[some]).texts()
    ids = partitions.partition[some].tolist()
    named = listed(f"{topic}-{i}" for topic, i in zip(topics, ids, strict=True))
    more = ", ..." if len(rows) > len(some) else ""
    return _finding(
        "listener-missing",
        subject,
        lacking,
        f"{_named(lacking)} lack it and lead {len(rows):,} partitions"
        f"{f' ({named}{more})' if named else ''}: its clients get LISTENER_NOT_FOUND for these",
        len(rows),
    )


def _finding(
    code: str,
    subject: str,
    group: Sequence[AdvertisedAddress],
    message: str,
    count: int | None = None,
) -> Finding:
    n = len(nodes(group)) if count is None else count
    return Finding(code, message, subject=subject, count=n, path="/image/cluster/brokers")


def grouped(
    endpoints: Iterable[AdvertisedAddress], key: Callable[[AdvertisedAddress], Any]
) -> list[tuple[Any, list[AdvertisedAddress]]]:
    """The endpoints by a key, which is equal for those of a group."""
    found: dict[Any, list[AdvertisedAddress]] = {}
    for endpoint in endpoints:
        found.setdefault(key(endpoint), []).append(endpoint)
    return list(found.items())


def nodes(endpoints: Iterable[AdvertisedAddress]) -> list[int]:
    """The nodes that have them, ascending."""
    return sorted({endpoint.node for endpoint in endpoints})


def _but(
    endpoints: Iterable[AdvertisedAddress], others: Iterable[AdvertisedAddress]
) -> list[AdvertisedAddress]:
    """The endpoints of nodes that have none of others."""
    known = {one.node for one in others}
    return [one for one in endpoints if one.node not in known]


def _named(endpoints: Iterable[AdvertisedAddress]) -> str:
    ids = nodes(endpoints)
    return f"broker{'s' * (len(ids) != 1)} {listed(map(str, ids))}"
