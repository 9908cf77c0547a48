"""``quotas``: client quotas as they are set, and what a client gets of them."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from typing import TYPE_CHECKING, Final

from metashell.commands.framework.cluster import opened_sources
from metashell.commands.framework.command import Completion, Context, Manual
from metashell.commands.framework.completion import complete_names
from metashell.commands.framework.options import Option, Parsed
from metashell.commands.rows.columns import (
    AnswerTable,
    Column,
    flag,
    number,
    of_record,
    text,
    texts,
)
from metashell.commands.rows.command import RowsCommand
from metashell.commands.rows.query import HISTORY, RowsQuery
from metashell.commands.shared.resources import the_one

if TYPE_CHECKING:
    from metashell.image.image import Image

_OF_CLIENTS: Final = ("--user", "--client-id")
_KINDS: Final = {"--user": "user", "--client-id": "client-id", "--ip": "ip"}

_CHANGED: Final = of_record("changed", "last set it")
COLUMNS: Final = (
    text("entity", "Whose quota it is, such as user=alice, client-id=<default>."),
    text(
        "user", "The entity's user; <default> for the default; null: not part of it.", shown=False
    ),
    text("client_id", "The entity's client id, likewise.", shown=False),
    text("ip", "The entity's address or host name, likewise.", shown=False),
    texts("defaults", "The parts of the entity that are the default.", shown=False),
    text("key", "The quota's key."),
    number("value", "Its value."),
    flag(
        "ignored", "Whether brokers take no notice: the key is none of the entity's.", shown=False
    ),
    *of_record("created", "first set it"),
    *_CHANGED,
)
EFFECTIVE_COLUMNS: Final = (
    text("key", "The quota's key."),
    number("value", "What counts; null: unlimited."),
    text("entity", "Whose quota that is; null: none is set."),
    texts("overrides", "Quotas that would count if that one were not set, in order."),
    *_CHANGED,
)


def _proposing(kind: str) -> Callable[[Context, str], list[Completion]]:
    """Propose the users, client ids or addresses that quotas name."""

    def complete(context: Context, word: str) -> list[Completion]:
        from metashell.answers.quotas import read_quotas

        quotas = (q for source in opened_sources(context) for q in read_quotas(source.image))
        return complete_names(word, sorted({q.entity.get(kind) or "" for q in quotas} - {""}))

    return complete


class QuotasCommand(RowsCommand):
    """List client quotas, and what a user, client id or address gets of them.

    Lists every quota. With user:NAME, client-id:NAME or ip:ADDRESS it tells what such a client
    gets: the value of each key, and which quota sets it. The options --user, --client- id and
    --ip mean the same. A bare name stands for the one entity that has it.

    The most specific quota counts. Quotas of a user go before quotas of the default user, and
    those before quotas of a client id alone. Within each of them the client id goes first, then
    the default client id, then none. The column overrides has the quotas that do not count.

    A client without an id (--client-id '') only gets quotas of its user.
    connection_creation_rate is that of the address, else the default. A name without a quota
    gets the defaults. A user is the name of a principal without its type. Host names are not
    looked up; only brokers can do that. A broker with client.quota.callback.class may decide
    otherwise.
    """

    group = "access"
    noun = ("quota", "quotas")
    tables = (
        AnswerTable("", COLUMNS),
        AnswerTable("--user, --client-id, --ip, --effective", EFFECTIVE_COLUMNS),
    )
    of_each_cluster = True
    manual = Manual(
        synopsis="quotas [OPTION...] [user:NAME] [client-id:NAME] [ip:ADDRESS]",
        options=(
            Option(("--user",), "What that user gets.", "NAME", complete=_proposing("user")),
            Option(
                ("--client-id",),
                "What a client of that id gets.",
                "NAME",
                complete=_proposing("client-id"),
            ),
            Option(
                ("--ip",),
                "What connections from that address get.",
                "ADDRESS",
                complete=_proposing("ip"),
            ),
            Option(("--effective",), "What a client gets that no quota names."),
            HISTORY,
        ),
        examples=(
            ("quotas", "all that are set"),
            ("quotas user:analytics", "what a user gets, and from where"),
            (
                "quotas --user storefront --client-id storefront-1",
                "what one client of the user gets",
            ),
            ("quotas --ip 127.0.0.2", "how many connections an address may open in a second"),
            ("quotas --effective -o json", "what is left for those that nothing names"),
        ),
    )

    def columns_of(self, parsed: Parsed) -> tuple[Column, ...]:
        """Others where it is asked what a client gets."""
        return EFFECTIVE_COLUMNS if _is_effective(parsed) else COLUMNS

    def answer(self, query: RowsQuery) -> None:
        """All quotas, or those of a client."""
        from metashell.answers.quotas import (
            CLIENT_KEYS,
            IP_KEYS,
            Client,
            effective_table,
            quotas_table,
        )

        parsed = _with_names(query)
        values = parsed.values
        if not _is_effective(parsed):
            query.add(quotas_table(query.image))
            return
        keys: list[str] = []
        if "--ip" not in values or any(flag in values for flag in _OF_CLIENTS):
            keys += CLIENT_KEYS
        if "--ip" in values or not any(flag in values for flag in _OF_CLIENTS):
            keys += IP_KEYS
        kind, colon, name = (values.get("--user") or "").partition(":")
        if colon and kind == "User":
            query.warn(f"--user User:{name}: quotas name users without their type; try {name}")
        client = Client(values.get("--user"), values.get("--client-id"), values.get("--ip"))
        query.add(effective_table(query.image, client, keys))


def _is_effective(parsed: Parsed) -> bool:
    options = {"--effective", *_KINDS} & {*parsed.switches, *parsed.values}
    return bool(options or parsed.arguments)


def _with_names(query: RowsQuery) -> Parsed:
    """The words with options in place of the arguments, such as ``user:bob``.

    Raises:
        UsageError: A word means several things, or there are two of one kind.
        MetashellError: A word names nothing.
    """
    parsed = deepcopy(query.parsed)
    for word in parsed.arguments:
        kind, sign, name = _split(word)
        if not sign:
            kind, _, name = _split(_bare(query.image, word))
        parsed.name(word, next(flag for flag, one in _KINDS.items() if one == kind), name)
    return parsed


def _split(word: str) -> tuple[str, str, str]:
    """Kind, sign and name of ``user:bob`` or ``user=bob``; no sign where there is no kind."""
    for sign in ":=":
        kind, found, name = word.partition(sign)
        kind = kind.lower().replace("_", "-")
        if found and kind in _KINDS.values():
            return kind, sign, name
    return "", "", word


def _bare(image: Image, word: str) -> str:
    """The entity that a bare name means: a known user, client id or address."""
    from metashell.answers.quotas import read_quotas

    entities = [quota.entity for quota in read_quotas(image)]
    known = {f"{kind}:{name}" for entity in entities for kind, name in entity.items() if name}
    known |= {f"user:{name}" for name in image.part("scram").columns.span("name").texts()}
    found = sorted(name for name in known if name.partition(":")[2] == word)
    names = sorted({name.partition(":")[2] for name in known})
    return the_one(word, found, names, "user:bob, client-id:app or ip:10.0.0.1")


COMMAND = QuotasCommand()
