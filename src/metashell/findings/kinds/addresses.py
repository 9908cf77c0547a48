"""Addresses: those that brokers advertise to clients, and those at which controllers vote."""

from __future__ import annotations

from functools import partial
from typing import Final

from metashell.findings.kind import About, FindingKind, Severity

_of = partial(
    FindingKind,
    about=About.BROKER,
    severity=Severity.WARNING,
    counts="brokers",
    see="nodes --brokers --columns id,endpoints",
    source="org.apache.kafka.controller.ClusterControlManager.registerBroker; KIP-103",
    finder="metashell.judgement.address_findings:find",
)

KINDS: Final = (
    _of(
        code="same-advertised-address",
        order=82,
        meaning="several brokers advertise one address: clients reach one of them, or none",
        do="give each broker a host or port of its own in advertised.listeners; restart one broker"
        " after the other",
    ),
    _of(
        code="listener-missing",
        order=86,
        counts="partitions",
        meaning="clients of a listener get no answer about partitions whose leaders lack it",
        do="add the listener on all brokers; if it is to go, move its clients first",
    ),
    _of(
        code="listener-protocols",
        order=88,
        meaning="a listener has several security protocols: its clients fail on some brokers",
        do="compare listener.security.protocol.map of these brokers",
    ),
    _of(
        code="loopback-address",
        severity=Severity.NOTE,
        order=85,
        meaning="brokers advertise loopback or unspecified addresses: other machines do not reach"
        " them",
        do="nothing on one machine; else set advertised.listeners to names that clients can reach",
    ),
)
