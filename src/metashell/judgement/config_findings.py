"""Findings about the node's own ``server.properties``: against itself, its files and the quorum.

Kafka's own texts are quoted, so that a search for one leads here.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from metashell.checks.finding import Finding
from metashell.checks.quorum_findings import listed, read_node_files
from metashell.findings.kind import AtStart, FindingKind
from metashell.image.image import Image
from metashell.judgement.address_findings import AdvertisedAddress, endpoints_of, grouped, nodes
from metashell.judgement.evidence import Evidence
from metashell.judgement.node_roles import node_of

_VOTERS: Final = "controller.quorum.voters"
_BOOTSTRAP: Final = "controller.quorum.bootstrap.servers"
_NAMES: Final = "controller.listener.names"
_CONTROLLER, _BROKER = "controller", "broker"
_SILENT: Final = "Kafka says nothing"
_ENTRY: Final = re.compile(r"(?:([0-9]{1,9})@|(.*)://)?\[?([0-9a-zA-Z\-%._:]*)\]?:([0-9]{1,5})")
"""An entry of `_VOTERS`, of `_BOOTSTRAP`, or of listeners."""


def find(evidence: Evidence, kinds: Sequence[FindingKind]) -> Iterator[Finding]:
    """Find what the node's file, and controllers themselves, say otherwise than the quorum."""
    config, image = evidence.config, evidence.image
    if config is not None and any("${" in value for value in config.settings.values()):
        evidence.warn(f"{config.file}: not compared: Kafka itself fills in values such as ${{...}}")
    elif config is not None and config.names_node:
        yield from _Comparison(evidence, config.file, config.settings).run()
    elif evidence.assumptions.get(_VOTERS) and image.quorum.voters is not None:
        yield Finding("ignored-static-voters", file=str(evidence.assumptions.path))


def find_voters(evidence: Evidence, kinds: Sequence[FindingKind]) -> Iterator[Finding]:
    """Find voters whose endpoint in the log is not that of their registration."""
    image = evidence.image
    own = node_of(evidence) if evidence.starts else None
    for found in _moved(_voters(image), _controllers(image), "the controller registered"):
        # Only the own address of a node that starts decides over its vote.
        is_other = own is None or found.subject != f"voter {own}"
        yield replace(found, at_start=AtStart.NOTES if is_other else None)


def _voters(image: Image) -> list[AdvertisedAddress]:
    """The endpoints of voters in the log; none of a static quorum."""
    voters = image.quorum.voters
    return [] if voters is None else endpoints_of(voters.fixed("voter_id"), voters, "endpoints")


def _controllers(image: Image) -> list[AdvertisedAddress]:
    """The endpoints that controllers registered."""
    registered = image.part("controllers").columns
    return endpoints_of(registered.fixed("controller_id"), registered)


def _moved(
    logged: Iterable[AdvertisedAddress],
    own: Iterable[AdvertisedAddress],
    who: str,
    file: str | None = None,
) -> Iterator[Finding]:
    known = {(one.node, one.listener.upper()): one for one in own}
    for old in logged:
        new = known.get((old.node, old.listener.upper()))
        if new is None or new.port == 0:
            continue  # Kafka finds a free port
        # Such a host is that of the machine, which is not known here.
        is_known = old.port != new.port or new.host not in ("", "0.0.0.0", "::")
        if is_known and old.address != new.address:
            yield Finding(
                "voter-endpoint-differs",
                f"the endpoint of voter {old.node} in the log is {old}, {who} {new}: others look"
                f" for it at the old address. {_SILENT}",
                file=file,
                subject=None if file else f"voter {old.node}",
                path=f"/quorum/voters/{old.node}",
            )


class _Comparison:
    """Compares one file."""

    def __init__(self, evidence: Evidence, file: str, settings: Mapping[str, str]) -> None:
        self._settings, self._image = settings, evidence.image
        directory = evidence.source.metadata_directory
        self._beside = None if directory is None else read_node_files(directory)
        stored = [one.identity for one in evidence.directories if one.identity is not None]
        self._stored = stored[0].node_id if stored else None
        self._starts = evidence.starts
        self._file = file
        self.roles = self._words("process.roles")
        self.node_text = settings.get("node.id", settings.get("broker.id", "")).strip()
        is_number = re.fullmatch(r"[0-9]{1,9}", self.node_text)
        self.node = int(self.node_text) if is_number else None
        voters = [one for one in self._entries(_VOTERS) if one.node >= 0]
        self.static = {one.node: one for one in voters}
        self.is_odd = len(voters) < len(self._words(_VOTERS))
        self.bootstrap = self._entries(_BOOTSTRAP)
        self.names = [name.upper() for name in self._words(_NAMES)]
        listeners = self._entries("listeners") or self._entries("", "PLAINTEXT://:9092")
        self.listeners = {one.listener.upper(): one for one in listeners}
        advertised = {one.listener.upper(): one for one in self._entries("advertised.listeners")}
        own = [advertised.get(name, one) for name, one in self.listeners.items()]
        self.own = [one for one in own if one.listener.upper() in self.names]
        """The controller's endpoints as other nodes see them."""

    def _finding(
        self,
        code: str,
        message: str | None = None,
        action: str | None = None,
        at_start: AtStart | None = None,
    ) -> Finding:
        return Finding(
            code, message, action, file=self._file, path="/quorum/voters", at_start=at_start
        )

    def _words(self, key: str, text: str = "") -> list[str]:
        words = self._settings.get(key, text).split(",")
        return [word.strip() for word in words if word.strip()]

    def _entries(self, key: str, text: str = "") -> list[AdvertisedAddress]:
        found = map(_ENTRY.fullmatch, self._words(key, text))
        return [AdvertisedAddress(int(m[1] or -1), m[2] or "", m[3], int(m[4])) for m in found if m]

    def run(self) -> Iterator[Finding]:
        """All that is found."""
        for text, keys in self._refusals():
            message = None if self._starts else f'the node does not start with it: "{text}"'
            yield replace(self._finding("config-refused", message, self._advice(keys)), kafka=text)
        voters = _voters(self._image)
        if voters:
            yield from self._dynamic(voters)
        elif self._image.quorum.kraft_version == 0:
            yield from self._static()
        logged = voters or _controllers(self._image)
        known = {one.address for one in (*logged, *self.own, *self.static.values())}
        strange = [one for one in self.bootstrap if one.address not in known]
        if strange and logged:
            yield self._finding(
                "config-unlike-quorum",
                f"{_BOOTSTRAP} has {listed(map(str, strange))}, where no voter is by the log:"
                f" {listed(map(str, logged))}. {_SILENT}",
                "compare these addresses with the voters': an alias or a load balancer is fine",
            )

    def _advice(self, keys: Sequence[str]) -> str | None:
        """The settings to correct; None where the log directory may be the wrong one."""
        if not keys:
            return None
        brokers, ids = self._image.brokers.ids.tolist(), nodes(_controllers(self._image))
        known = [
            role
            for role, some in (
                (_BROKER, brokers),
                (_CONTROLLER, [*ids, *nodes(_voters(self._image))]),
            )
            if self.node in some
        ]
        has_roles = "process.roles" in keys and known and set(known) != set(self.roles)
        # A node.id is its node's own: another node's is no example.
        own = "node.id" in keys
        return (
            f"correct {' or '.join(keys)}"
            + ": compare with a running node of the same roles" * (not own)
            + f". meta.properties has node.id {self._stored}" * (own and self._stored is not None)
            + f". The metadata has node {self.node} as {' and '.join(known)}" * bool(has_roles)
        )

    def _refusals(self) -> Iterator[tuple[str, Sequence[str]]]:
        """Kafka's reasons not to start with the file, and the settings that they are about."""
        is_controller = _CONTROLLER in self.roles
        names, listeners = set(self.names), set(self.listeners)
        voters = f"{_VOTERS}=Set({listed(map(str, sorted(self.static)))})"
        stored = self._stored
        odd = [role for role in self.roles if role not in (_BROKER, _CONTROLLER)]
        is_in, roles = self.node in self.static, ("process.roles", "listeners", _NAMES)
        missing = 'Missing required configuration "{}" which has no default value.'
        number = (
            f"Invalid value {self.node_text} for configuration node.id: Not a number of type INT"
        )
        rules = (
            (not self.roles, missing.format("process.roles"), roles[:1]),
            (not self.node_text, missing.format("node.id"), ("node.id",)),
            (self.node_text and self.node is None, number, ("node.id",)),
            (odd, f"Unknown process role '{''.join(odd[:1])}' (only 'broker' and 'controller' are"
             " allowed roles)", roles[:1]),
            (None not in (stored, self.node) and stored != self.node,
             f"Stored node id {stored} doesn't match previous node id {self.node} in"
             " meta.properties. If you moved your data, make sure your configured node id matches",
             ()),
            (self.is_odd, f"Invalid configuration value for"
             f" {_VOTERS}. Each entry should be in the form `{{id}}@{{host}}:{{port}}`.",
             (_VOTERS,)),
            (not self._words(_VOTERS) and not self._words(_BOOTSTRAP),
             f"If using process.roles, either {_BOOTSTRAP} must contain the set of bootstrap"
             f" controllers or {_VOTERS} must contain a parseable set of controllers.",
             (_BOOTSTRAP, f"{_VOTERS} (of a static quorum)")),
            (self.static and is_controller and not is_in,
             f"If process.roles contains the 'controller' role, the node id {self.node} must be"
             f" included in the set of voters {voters}", (*roles[:1], "node.id", _VOTERS)),
            (self.roles == [_BROKER] and is_in,
             f"If process.roles contains just the 'broker' role, the node id {self.node} must not"
             f" be included in the set of voters {voters}", (*roles[:1], "node.id", _VOTERS)),
            (not is_controller and not names,
             f"{_NAMES} must contain at least one value when running KRaft with just the broker"
             " role", (_NAMES,)),
            (not is_controller and names & listeners,
             f"{_NAMES} must not contain a value appearing in the 'listeners' configuration when"
             " running KRaft with just the broker role", roles),
            (is_controller and not names & listeners,
             f"{_NAMES} must contain at least one value appearing in the 'listeners' configuration"
             " when running the KRaft controller role", roles),
            (is_controller and names & listeners and names - listeners,
             f"{_NAMES} must only contain values appearing in the 'listeners' configuration when"
             " running the KRaft controller role", roles),
            (self.roles == [_CONTROLLER] and names and listeners - names,
             f"The listeners config must only contain KRaft controller listeners from {_NAMES} when"
             " process.roles=controller", roles),
        )  # fmt: skip
        return ((text, keys) for is_so, text, keys in rules if is_so)

    def _dynamic(self, voters: Sequence[AdvertisedAddress]) -> Iterator[Finding]:
        ids = nodes(voters)
        if self.static:
            yield self._finding("ignored-static-voters")
        own = [one._replace(node=self.node or -1) for one in self.own]
        yield from _moved(voters, own, "the file advertises", self._file)
        if self.roles == [_BROKER] and self.node in ids:
            yield self._finding(
                "config-unlike-quorum",
                f"process.roles is broker, and node {self.node} is a voter by the log: its vote is"
                f" missing. {_SILENT}",
                "give it the controller's role again; or remove the voter while a majority of the"
                " others runs",
                AtStart.NOT_VOTING,
            )
        if _CONTROLLER in self.roles and self.node not in ids:
            yield self._finding(
                "config-unlike-registrations",
                f"process.roles has controller, and node {self.node} is no voter by the log, where"
                f" voters are {listed(map(str, ids))}: it follows without a vote. {_SILENT}",
                at_start=AtStart.NOT_VOTING,
            )
        listeners = {one.listener.upper() for one in voters}
        if self.names and self.names[0] not in listeners:
            yield self._finding(
                "config-unlike-quorum",
                f"{_NAMES} is {self.names[0]}, voters have {listed(sorted(listeners))}: the node"
                ' does not find them. Kafka may say "Unable to find endpoint for voter"',
                f"compare {_NAMES} with the listeners of the voters",
                AtStart.NOT_JOINED,
            )

    def _static(self) -> Iterator[Finding]:
        state = None if self._beside is None else self._beside.state
        leaders = self._image.quorum.leaders[-1:]
        by_log = sorted({voter for change in leaders for voter in change.voters})
        by_file = sorted((state.current_voters or ()) if state is not None else ())
        named, voters = sorted(self.static), by_file or by_log
        source = f"{'quorum-state' if by_file else 'the log'} has {_set(voters)}"
        if _CONTROLLER in self.roles and not named and self.bootstrap:
            yield self._finding(
                "static-voters-differ",
                f"kraft.version is 0 and {_VOTERS} is not set ({source}): with {_BOOTSTRAP} alone"
                f" the controller starts as an observer, and never votes. {_SILENT}",
            )
        elif named and voters and named != voters:
            said = (
                f'Kafka up to 3.7 does not start: "Configured voter set: {_set(named)} is different'
                f' from the voter set read from the state file: {_set(voters)}"; later {_SILENT}'
            )
            yield self._finding(
                "static-voters-differ",
                f"{_VOTERS} has {_set(named)}, {source}. {said if by_file else _SILENT}",
                at_start=AtStart.NOTES,
            )
        differ = [
            f"{self.static[node]} as {node} (registered: {listed(map(str, of))})"
            for node, of in grouped(_controllers(self._image), lambda one: one.node)
            if node in self.static and self.static[node].address not in {o.address for o in of}
        ]
        if differ:
            yield self._finding(
                "config-unlike-registrations", f"{_VOTERS} has {listed(differ)}. {_SILENT}"
            )


def _set(ids: Sequence[int]) -> str:
    return f"[{listed(map(str, ids))}]"
