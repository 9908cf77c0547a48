"""The rights of principals, decided like Kafka's own authorizer on the brokers' questions.

The ACLs that count are those about the resource whose principal is the one that asks or ``User:*``,
whose host is that of the client, and whose operation is ALL, the one asked for or, where it allows,
one that implies it. One that denies wins over all that allow; whatever is not ALLOW denies. Without
any, the answer is no, unless nothing at all is about the resource and
``allow.everyone.if.no.acl.found`` is set. Super users may do everything.

Where brokers take another right too for all that asks for the one in question, who has either is
allowed: see `other_rights`. One of these is a right on any resource of a type: see `_Names`.

Source: org.apache.kafka.metadata.authorizer.{StandardAuthorizer, StandardAuthorizerData},
org.apache.kafka.server.authorizer.Authorizer.authorizeByResourceType.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain
from typing import Final, Protocol

import pyarrow as pa

from metashell.answers.acls import LITERAL, WILDCARD, Acl, table_of
from metashell.answers.assume import Assumptions
from metashell.answers.hosts import EVERY_HOST, HostPattern, parse_host_pattern
from metashell.answers.other_rights import How, OtherRight, Right, other_rights
from metashell.dataclass import dataclass
from metashell.errors import MetashellError
from metashell.image.acl_names import (
    OPERATIONS,
    PATTERN_TYPES,
    PERMISSION_TYPES,
    RESOURCE_TYPES,
    code_name,
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
_DENY: Final = PERMISSION_TYPES.index("DENY")
_PREFIXED: Final = PATTERN_TYPES.index("PREFIXED")
PROBE: Final = "hardcode"
"""The name that Kafka's authorizer tries first where any name will do."""
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
    """The authorizer's settings besides the ACLs."""

    super_users: frozenset[str] = frozenset()
    allow_everyone: bool = False

    @classmethod
    def of(cls, assumptions: Assumptions) -> Rules:
        """The rules that a node's configuration makes."""
        users = (assumptions.get(SUPER_USERS) or "").split(";")
        allow = (assumptions.get(ALLOW_EVERYONE) or "").strip().lower() == "true"
        return cls(frozenset(user.strip() for user in users if user.strip()), allow)


@dataclass(frozen=True, slots=True)
class AccessDecision:
    """The authorizer's answer, and why."""

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


class _State(Protocol):
    """The sum of the ACLs that match some hosts."""

    def plus(self, entries: Sequence[_Entry]) -> _State:
        """The sum with more ACLs, of a narrower host."""

    @property
    def decider(self) -> tuple[_Entry, int] | None:
        """The ACL that decides, and how many would; None where no ACL does."""


@dataclass(frozen=True, slots=True)
class _Tally:
    """On one resource: how many ACLs deny and allow, and the best of each."""

    denies: int = 0
    allows: int = 0
    deny: _Entry | None = None
    allow: _Entry | None = None

    def plus(self, entries: Sequence[_Entry]) -> _Tally:
        denies, allows, deny, allow = self.denies, self.allows, self.deny, self.allow
        for entry in entries:
            if entry.allows:
                allows, allow = allows + 1, _better(allow, entry)
            else:
                denies, deny = denies + 1, _better(deny, entry)
        return _Tally(denies, allows, deny, allow)

    @property
    def decider(self) -> tuple[_Entry, int] | None:
        if self.deny is not None:
            return self.deny, self.denies
        return (self.allow, self.allows) if self.allow is not None else None


@dataclass(frozen=True, slots=True)
class _Names:
    """On any resource of a type, whichever.

    A right is granted where it would be on a resource called ``hardcode``. Else a DENY of ``*``
    ends it, and an ALLOW of ``*`` grants it; an ALLOW of a name or a prefix does, unless the same
    name is denied or a prefix that it begins with. ACLs whose pattern or permission Kafka does not
    know count for ``hardcode`` alone.

    An ALLOW of ``*`` needs no rule of its own: it is about ``hardcode`` too.

    Source: Authorizer.authorizeByResourceType; that networks count: KAFKA-20816, Kafka 4.4.
    """

    probe: _Tally = _Tally()
    """The sum of the ACLs about ``hardcode``."""
    denies_all: bool = False
    names: frozenset[str] = frozenset()
    """Names that are denied."""
    prefixes: frozenset[str] = frozenset()
    """Prefixes that are denied."""
    allows: tuple[tuple[_Entry, ...], ...] = ()
    """All that allow: those of the widest host, then what each narrower one has besides."""
    n_left: int = 0
    best: _Entry | None = None
    """The best ACL that allows and that nothing denies; `n_left` counts them."""

    def plus(self, entries: Sequence[_Entry]) -> _Names:
        probe = self.probe.plus([e for e in entries if e.acl.is_about(e.acl.resource_type, PROBE)])
        known = [e for e in entries if e.acl.pattern_type in (LITERAL, _PREFIXED)]
        denied = [e.acl for e in known if e.acl.permission == _DENY]
        names = {acl.resource_name for acl in denied if acl.pattern_type == LITERAL}
        prefixes = {acl.resource_name for acl in denied if acl.pattern_type == _PREFIXED}
        more = _Names(
            probe,
            self.denies_all or WILDCARD in names,
            self.names | names,
            self.prefixes | prefixes,
            (*self.allows, tuple(e for e in known if e.allows)),
        )
        # ACLs that were left for a wider host stay, unless more is denied here.
        left = more._left(more.allows if denied else more.allows[-1:])
        n_left, best = (0, None) if denied else (self.n_left, self.best)
        for entry in left:
            n_left, best = n_left + 1, _better(best, entry)
        return replace(more, n_left=n_left, best=best)

    def _left(self, parts: Iterable[tuple[_Entry, ...]]) -> Iterator[_Entry]:
        lengths = {len(prefix) for prefix in self.prefixes} - {0}
        for entry in chain.from_iterable(parts):
            name, is_literal = entry.acl.resource_name, entry.acl.pattern_type == LITERAL
            is_denied = (is_literal and name in self.names) or any(
                length <= len(name) and name[:length] in self.prefixes for length in lengths
            )
            if not is_denied:
                yield entry

    @property
    def decider(self) -> tuple[_Entry, int] | None:
        if self.best is not None and not self.denies_all:
            return self.best, self.n_left
        return self.probe.decider


def _better(one: _Entry | None, other: _Entry) -> _Entry:
    return one if one is not None and one.rank > other.rank else other


class _Right:
    """A right that is enough, and whom ACLs grant and deny it.

    Args:
        acls: All ACLs.
        operation: The operation's code.
        resource_type: Code of the resource's type.
        name: The resource's name; None: any of the type.
        rules: The settings besides the ACLs.
        is_other: Whether it is another right than the one that was asked about.
    """

    def __init__(
        self,
        acls: Sequence[Acl],
        operation: int,
        resource_type: int,
        name: str | None,
        rules: Rules,
        *,
        is_other: bool = False,
    ) -> None:
        self._rules = rules
        self._operation = operation
        self._is_other = is_other
        self.nothing: _State = _Names() if name is None else _Tally()
        """The sum of no ACLs."""
        resource = PROBE if name is None else name
        about = [acl for acl in acls if acl.is_about(resource_type, resource)]
        self._has_acls = bool(about)
        self._resource = _resource(resource_type, resource) if is_other else "the resource"
        if name is None:
            about = [acl for acl in acls if acl.resource_type == resource_type]
        self.malformed = [acl for acl in about if ":" not in acl.principal]
        self.hostless: list[Acl] = []
        self.networks: list[Acl] = []
        self.entries: dict[str, list[_Entry]] = {}
        self._n_denies: dict[str, int] = {}
        for acl in about:
            if ":" in acl.principal and _bears(acl, operation):
                self._add(acl)

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
        self.entries.setdefault(acl.principal, []).append(entry)
        self._n_denies[acl.principal] = self._n_denies.get(acl.principal, 0) + (not entry.allows)

    def entries_of(self, principal: str) -> list[_Entry]:
        """The ACLs that bear on a principal."""
        everyone = self.entries.get(EVERYONE, [])
        return everyone if principal == EVERYONE else [*self.entries.get(principal, ()), *everyone]

    def n_steps(self, principal: str) -> int:
        """How many ACLs are looked at for all hosts of a principal, at most."""
        named = {principal, EVERYONE}
        n = sum(len(self.entries.get(one, ())) for one in named)
        if isinstance(self.nothing, _Tally):
            return n
        return n * (1 + sum(self._n_denies.get(one, 0) for one in named))

    def decision(self, principal: str, host: HostPattern, state: _State) -> AccessDecision:
        """The answer to a principal at a host, from the sum of its ACLs."""
        if (decider := state.decider) is not None:
            return self._by_acl(principal, host, *decider)
        if self._has_acls:
            return AccessDecision(principal, host, False, "no ACL allows it")
        if self._rules.allow_everyone:
            why = f"no ACL is about {self._resource}, and {ALLOW_EVERYONE}"
            return AccessDecision(principal, host, True, why)
        return AccessDecision(principal, host, False, "no ACL is about the resource")

    def _by_acl(self, principal: str, host: HostPattern, entry: _Entry, n: int) -> AccessDecision:
        acl = entry.acl
        what = shown_code(OPERATIONS, acl.operation)
        pattern = shown_code(PATTERN_TYPES, acl.pattern_type)
        permission = shown_code(PERMISSION_TYPES, acl.permission)
        name = acl.resource_name
        if self._is_other:
            name = _resource(acl.resource_type, name)
        whom = f" to {acl.principal}" if acl.principal != principal else ""
        why = f"{permission} {what} on {pattern} {name}{whom}"
        return AccessDecision(principal, host, entry.allows, why, acl, n)


def _bears(acl: Acl, operation: int) -> bool:
    if acl.operation in (_ALL, operation):
        return True
    implied_by = _IMPLIED_BY.get(operation, frozenset())
    return acl.permission == _ALLOW and acl.operation in implied_by


def _resource(resource_type: int, name: str) -> str:
    return f"{shown_code(RESOURCE_TYPES, resource_type).lower().replace('_', '-')}:{name}"


class Authorizer:
    """Answers who may do one operation on one resource.

    Args:
        acls: All ACLs.
        operation: The operation's code.
        resource_type: Code of the resource's type.
        name: The resource's name.
        rules: The settings besides the ACLs.
    """

    def __init__(
        self,
        acls: Sequence[Acl],
        operation: int,
        resource_type: int,
        name: str,
        rules: Rules | None = None,
    ) -> None:
        self._rules = rules or Rules()
        self._acls = acls
        asked = Right(code_name(OPERATIONS, operation), code_name(RESOURCE_TYPES, resource_type))
        self._rights = [_Right(acls, operation, resource_type, name, self._rules)]
        self.remarks: list[str] = []
        """Which other rights are granted that some requests take, or denied that they need."""
        for one in other_rights(asked):
            other, of = one.other.codes, one.other.name_for(asked, name)
            if one.how is How.DECIDES:
                self._rights.append(_Right(acls, *other, of, self._rules, is_other=True))
            elif self._is_said(one, of):
                self.remarks.append(one.text)

    def _is_said(self, one: OtherRight, name: str | None) -> bool:
        if one.said_where is None:
            return False
        allows = one.said_where == "ALLOW"
        operation, resource_type = one.other.codes
        about = [
            acl
            for acl in self._acls
            if (
                acl.resource_type == resource_type
                if name is None
                else acl.is_about(resource_type, name)
            )
        ]
        if allows and self._rules.allow_everyone and (name is None or not about):
            return True
        return any((acl.permission == _ALLOW) == allows and _bears(acl, operation) for acl in about)

    def _distinct(self, kind: Callable[[_Right], list[Acl]]) -> list[Acl]:
        return list({acl.index: acl for right in self._rights for acl in kind(right)}.values())

    @property
    def malformed(self) -> list[Acl]:
        """ACLs whose principal has no type; Kafka's authorizer fails on reading one."""
        return self._distinct(lambda right: right.malformed)

    @property
    def hostless(self) -> list[Acl]:
        """ACLs that no client's host ever matches."""
        return self._distinct(lambda right: right.hostless)

    @property
    def networks(self) -> list[Acl]:
        """ACLs of networks, which brokers before 4.4 never match."""
        return self._distinct(lambda right: right.networks)

    def principals(self) -> list[str]:
        """Principals in ACLs about the question, and super users; everyone else comes last."""
        named = self._rules.super_users.union(*(right.entries for right in self._rights))
        return [*sorted(named - {EVERYONE}), EVERYONE]

    def decide(self, principal: str, host: HostPattern) -> AccessDecision:
        """The answer to a principal that asks from a host."""
        if principal in self._rules.super_users:
            return AccessDecision(principal, host, True, f"{principal} is one of {SUPER_USERS}")
        states = [
            right.nothing.plus([e for e in right.entries_of(principal) if e.host.covers(host)])
            for right in self._rights
        ]
        return self._decision(principal, host, states)

    def by_host(self, principal: str) -> Iterator[AccessDecision]:
        """The answers to a principal by host: the row of the narrowest host that fits holds.

        The first is for all hosts. A host with the answer of the next wider one is left out.
        """
        if principal in self._rules.super_users:
            yield self.decide(principal, EVERY_HOST)
            return
        by_host: dict[tuple[int, int, int, str], tuple[HostPattern, list[list[_Entry]]]] = {
            EVERY_HOST.key: (EVERY_HOST, [[] for _ in self._rights])
        }
        for number, right in enumerate(self._rights):
            for entry in right.entries_of(principal):
                own = by_host.setdefault(entry.host.key, (entry.host, [[] for _ in self._rights]))
                own[1][number].append(entry)
        # Networks lie one in the other or apart, so those around the current one are a stack.
        around: list[tuple[HostPattern, list[_State], AccessDecision]] = []
        for _, (host, entries) in sorted(by_host.items()):
            while around and not around[-1][0].covers(host):
                around.pop()
            wider = around[-1][1] if around else [right.nothing for right in self._rights]
            states = [
                state.plus(own) if own else state for state, own in zip(wider, entries, strict=True)
            ]
            decision = self._decision(principal, host, states)
            before = around[-1][2] if around else None
            if before is None or (before.is_allowed, before.acl) != (
                decision.is_allowed,
                decision.acl,
            ):
                yield decision
            around.append((host, states, decision))

    def n_steps(self, principals: Sequence[str]) -> int:
        """How many ACLs are looked at for these principals, at most."""
        return sum(right.n_steps(one) for right in self._rights for one in principals)

    def _decision(
        self, principal: str, host: HostPattern, states: Sequence[_State]
    ) -> AccessDecision:
        """The answer by the first right that is granted, else by the one asked about."""
        decisions = [
            right.decision(principal, host, state)
            for right, state in zip(self._rights, states, strict=True)
        ]
        allowing = [one for one in decisions if one.is_allowed]
        if not allowing:
            return decisions[0]
        return replace(allowing[0], acls=sum(one.acls for one in allowing))


def everyone_by_host(authorizer: Authorizer, principals: Sequence[str]) -> list[AccessDecision]:
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


def decisions_table(image: Image, decisions: Sequence[AccessDecision]) -> pa.Table:
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
    for name in (
        "id",
        "resource_type",
        "resource_name",
        "pattern_type",
        "principal",
        "host",
        "operation",
    ):
        table[f"acl_{name}"] = acls[name]
    table["acl_permission"] = acls["permission"]
    table["created_offset"] = acls["created_offset"]
    table["created_time"] = acls["created_time"]
    return pa.table(table)
