"""``who-can``: whom Kafka's authorizer lets do something, from where, and by which ACL."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from metashell.answers.hosts import HostPattern, client_host
from metashell.answers.other_rights import NO_RIGHT, How, Right, other_rights
from metashell.commands.framework.command import Completion, Context, Manual
from metashell.commands.framework.options import Option, Parsed, refuse_more
from metashell.commands.rows.columns import integer, of_record, one_table, sentence, text
from metashell.commands.rows.command import RowsCommand
from metashell.commands.rows.query import HISTORY, RowsQuery
from metashell.commands.shared.acl_arguments import (
    TYPES,
    AclResource,
    complete_operation,
    complete_principal,
    complete_resource,
    parse_operation,
    parse_principal,
    parse_resource,
    resource_word,
)
from metashell.commands.shared.assume_option import ASSUME, assumptions_of
from metashell.errors import ExitCode, UsageError
from metashell.fs.escape import escape
from metashell.image.acl_names import OPERATIONS
from metashell.image.features import METADATA_VERSIONS

if TYPE_CHECKING:
    from metashell.answers.acls import Acl
    from metashell.answers.assume import Assumptions
    from metashell.answers.authorize import Authorizer

_AUTHORIZER: Final = "authorizer.class.name"
_STANDARD: Final = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"
_FIRST_WITH_NETWORKS: Final = "4.4-IV1"
"""metadata.version from which on ACLs of networks can be made (KIP-1276)."""

COLUMNS: Final = (
    text("principal", "The principal; User:* is everyone without a row of their own.", priority=9),
    text("host", "The host; * is every host without a row of its own.", priority=3),
    text("result", "ALLOWED or DENIED.", priority=9),
    sentence("why", "The ACL that decides, in short, or another reason.", priority=8),
    integer("acls", "The number of ACLs that would decide the same.", shown=False),
    text("acl_id", "Id of the ACL that decides.", shown=False),
    text("acl_resource_type", "Its resource's type.", shown=False),
    text("acl_resource_name", "Its resource's name or prefix.", shown=False),
    text("acl_pattern_type", "LITERAL or PREFIXED.", shown=False),
    text("acl_principal", "Its principal.", shown=False),
    text("acl_host", "Its host.", shown=False),
    text("acl_operation", "Its operation.", shown=False),
    text("acl_permission", "ALLOW or DENY.", shown=False),
    *of_record("created", "made it"),
)


class WhoCanCommand(RowsCommand):
    """Tell who may do something with a resource, from where, and why.

    Decides as Kafka's StandardAuthorizer does. ACLs of the resource's name, of a prefix of it,
    and of * count. A DENY wins over every ALLOW. An ALLOW of READ, WRITE, DELETE or ALTER also
    allows DESCRIBE. An ALLOW of ALTER_CONFIGS also allows DESCRIBE_CONFIGS. A DENY only denies
    its own operation.

    There is a row for each principal that such an ACL names, and one for everyone else. If the
    host matters there are several rows for a principal; the narrowest host counts. A bare name
    stands for the one resource that has it.

    Some brokers' requests also accept another right, and that is part of the decision. CREATE
    of the cluster allows CREATE of any topic, and DELETE of the cluster allows DeleteTopics of
    any topic. WRITE of any topic is enough for IDEMPOTENT_WRITE. Notes on stderr name requests
    that ask for another right.

    ACLs of networks count as in brokers of Kafka 4.4. Older brokers never match them.

    super.users and allow.everyone.if.no.acl.found are not in the metadata; --assume FILE reads
    them. Groups and roles of a custom principal builder or authorizer are not known. They are
    treated like any other principal.

    Exit status: 0 if someone is allowed, 1 if nobody is. With --principal it is 0 if that
    principal is allowed; without --host, from hosts that no ACL names.
    """

    group = "access"
    tables = one_table(*COLUMNS)
    of_each_cluster = True
    manual = Manual(
        synopsis="who-can OPERATION RESOURCE [--principal NAME] [--host ADDRESS] [OPTION...]",
        options=(
            Option(
                ("--principal",),
                "Only this principal: User:alice, or alice.",
                "NAME",
                complete=complete_principal,
            ),
            Option(("--host",), "Only from this address.", "ADDRESS"),
            ASSUME,
            HISTORY,
        ),
        examples=(
            ("who-can READ topic:orders", "who may read a topic"),
            ("who-can write topic:orders --host 10.0.0.1", "who may write to it, from one host"),
            (
                "who-can READ topic:payments --principal User:analytics -o json",
                "whether one user may, and by which ACL",
            ),
            ("who-can ALTER_CONFIGS cluster", "who may change the cluster's configuration"),
        ),
    )

    def run_parsed(self, context: Context, parsed: Parsed) -> int:
        """Answer, and tell what the answer lacks after it."""
        words = parsed.arguments
        if len(words) == 2 and context.source is not None:
            words[1] = resource_word(context.source.image, words[1])
        self._question(parsed)
        assumptions = assumptions_of(parsed)
        status = super().run_parsed(context, parsed)
        for remark in _remarks(parsed, assumptions):
            context.warn(escape(f"{self.name}: {remark}"))
        return status

    def answer(self, query: RowsQuery) -> None:
        """A row for each principal and host."""
        from metashell.answers.acls import read_acls
        from metashell.answers.authorize import (
            Authorizer,
            Rules,
            decisions_table,
            everyone_by_host,
        )

        operation, resource = self._question(query.parsed)
        assert resource.name is not None
        rules = Rules.of(assumptions_of(query.parsed))
        authorizer = Authorizer(
            read_acls(query.image), operation, resource.type_code, resource.name, rules
        )
        principal, host = query.parsed.values.get("--principal"), _host(query.parsed)
        principals = authorizer.principals() if principal is None else [parse_principal(principal)]
        if host is None:
            decisions = everyone_by_host(authorizer, principals)
        else:
            decisions = [authorizer.decide(one, host) for one in principals]
        counted = decisions if principal is None else decisions[:1]
        if not any(decision.is_allowed for decision in counted):
            query.status = ExitCode.FAILED
        _tell(query, authorizer)
        query.add(decisions_table(query.image, decisions))

    def _question(self, parsed: Parsed) -> tuple[int, AclResource]:
        arguments = parsed.arguments
        if len(arguments) < 2:
            raise UsageError(
                "OPERATION and RESOURCE are needed", hint=f"usage: {self.manual.synopsis}"
            )
        refuse_more(self, arguments, 2)
        return parse_operation(arguments[0]), parse_resource(arguments[1])

    def propose(self, context: Context, args: Sequence[str], word: str) -> list[Completion]:
        """Propose an operation, then a resource that it can be asked of."""
        given = self.parse(args).arguments
        if not given:
            return complete_operation(word)
        return complete_resource(context, word) if len(given) == 1 else []


def _host(parsed: Parsed) -> HostPattern | None:
    text = parsed.values.get("--host")
    if text is None:
        return None
    host = client_host(text)
    if host is None:
        raise UsageError(
            f"--host {text}: not an address", hint="Kafka knows clients by their IP addresses"
        )
    return host


def _tell(query: RowsQuery, authorizer: Authorizer) -> None:
    """Report ACLs that do not do what they seem to."""

    def first(acls: list[Acl]) -> str:
        more = f" and {len(acls) - 1} more" if len(acls) > 1 else ""
        return f"ACL {acls[0].id}{more}"

    for remark in authorizer.remarks:
        query.warn(remark)
    if acls := authorizer.malformed:
        query.warn(
            f"{first(acls)}: the principal {acls[0].principal!r} has no type; Kafka's authorizer"
            " fails where it meets that"
        )
    if acls := authorizer.hostless:
        query.warn(f"{first(acls)}: no client has the host {acls[0].host!r}, so it never counts")
    if (acls := authorizer.networks) and _may_have_older_brokers(query):
        query.warn(
            f"{first(acls)}: brokers before 4.4 never match a network such as {acls[0].host}"
        )


def _may_have_older_brokers(query: RowsQuery) -> bool:
    levels = {name: level for level, name in METADATA_VERSIONS.items()}
    return (query.image.metadata_version or 0) < levels[_FIRST_WITH_NETWORKS]


def _remarks(parsed: Parsed, assumptions: Assumptions) -> list[str]:
    """Remarks on an answer to these words."""
    operation, resource = parse_operation(parsed.arguments[0]), parse_resource(parsed.arguments[1])
    name, found = OPERATIONS[operation], []
    right = Right(name, resource.type_name)
    found += [
        one.text
        for one in other_rights(right)
        if one.said_where is None and one.how is not How.DECIDES
    ]
    if remark := NO_RIGHT.get(right):
        found.append(remark)
    if not right.is_asked:
        fitting = [kind for kind in TYPES if Right(name, kind).is_asked]
        found.append(
            f"brokers never ask for {name} of a {resource.type_name}, only of"
            f" {' and '.join(fitting)}"
        )
    if assumptions.path is None:
        found.append(
            "super.users and allow.everyone.if.no.acl.found are not in the metadata; they count"
            " with --assume FILE"
        )
    elif (authorizer := (assumptions.get(_AUTHORIZER) or "").strip()) != _STANDARD:
        found.append(
            f"{assumptions.path}: {_AUTHORIZER} is {authorizer}, which may decide otherwise"
            if authorizer
            else f"{assumptions.path}: {_AUTHORIZER} is not set: then everyone may do everything"
        )
    return found


COMMAND = WhoCanCommand()
