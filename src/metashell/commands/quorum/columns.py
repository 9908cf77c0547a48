"""The columns of ``quorum``: its nodes, the quorum, and leader epochs."""

from __future__ import annotations

from typing import Final

from metashell.commands.rows.columns import AnswerTable, Shrink, integer, text, texts, time_at

STATUS: Final = "--status"

EPOCHS: Final = "--epochs"

TABLES: Final = (
    AnswerTable(
        "",
        (
            integer("id", "The node's id.", priority=9),
            text(
                "directory_id",
                "Id of its metadata log directory; null: the log does not say.",
                priority=1,
            ),
            integer("log_epoch", "The last leader epoch of its log, if known.", shown=False),
            integer(
                "log_end_offset",
                "The offset after its last record; null: only a live quorum tells.",
                priority=5,
            ),
            integer(
                "lag", "Offsets behind the leader; null: only a live quorum tells.", priority=7
            ),
            time_at(
                "last_fetch_time", "Time of its last fetch, by the leader's clock.", shown=False
            ),
            integer(
                "last_fetch_age_ms",
                "How long ago that was, in ms; null: only a live quorum tells.",
                priority=6,
            ),
            time_at(
                "last_caught_up_time",
                "When it was last caught up, by the leader's clock.",
                shown=False,
            ),
            integer(
                "last_caught_up_age_ms",
                "How long ago that was, in ms; null: only a live quorum tells.",
                priority=7,
            ),
            text("status", "Leader, Follower, Observer; or Voter: no leader known.", priority=9),
            texts(
                "endpoints",
                "Its listeners: LISTENER://HOST:PORT.",
                priority=4,
                shrink=Shrink.WRAP,
            ),
            text("only_in", "log or leader, if only that knows the voter.", shown=False),
        ),
    ),
    AnswerTable(
        STATUS,
        (
            text("cluster_id", "The cluster's id."),
            integer("leader", "The leader; null for none."),
            integer("epoch", "The leader epoch: the newest that the log or quorum-state has."),
            integer("log_epoch", "The last leader epoch of the log. A vote compares it first."),
            integer("log_end_offset", "The offset behind the log. A vote compares it second."),
            integer("high_watermark", "Offsets below it are committed."),
            integer("max_follower_lag", "Lag of the slowest voter, in offsets."),
            integer(
                "max_follower_lag_ms", "How long before the leader it was last caught up, in ms."
            ),
            integer("kraft_version", "The level of kraft.version."),
            text("origin", "The source: DescribeQuorum or log."),
            time_at("time", "The time of this state."),
        ),
    ),
    AnswerTable(
        EPOCHS,
        (
            integer("epoch", "The leader epoch."),
            integer("start_offset", "The first offset written in it."),
            integer("leader", "The leader; null: no record says."),
            time_at("time", "The time of the leader change record; null: it is not there."),
        ),
    ),
)
