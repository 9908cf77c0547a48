"""``tokens``: delegation tokens."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from metashell.commands.options import refuse_more
from metashell.commands.rows import HISTORY, Asked, Column, RowsCommand, rows_manual

if TYPE_CHECKING:
    import pyarrow as pa

COLUMNS: Final = (
    Column("token_id", "The token's id."),
    Column("owner", "Whose it is."),
    Column("requester", "Who asked for it.", shown=False),
    Column("renewers", "Who else may renew it."),
    Column("issue_time", "When it was issued."),
    Column("expiry_time", "When it expires unless it is renewed."),
    Column("max_time", "Until when it can be renewed.", shown=False),
    Column("expired", "Whether it has expired at the last record; null: [redacted]."),
    Column(
        "created_offset",
        "Offset of the record that made it; null: the newest checkpoint or older.",
        shown=False,
    ),
    Column("created_time", "Time of that record.", shown=False),
    Column("changed_offset", "Offset of the last record about it.", shown=False),
    Column("changed_time", "Time of that record.", shown=False),
)


class Tokens(RowsCommand):
    """List delegation tokens."""

    name = "tokens"
    summary = "List delegation tokens."
    columns = COLUMNS
    manual = rows_manual(
        synopsis="tokens [OPTION...]",
        description=(
            "Lists the delegation tokens. Their ids are shown; their owners, requesters, renewers "
            "and times are secret, and only shown where metashell was started with "
            "--show-secrets. A token's password is not in the metadata."
        ),
        columns=COLUMNS,
        options=(HISTORY,),
        examples=(
            ("tokens", "all of them"),
            ("tokens --count", "how many there are"),
        ),
    )

    def answer(self, asked: Asked) -> pa.Table:
        """The tokens."""
        from metashell.answers.users import tokens_table

        refuse_more(self, asked.parsed.arguments)
        return tokens_table(asked.image, asked.source.redaction)


COMMAND = Tokens()
