"""``users``: users with SCRAM credentials."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from metashell.commands.options import refuse_more
from metashell.commands.rows import HISTORY, Asked, Column, RowsCommand, rows_manual

if TYPE_CHECKING:
    import pyarrow as pa

COLUMNS: Final = (
    Column("user", "The user's name."),
    Column("mechanisms", "SCRAM mechanisms that it has credentials for."),
    Column("iterations", "Iterations of each, in the same order."),
    Column("quotas", "Whether a quota names the user."),
    Column("acls", "How many ACLs name User: and the user's name."),
    Column(
        "created_offset",
        "Offset of the record that made its first credential that there is; null: the newest "
        "checkpoint or older.",
        shown=False,
    ),
    Column("created_time", "Time of that record.", shown=False),
    Column("changed_offset", "Offset of the last record about its credentials.", shown=False),
    Column("changed_time", "Time of that record."),
)


class Users(RowsCommand):
    """List users with SCRAM credentials."""

    name = "users"
    summary = "List users with SCRAM credentials."
    columns = COLUMNS
    manual = rows_manual(
        synopsis="users [OPTION...]",
        description=(
            "Lists the users that have SCRAM credentials, with their mechanisms and iterations; "
            "salts and keys are never shown. Users that are known by a certificate, Kerberos, a "
            "token or a file of a node are not in the metadata."
        ),
        columns=COLUMNS,
        options=(HISTORY,),
        examples=(
            ("users", "all of them"),
            ("users --sort -changed_offset", "who changed last"),
            ("users --columns user -o csv", "their names"),
        ),
    )

    def answer(self, asked: Asked) -> pa.Table:
        """The users."""
        from metashell.answers.users import users_table

        refuse_more(self, asked.parsed.arguments)
        return users_table(asked.image)


COMMAND = Users()
