"""``tokens``: delegation tokens."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from metashell.commands.framework.command import Manual
from metashell.commands.framework.options import refuse_more
from metashell.commands.rows.columns import flag, integer, one_table, text, texts, time_at
from metashell.commands.rows.command import RowsCommand
from metashell.commands.rows.query import HISTORY, RowsQuery

if TYPE_CHECKING:
    pass

COLUMNS: Final = (
    text("token_id", "The token's id."),
    text("owner", "Whose it is."),
    text("requester", "Who asked for it.", shown=False),
    texts("renewers", "Who else may renew it."),
    text("issue_time", "When it was issued."),
    text("expiry_time", "When it expires unless it is renewed."),
    text("max_time", "Until when it can be renewed.", shown=False),
    flag(
        "expired",
        "Whether it has expired at the last record, on a live quorum by now; null: no record has "
        "a time.",
    ),
    integer(
        "created_offset",
        "Offset of the record that made it; null: the newest checkpoint or older.",
        shown=False,
    ),
    time_at("created_time", "Time of that record.", shown=False),
    integer("changed_offset", "Offset of the last record about it.", shown=False),
    time_at("changed_time", "Time of that record.", shown=False),
)


class TokensCommand(RowsCommand):
    """List delegation tokens."""

    group = "access"
    name = "tokens"
    summary = "List delegation tokens."
    noun = ("token", "tokens")
    tables = one_table(*COLUMNS)
    takes_paths = False
    of_each_cluster = True
    manual = Manual(
        synopsis="tokens [OPTION...]",
        description=(
            "Lists the delegation tokens: whose they are, who may renew them and until when. A "
            "token's password, its HMAC, is not in the metadata."
        ),
        options=(HISTORY,),
        examples=(
            ("tokens", "all of them"),
            ("tokens --count", "how many there are"),
        ),
    )

    def answer(self, query: RowsQuery) -> None:
        """The tokens."""
        from metashell.answers.users import tokens_table

        refuse_more(self, query.parsed.arguments)
        query.add(tokens_table(query.image, query.now_ms))


COMMAND = TokensCommand()
