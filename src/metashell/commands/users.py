"""``users``: users with SCRAM credentials."""

from __future__ import annotations

from typing import Final

from metashell.commands.framework.command import Manual
from metashell.commands.framework.options import Option
from metashell.commands.rows.columns import (
    flag,
    integer,
    integers,
    of_record,
    one_table,
    text,
    texts,
)
from metashell.commands.rows.command import RowsCommand
from metashell.commands.rows.query import HISTORY, RowsQuery
from metashell.commands.shared.names import rows_named

COLUMNS: Final = (
    text("user", "The user's name.", priority=9),
    texts("mechanisms", "SCRAM mechanisms of its credentials."),
    integers("iterations", "Iterations of each mechanism, in the same order."),
    texts("removed", "SCRAM mechanisms of its removed credentials, as far as records tell."),
    flag("quotas", "Whether a quota names the user."),
    integer("acls", "How many ACLs name this principal."),
    *of_record("created", "made its oldest credential"),
    *of_record("changed", "last changed a credential", shown=True),
    *of_record("removed", "last removed a credential"),
)
_REMOVED: Final = Option(
    ("--removed",), "List users with a removed credential, also users without any credential left."
)


class UsersCommand(RowsCommand):
    """List users with SCRAM credentials.

    Lists users with SCRAM credentials: mechanisms, iterations, and which credentials were
    removed. Never shows salts and keys. `changed_time` is the last change, also where that
    removed a credential.

    The metadata does not know users by certificate, Kerberos, token or password file. A removal
    is known while the directory holds its record; `--history` reads the older files.
    """

    group = "access"
    noun = ("user", "users")
    tables = one_table(*COLUMNS)
    of_each_cluster = True
    manual = Manual(
        synopsis="users [OPTION...] [USER...]",
        options=(_REMOVED, HISTORY),
        examples=(
            ("users", "all of them"),
            ("users analytics 'order*'", "some of them, by name"),
            ("users --sort -changed_offset", "who changed last"),
            ("users --removed", "who lost a credential"),
            ("users --columns user -o csv", "their names"),
        ),
    )

    def answer(self, query: RowsQuery) -> None:
        """The users."""
        from metashell.answers.users import users_table

        table = users_table(query.image, removed="--removed" in query.parsed.switches)
        query.add(rows_named(query, table, "user", "user with a SCRAM credential", plain=_name_of))


def _name_of(word: str) -> str:
    """A user's name, also where it was typed as a principal or with its kind."""
    kind, colon, name = word.partition(":")
    return name if colon and kind in ("User", "user") else word


COMMAND = UsersCommand()
