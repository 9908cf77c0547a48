"""``tokens``: delegation tokens."""

from __future__ import annotations

from typing import Final

from metashell.commands.framework.command import Manual
from metashell.commands.framework.options import refuse_more
from metashell.commands.rows.columns import (
    flag,
    of_record,
    one_table,
    text,
    texts,
    time_at,
)
from metashell.commands.rows.command import RowsCommand
from metashell.commands.rows.query import HISTORY, RowsQuery

COLUMNS: Final = (
    text("token_id", "The token's id.", priority=5),
    text("owner", "The principal that it stands for.", priority=9),
    text("requester", "The principal that requested it.", shown=False),
    texts("renewers", "Principals that may also renew it.", priority=3),
    time_at("issue_time", "When the token was issued.", priority=4),
    time_at("expiry_time", "When it expires, unless somebody renews it.", priority=8),
    time_at("max_time", "Until when it can be renewed at most.", shown=False),
    flag(
        "expired",
        "Whether it has expired at the last record; on a live quorum, now. Null: no record has a "
        "time, or the log is a redacted copy.",
        priority=8,
    ),
    *of_record("created", "made it"),
    *of_record("changed", "last changed it"),
)


class TokensCommand(RowsCommand):
    """List delegation tokens.

    Lists delegation tokens: owner, renewers, expiry. A token's HMAC, its password, is not in
    the metadata.
    """

    group = "access"
    noun = ("token", "tokens")
    tables = one_table(*COLUMNS)
    of_each_cluster = True
    manual = Manual(
        synopsis="tokens [OPTION...]",
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
