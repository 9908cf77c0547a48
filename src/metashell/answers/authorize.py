"""Who may do what, decided as Kafka's own authorizer decides.

The ACLs that count are those about the resource whose principal is the one that asks or ``User:*``,
whose host is that of the client, and whose operation is ALL, the one asked for or, where it allows,
one that implies it. One that denies wins over all that allow; whatever is not ALLOW denies. Without
any, the answer is no, unless nothing at all is about the resource and
``allow.everyone.if.no.acl.found`` is set. Super users may do everything.

Source: org.apache.kafka.metadata.authorizer.{StandardAuthorizer, StandardAuthorizerData}.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import pyarrow as pa

from metashell.answers.acls import LITERAL, WILDCARD, Acl, table_of
from metashell.answers.assume import Assumptions
from metashell.answers.hosts import EVERY_HOST, HostPattern, parse_host_pattern
from metashell.errors import MetashellError
from metashell.image.acl_names import (
    OPERATIONS,
    PATTERN_TYPES,
    PERMISSION_TYPES,
    shown_code,
)
from metashell.image.image import Image

EVERYONE: Final = "User:*"
"""In an ACL: whoever asks; in an answer: everyone who is not named."""
SUPER_USERS: Final = "super.users"
ALLOW_EVERYONE: Final = "allow.everyone.if.no.acl.found"
ALLOWED: Final = "ALLOWED"
DENIED: Final = "DENIED"

_ALL: Final = OPERATIONS.index("ALL")
_ALLOW: Final = PERMISSION_TYPES.index("ALLOW")
_IMPLIED_BY: Final = {
    OPERATIONS.index("DESCRIBE"): frozenset(
        map(OPERATIONS.index, ("READ", "WRITE", "DELETE", "ALTER"))
    ),
    OPERATIONS.index("DESCRIBE_CONFIGS"): frozenset({OPERATIONS.index("ALTER_CONFIGS")}),
}
"""Operations that an ACL which allows one of others allows too."""

_MOST_STEPS: Final = 5_000_000
"""ACLs looked at for all principals together; an answer made of more helps nobody."""


@dataclass(frozen=True, slots=True)
class Rules:
    """What the authorizer knows besides the ACLs."""

    super_users: frozenset[str] = frozenset()
    allow_everyone: bool = False

    @classmethod
    def of(cls, assumptions: Assumptions) -> Rules:
        """The rules that a node's configuration makes."""
        users = (assumptions.get(SUPER_USERS) or "").split(";")
        allow = (assumptions.get(ALLOW_EVERYONE) or "").strip().lower() == "true"
        return cls(frozenset(user.strip() for user in users if user.strip()), allow)


@dataclass(frozen=True, slots=True)
class Decision:
    """What the authorizer says, and why."""

    principal: str
    host: HostPattern
    is_allowed: bool
    why: str
    acl: Acl | None = None
    """The ACL that decides, of several the one that is most to the point."""
    acls: int = 0
    """ACLs that each would decide so."""


@dataclass(frozen=True, slots=True)
class _Entry:
    """An ACL that bears on what is asked."""

    acl: Acl
    host: HostPattern
    allows: bool
    rank: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class _Tally:
    """The ACLs that match some hosts: how many deny and allow, and the best of each."""

    denies: int = 0
    allows: int = 0
    deny: _Entry | None = None
    allow: _Entry | None = None

    def plus(self, entry: _Entry) -> _Tally:
        if entry.allows:
            return _Tally(self.denies, self.allows + 1, self.deny, _better(self.allow, entry))
        return _Tally(self.denies + 1, self.allows, _better(self.deny, entry), self.allow)


def _better(one: _Entry | None, other: _Entry) -> _Entry:
    return one if one is not None and one.rank > other.rank else other


class Authorizer:
    """Answers who may do one operation on one resource.

    Args:
        acls: All ACLs.
        operation: Code of what is asked for.
        resource_type: Code of the resource's type.
        name: The resource's name.
        rules: What is known besides.
    """

    def __init__(
        self,
        acls: Iterable[Acl],
        operation: int,
        resource_type: int,
        name: str,
        rules: Rules | None = None,
    ) -> None:
        self._rules = rules or Rules()
        self._operation = operation
        about = [acl for acl in acls if acl.is_about(resource_type, name)]
        self._has_acls = bool(about)
        self.malformed = [acl for acl in about if ":" not in acl.principal]
        """ACLs whose principal has no type; Kafka's authorizer fails on reading one."""
        self.hostless: list[Acl] = []
        """ACLs that no client's host ever matches."""
        self.networks: list[Acl] = []
        """ACLs of networks, which brokers before 4.4 never match."""
        self._entries: dict[str, list[_Entry]] = {}
        for acl in about:
            if ":" in acl.principal and self._bears(acl):
                self._add(acl)

    def _bears(self, acl: Acl) -> bool:
        if acl.operation in (_ALL, self._operation):
            return True
        implied_by = _IMPLIED_BY.get(self._operation, frozenset())
        return acl.permission == _ALLOW and acl.operation in implied_by

    def _add(self, acl: Acl) -> None:
        host = parse_host_pattern(acl.host)
        if host is None:
            self.hostless.append(acl)
            return
        if host.is_network and host.version:
            self.networks.append(acl)
        by_name = acl.resource_name != WILDCARD or acl.pattern_type != LITERAL
        rank = (
            by_name + (by_name and acl.pattern_type == LITERAL),
            len(acl.resource_name),
            acl.principal != EVERYONE,
            host.narrowness,
            acl.operation == self._operation,
            -acl.index,
        )
        entry = _Entry(acl, host, acl.permission == _ALLOW, rank)
        self._entries.setdefault(acl.principal, []).append(entry)

    def principals(self) -> list[str]:
        """Who is named: in ACLs that bear on the question or as super user; then everyone else."""
        named = (self._entries.keys() | self._rules.super_users) - {EVERYONE}
        return [*sorted(named), EVERYONE]

    def decide(self, principal: str, host: HostPattern) -> Decision:
        """What a principal is told when it asks from a host."""
        if principal in self._rules.super_users:
            return Decision(principal, host, True, f"{principal} is one of {SUPER_USERS}")
        tally = _Tally()
        for entry in self._entries_of(principal):
            if entry.host.covers(host):
                tally = tally.plus(entry)
        return self._decision(principal, host, tally)

    def by_host(self, principal: str) -> Iterator[Decision]:
        """What a principal is told, by host: the row of the narrowest host that fits holds.

        The first is for all hosts. One that decides as the next wider one does is left out.
        """
        if principal in self._rules.super_users:
            yield self.decide(principal, EVERY_HOST)
            return
        tallies: dict[tuple[int, int, int, str], tuple[HostPattern, list[_Entry]]] = {
            EVERY_HOST.key: (EVERY_HOST, [])
        }
        for entry in self._entries_of(principal):
            tallies.setdefault(entry.host.key, (entry.host, []))[1].append(entry)
        # Networks lie one in the other or apart, so those around the current one are a stack.
        around: list[tuple[HostPattern, _Tally, Decision]] = []
        for _, (host, entries) in sorted(tallies.items()):
            while around and not around[-1][0].covers(host):
                around.pop()
            tally = around[-1][1] if around else _Tally()
            for entry in entries:
                tally = tally.plus(entry)
            decision = self._decision(principal, host, tally)
            wider = around[-1][2] if around else None
            if wider is None or (wider.is_allowed, wider.acl) != (
                decision.is_allowed,
                decision.acl,
            ):
                yield decision
            around.append((host, tally, decision))

    def n_steps(self, principals: Sequence[str]) -> int:
        """How many ACLs are looked at for these principals."""
        own = sum(len(self._entries.get(principal, ())) for principal in principals)
        return own + len(principals) * len(self._entries.get(EVERYONE, ()))

    def _entries_of(self, principal: str) -> list[_Entry]:
        everyone = self._entries.get(EVERYONE, [])
        return everyone if principal == EVERYONE else [*self._entries.get(principal, ()), *everyone]

    def _decision(self, principal: str, host: HostPattern, tally: _Tally) -> Decision:
        if tally.deny is not None:
            return self._by_acl(principal, host, tally.deny, tally.denies)
        if tally.allow is not None:
            return self._by_acl(principal, host, tally.allow, tally.allows)
        if self._has_acls:
            return Decision(principal, host, False, "no ACL allows it")
        if self._rules.allow_everyone:
            why = f"no ACL is about the resource, and {ALLOW_EVERYONE}"
            return Decision(principal, host, True, why)
        return Decision(principal, host, False, "no ACL is about the resource")

    def _by_acl(self, principal: str, host: HostPattern, entry: _Entry, n: int) -> Decision:
        acl = entry.acl
        what = shown_code(OPERATIONS, acl.operation)
        pattern = shown_code(PATTERN_TYPES, acl.pattern_type)
        permission = shown_code(PERMISSION_TYPES, acl.permission)
        whom = f" to {acl.principal}" if acl.principal != principal else ""
        why = f"{permission} {what} on {pattern} {acl.resource_name}{whom}"
        return Decision(principal, host, entry.allows, why, acl, n)


def everyone_by_host(authorizer: Authorizer, principals: Sequence[str]) -> list[Decision]:
    """The decisions about principals, by host.

    Raises:
        MetashellError: There are too many of them.
    """
    if authorizer.n_steps(principals) > _MOST_STEPS:
        raise MetashellError(
            f"{len(principals)} principals and the hosts of ACLs for everyone are too many to list",
            hint="ask for one principal by --principal",
        )
    return [decision for one in principals for decision in authorizer.by_host(one)]


def decisions_table(image: Image, decisions: Sequence[Decision]) -> pa.Table:
    """Decisions as rows, with the ACL that decides."""
    decided = [decision.acl for decision in decisions if decision.acl is not None]
    rows = iter(range(len(decided)))
    at = pa.array([None if d.acl is None else next(rows) for d in decisions], pa.int64())
    acls = table_of(image, decided).take(at)

    def texts(values: list[str]) -> pa.Array:
        return pa.array(values, pa.string())

    table = {
        "principal": texts([d.principal for d in decisions]),
        "host": texts([d.host.text for d in decisions]),
        "result": texts([ALLOWED if d.is_allowed else DENIED for d in decisions]),
        "why": texts([d.why for d in decisions]),
        "acls": pa.array([d.acls for d in decisions], pa.int32()),
    }
    for name in ("id", "resource_name", "pattern_type", "principal", "host", "operation"):
        table[f"acl_{name}"] = acls[name]
    table["acl_permission"] = acls["permission"]
    table["created_offset"] = acls["created_offset"]
    table["created_time"] = acls["created_time"]
    return pa.table(table)
