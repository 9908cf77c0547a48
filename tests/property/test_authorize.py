"""Who may do what is what a naive look at every ACL says, for each client there could be."""

from __future__ import annotations

from dataclasses import dataclass, replace
from ipaddress import ip_address, ip_network
from typing import Final

from hypothesis import example, given, settings
from hypothesis import strategies as st

from metashell.answers.acls import Acl
from metashell.answers.authorize import AccessDecision, Authorizer, Rules
from metashell.answers.hosts import HostPattern, client_host, parse_host_pattern
from support.seeds import examples

TOPIC, GROUP, CLUSTER = 2, 3, 4
ANY_PATTERN, LITERAL, PREFIXED = 1, 3, 4
DENY, ALLOW = 2, 3
CODES: Final = {
    "ALL": 2,
    "READ": 3,
    "WRITE": 4,
    "CREATE": 5,
    "DELETE": 6,
    "ALTER": 7,
    "DESCRIBE": 8,
    "DESCRIBE_CONFIGS": 10,
    "ALTER_CONFIGS": 11,
    "IDEMPOTENT_WRITE": 12,
    "TWO_PHASE_COMMIT": 15,
    "new": 99,
}

# Addresses as Java writes them, and what a client may say of them.
ADDRESSES: Final = {
    "10.0.0.1": "10.0.0.1",
    "10.0.0.2": "::ffff:10.0.0.2",
    "10.1.0.1": "10.1.0.1",
    "11.0.0.1": "11.0.0.1",
    "2001:db8:0:0:0:0:0:1": "2001:db8::1",
    "2001:db8:1:0:0:0:0:1": "2001:0DB8:1::1",
    "0:0:0:0:0:0:0:1": "::1",
}
NETWORKS: Final = [
    *("10.0.0.0/8", "10.0.0.7/24", "10.0.0.1/32", "10.0.0.0/31", "0.0.0.0/0"),
    *("2001:db8::/32", "2001:db8::/48", "::/0", "2001:db8::1/128"),
]
NOBODY: Final = [
    "2001:db8::1",
    "localhost",
    "10.0.0.0/33",
    "10.0.0.256/8",
    "",
    "10.0.0.01",
    "::/-1",
]
HOSTS: Final = [
    ["*", "10.0.0.1", "10.0.0.7/24", "10.0.0.0/8"],
    ["*", "2001:db8:0:0:0:0:0:1", "2001:db8::/32", "2001:db8::/48"],
    ["*", *ADDRESSES, *NETWORKS, *NOBODY],
]
"""Hosts of the ACLs of one question."""
PRINCIPALS: Final = ["User:a", "User:b", "User:*", "Group:a", "no type"]

names = st.sampled_from(["ab", "ab", "ab", "abc", "b", "*"])
rules = st.builds(
    Rules, st.frozensets(st.sampled_from(["User:b", "User:s"]), max_size=1), st.booleans()
)
FAMILIES: Final = [
    ("DESCRIBE", "READ", "WRITE", "DELETE", "ALTER", "ALTER_CONFIGS"),
    ("DESCRIBE_CONFIGS", "ALTER_CONFIGS", "ALTER", "DESCRIBE"),
    ("READ", "DESCRIBE", "WRITE"),
    ("ALTER_CONFIGS", "DESCRIBE_CONFIGS"),
    ("TWO_PHASE_COMMIT", "WRITE", "new"),
]


@dataclass(frozen=True)
class Question:
    """What is asked, and the ACLs that there are: most of them have to do with it."""

    acls: list[Acl]
    operation: str
    name: str
    rules: Rules
    resource_type: int = TOPIC

    @property
    def authorizer(self) -> Authorizer:
        """Who answers."""
        operation = CODES[self.operation]
        return Authorizer(self.acls, operation, self.resource_type, self.name, self.rules)

    def expected(self, who: str, host: str) -> bool:
        """The answer."""
        acls, operation, known = self.acls, self.operation, self.rules
        if oracle(acls, operation, self.name, who, host, known, self.resource_type):
            return True
        match self.resource_type, operation:
            case 2, "CREATE" | "DELETE":
                return oracle(acls, operation, "kafka-cluster", who, host, known, CLUSTER)
            case 4, "IDEMPOTENT_WRITE":
                return any_topic(acls, "WRITE", who, host, known)
        return False


@st.composite
def questions(draw: st.DrawFn) -> Question:
    """Draw a question."""
    operation, *related = draw(st.sampled_from(FAMILIES))
    hosts = st.sampled_from(draw(st.sampled_from(HOSTS)))
    acls = st.builds(
        Acl,
        index=st.just(0),
        id=st.just("id"),
        resource_type=st.sampled_from([TOPIC] * 9 + [GROUP]),
        resource_name=st.sampled_from(["ab", "ab", "ab", "a", "*", "abc", ""]),
        pattern_type=st.sampled_from([LITERAL, LITERAL, PREFIXED, PREFIXED, ANY_PATTERN, 9]),
        principal=st.sampled_from(["User:a", "User:a", "User:*", *PRINCIPALS]),
        host=hosts,
        operation=st.sampled_from(
            [CODES[name] for name in (operation, operation, "ALL", *related)]
        ),
        permission=st.sampled_from([ALLOW, ALLOW, ALLOW, DENY, 1]),
    )
    return Question(draw(st.lists(acls, max_size=6)), operation, draw(names), draw(rules))


@st.composite
def questions_of_two_rights(draw: st.DrawFn) -> Question:
    """Draw a question that brokers ask so that another right is enough too."""
    operation, resource_type, other, other_type = draw(
        st.sampled_from(
            [
                *[("IDEMPOTENT_WRITE", CLUSTER, "WRITE", TOPIC)] * 4,
                ("CREATE", TOPIC, "CREATE", CLUSTER),
                ("DELETE", TOPIC, "DELETE", CLUSTER),
            ]
        )
    )
    hosts = st.sampled_from(draw(st.sampled_from([["*", "10.0.0.1"], *HOSTS])))
    names = ["*", "*", "ab", "ab", "abc", "a"]
    acls = st.builds(
        Acl,
        index=st.integers(0, 99),
        id=st.just("id"),
        resource_type=st.sampled_from([*[other_type] * 8, resource_type, GROUP]),
        resource_name=st.sampled_from([*names, "", "hard", "hardcode", "kafka-cluster"]),
        pattern_type=st.sampled_from([*[LITERAL, PREFIXED] * 6, ANY_PATTERN, 9]),
        principal=st.sampled_from([*["User:a"] * 7, "User:*", *PRINCIPALS]),
        host=hosts,
        operation=st.sampled_from(
            [*[CODES[other]] * 6, *(CODES[one] for one in (operation, "ALL", "READ"))]
        ),
        permission=st.sampled_from([*[ALLOW, DENY] * 4, 1]),
    )
    found = draw(st.lists(acls, min_size=1, max_size=5, unique_by=lambda acl: acl.index))
    name = "kafka-cluster" if resource_type == CLUSTER else "ab"
    known = draw(st.sampled_from([Rules(), Rules(allow_everyone=True)]))
    return Question(found, operation, name, known, resource_type)


def any_topic(all_acls: list[Acl], operation: str, who: str, host: str, known: Rules) -> bool:
    """Whether some topic's right is granted, as KIP-679 has it, one ACL after the other."""
    if oracle(all_acls, operation, "hardcode", who, host, known):
        return True
    denied: list[Acl] = []
    allowed: list[Acl] = []
    for acl in all_acls:
        if acl.resource_type != TOPIC or acl.principal not in (who, "User:*"):
            continue
        if acl.operation not in (CODES[operation], CODES["ALL"]) or not matches(acl.host, host):
            continue
        if acl.pattern_type not in (LITERAL, PREFIXED):
            continue
        if acl.permission == DENY:
            denied.append(acl)
        elif acl.permission == ALLOW:
            allowed.append(acl)
    everything = ("*", LITERAL)
    if everything in [(acl.resource_name, acl.pattern_type) for acl in denied]:
        return False
    for acl in allowed:
        if everything == (acl.resource_name, acl.pattern_type):
            return True
        if not any(
            other.resource_name == acl.resource_name and LITERAL == acl.pattern_type
            if other.pattern_type == LITERAL
            else other.resource_name != "" and acl.resource_name.startswith(other.resource_name)
            for other in denied
        ):
            return True
    return False


def oracle(
    all_acls: list[Acl],
    operation: str,
    name: str,
    who: str,
    host: str,
    known: Rules,
    resource_type: int = TOPIC,
) -> bool:
    """The rules as Kafka's documentation and KIPs have them, one ACL after the other."""
    if who in known.super_users:
        return True
    relevant = []
    for acl in all_acls:
        literal = acl.pattern_type == LITERAL
        named = acl.resource_name in (name, "*") if literal else name.startswith(acl.resource_name)
        if acl.resource_type == resource_type and named:
            relevant.append(acl)
    if not relevant:
        return known.allow_everyone
    allowed = False
    for acl in relevant:
        if acl.principal not in (who, "User:*") or not matches(acl.host, host):
            continue
        granted = {code: name for name, code in CODES.items()}[acl.operation]
        if acl.permission == ALLOW:
            implied = {
                **dict.fromkeys(("READ", "WRITE", "DELETE", "ALTER"), "DESCRIBE"),
                "ALTER_CONFIGS": "DESCRIBE_CONFIGS",
            }
            allowed |= granted in (operation, "ALL") or implied.get(granted) == operation
        elif granted in (operation, "ALL"):
            return False
    return allowed


def matches(pattern: str, host: str) -> bool:
    """Whether an ACL's host is that of a client, given as Java writes it."""
    if pattern in ("*", host):
        return True
    if pattern not in NETWORKS:
        return False
    return ip_address(host) in ip_network(pattern, strict=False)


def narrowest(decisions: list[AccessDecision], host: HostPattern) -> AccessDecision:
    """The row that holds for a host."""
    fitting = [decision for decision in decisions if decision.host.covers(host)]
    return max(fitting, key=lambda decision: decision.host.narrowness)


@settings(max_examples=examples(50))
@given(questions())
def test_decisions(question: Question) -> None:
    """Of every principal, from every host: asked for one host, and listed by host."""
    decides(question)


@settings(max_examples=examples(50))
@given(questions_of_two_rights())
def test_decisions_of_two_rights(question: Question) -> None:
    """The same, where brokers take another right too: one of the cluster, or on some topic."""
    decides(question)


def decides(question: Question) -> None:
    """Every answer is what is expected."""
    authorizer = question.authorizer

    for who in ["User:a", "User:b", "User:s", "User:stranger", "Group:a", "User:*"]:
        listed = list(authorizer.by_host(who))
        assert "*" == listed[0].host.text
        for text, typed in ADDRESSES.items():
            host = client_host(typed)
            assert host is not None
            assert text == host.text
            expected = question.expected(who, text)
            decision = authorizer.decide(who, host)
            assert expected == decision.is_allowed
            assert expected == narrowest(listed, host).is_allowed
            if decision.acl is not None:
                # What is said to decide would do so by itself.
                alone = replace(question, acls=[decision.acl], rules=Rules())
                assert expected == alone.expected(who, text)


@given(questions() | questions_of_two_rights())
def test_principals(question: Question) -> None:
    """Whoever has no row of its own is told what everyone else is."""
    authorizer = question.authorizer
    listed = authorizer.principals()

    assert "User:*" == listed[-1]
    assert "no type" not in listed
    for who in {"User:a", "User:b", "User:s", "Group:a"} - set(listed):
        for text in ADDRESSES:
            host = client_host(text)
            assert host is not None
            everyone = authorizer.decide("User:*", host)
            assert everyone.is_allowed == question.expected(who, text)


@example("::%0")
@example("::%.")
@given(st.text("0123456789abcdef.:/*%+- ", max_size=24))
def test_any_host(text: str) -> None:
    """Whatever stands in an ACL is a host, a network or nobody's."""
    pattern = parse_host_pattern(text)

    if pattern is not None and pattern.version:
        assert pattern.low <= pattern.high
        assert pattern.covers(pattern)
        if not pattern.is_network:
            again = client_host(text)
            assert again is not None
            assert text == again.text
