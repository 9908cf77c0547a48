"""``acls``: who may and may not, by principal or by resource."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from typing import TYPE_CHECKING, Final

from metashell.commands.framework.command import Manual
from metashell.commands.framework.options import Option, Parsed, one_of
from metashell.commands.rows.columns import Column, of_record, one_table, text
from metashell.commands.rows.command import RowsCommand
from metashell.commands.rows.query import HISTORY, RowsQuery
from metashell.commands.shared.acl_arguments import (
    ASKABLE,
    TYPE_WORDS,
    complete_operation,
    complete_principal,
    complete_resource,
    parse_operation,
    parse_permission,
    parse_principal,
    parse_resource,
    resource_word,
)
from metashell.commands.shared.names import and_meant
from metashell.commands.shared.resources import acl_resources, principals_named, the_one
from metashell.errors import MetashellError, UsageError
from metashell.spelling import near_names

if TYPE_CHECKING:
    from metashell.answers.acls import Acl
    from metashell.image.image import Image

_ORDERS: Final = ("resource", "principal")
_OPERATIONS: Final = ("ALL", *ASKABLE)

COLUMNS: Final = (
    text("resource", "Type and name of the resource, TYPE:NAME.", priority=9),
    text("resource_type", "Kafka's name of the type, UNKNOWN(N) for other codes.", shown=False),
    text("resource_name", "The name, the prefix of many, or * for all.", shown=False),
    text("pattern_type", "LITERAL or PREFIXED.", priority=8),
    text("principal", "The principal; User:* is everyone.", priority=9),
    text("host", "The host: * for any, an address, or a network (KIP-1276).", priority=8),
    text("operation", "The operation; ALL is every operation.", priority=8),
    text("permission", "ALLOW or DENY.", priority=8),
    text("id", "The ACL's id, its name below /image/acls/byId.", shown=False),
    *of_record("created", "made it"),
)


class AclsCommand(RowsCommand):
    """List ACLs by resource or by principal.

    Lists ACLs. Several conditions must all hold. A RESOURCE such as topic:orders lists the ACLs
    that count for it. These name it, a prefix of its name, or all resources of its type.
    Kafka's own tool calls this the pattern type MATCH. --exact lists only the ACLs of that
    name. A PRINCIPAL such as User:alice lists the ACLs that name it. A bare name stands for the
    one resource or principal that has it.

    `who-can` decides who may do something: a DENY wins over every ALLOW, and some operations
    imply others. A checkpoint has no times: --history reads the files before it.
    """

    group = "access"
    noun = ("ACL", "ACLs")
    tables = one_table(*COLUMNS)
    of_each_cluster = True
    manual = Manual(
        synopsis="acls [OPTION...] [RESOURCE] [PRINCIPAL]",
        options=(
            Option(
                ("--principal",),
                "Only ACLs of this principal: User:alice, or alice.",
                "NAME",
                complete=complete_principal,
            ),
            Option(
                ("--resource",),
                "Only ACLs that count for a resource (topic:payments) or a type (topic).",
                "TYPE[:NAME]",
                complete=complete_resource,
            ),
            Option(("--exact",), "With a resource: only ACLs with exactly its name."),
            Option(
                ("--operation",),
                "Only ACLs of this operation.",
                "NAME",
                _OPERATIONS,
                complete=lambda _, word: complete_operation(word, _OPERATIONS),
            ),
            Option(("--host",), "Only ACLs with exactly this host, address or network.", "HOST"),
            Option(("--type",), "Only ACLs that allow, or that deny.", "TYPE", ("ALLOW", "DENY")),
            Option(("--by",), "Sort by resource (the default) or principal.", "BY", _ORDERS),
            HISTORY,
        ),
        examples=(
            ("acls", "all of them, by resource"),
            ("acls --by principal", "all of them, by principal"),
            ("acls topic:orders", "the ACLs that count for one topic"),
            ("acls User:billing", "the ACLs of one user"),
            ("acls --principal User:billing --type ALLOW", "what one user was granted"),
            ("acls --type DENY -o json", "everything that is denied, for a script"),
        ),
    )

    def columns_of(self, parsed: Parsed) -> tuple[Column, ...]:
        """The principal first where it leads the order."""
        if _order(parsed) == "resource":
            return COLUMNS
        first = next(column for column in COLUMNS if column.name == "principal")
        return (first, *(column for column in COLUMNS if column is not first))

    def answer(self, query: RowsQuery) -> None:
        """The ACLs that are asked for."""
        from metashell.answers.acls import acls_table

        parsed = _with_names(query)
        chosen = _chosen(parsed)
        by = _order(query.parsed)
        query.add(acls_table(query.image, lambda acl: all(test(acl) for test in chosen), by=by))


def _with_names(query: RowsQuery) -> Parsed:
    """The words with options in place of the arguments: a resource, a principal or both.

    Raises:
        UsageError: A word means several things, or there are two of one kind.
        MetashellError: A word names nothing.
    """
    parsed = deepcopy(query.parsed)
    if "--resource" in parsed.values:
        parsed.values["--resource"] = resource_word(query.image, parsed.values["--resource"])
    for word in parsed.arguments:
        parsed.name(word, *_named(query.image, word))
    return parsed


def _named(image: Image, word: str) -> tuple[str, str]:
    """The option that a word stands for, and its value."""
    principals = principals_named(image, word)
    kind, colon, name = word.partition(":")
    if principals and colon:
        return "--principal", principals[0]
    if not colon and word.casefold() not in TYPE_WORDS:
        known = _names(image)
        found = [*acl_resources(image, word), *principals]
        word = the_one(word, found, known, "topic:orders or User:alice")
        return ("--principal" if word in principals else "--resource"), word
    if kind == "User":
        near = near_names(word, _names(image))
        raise MetashellError(and_meant(f"{word}: no ACL names this principal", near))
    resource = parse_resource(word, needs_name=False)
    is_topic = resource.type_name == "TOPIC" and name
    if is_topic and f"topic:{name}" not in acl_resources(image, name):
        near = [f"topic:{one}" for one in near_names(name, image.topics.names)]
        raise MetashellError(and_meant(f"{word}: no such topic, and no ACL has this name", near))
    return "--resource", word


def _names(image: Image) -> list[str]:
    """Topics, and the principals and resources that ACLs name."""
    columns = image.part("acls").columns
    named = {*columns.span("principal").texts(), *columns.span("resource_name").texts()}
    return [*image.topics.names, *sorted(named)]


def _order(parsed: Parsed) -> str:
    return one_of("--by", parsed.values.get("--by", "resource"), _ORDERS)


def _chosen(parsed: Parsed) -> list[Callable[[Acl], bool]]:
    """The tests that an ACL must pass, one for each option given."""
    values = parsed.values
    tests: list[Callable[[Acl], bool]] = []
    if (principal := values.get("--principal")) is not None:
        # A principal without a type is in no sound ACL, and is listed where there is one.
        tests.append(lambda acl: acl.principal in (principal, parse_principal(principal)))
    if (host := values.get("--host")) is not None:
        tests.append(lambda acl: acl.host == host)
    if (word := values.get("--operation")) is not None:
        operation = parse_operation(word, of=_OPERATIONS)
        tests.append(lambda acl: acl.operation == operation)
    if (word := values.get("--type")) is not None:
        permission = parse_permission(word)
        tests.append(lambda acl: acl.permission == permission)
    if "--exact" in parsed.switches and ":" not in values.get("--resource", ""):
        raise UsageError(
            "--exact needs a resource with a name", hint="such as --resource topic:orders"
        )
    if (word := values.get("--resource")) is not None:
        resource = parse_resource(word, needs_name=False)
        kind, name = resource.type_code, resource.name
        if name is None:
            tests.append(lambda acl: acl.resource_type == kind)
        elif "--exact" in parsed.switches:
            tests.append(lambda acl: (acl.resource_type, acl.resource_name) == (kind, name))
        else:
            tests.append(lambda acl: acl.is_about(kind, name))
    return tests


COMMAND = AclsCommand()
