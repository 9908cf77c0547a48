"""The columns of ``quorum``: nodes, the quorum as a whole, leader epochs."""

from __future__ import annotations

from typing import Final

from metashell.commands.rows.columns import AnswerTable, integer, text, texts, time_at

STATUS: Final = "--status"
EPOCHS: Final = "--epochs"

TABLES: Final = (
    AnswerTable(
        "",
        (
            integer("id", "The node's id."),
            text("directory_id", "Id of its metadata log directory."),
            integer("log_end_offset", "The next offset that it would write."),
            integer("lag", "Offsets behind the leader."),
            time_at("last_fetch_time", "When it last fetched, by the leader's clock.", shown=False),
            integer("last_fetch_age_ms", "How long ago that was."),
            time_at("last_caught_up_time", "When it last had all, likewise.", shown=False),
            integer("last_caught_up_age_ms", "How long ago that was."),
            text("status", "Leader, Follower, Observer, or Voter where nothing tells who leads."),
            texts("endpoints", "Where it listens: LISTENER://HOST:PORT."),
            text("only_in", "Who alone knows of that voter, the log or the leader.", shown=False),
        ),
    ),
    AnswerTable(
        STATUS,
        (
            text("cluster_id", "The cluster's id."),
            integer("leader", "The node that leads; null for none."),
            integer("epoch", "The leader epoch."),
            integer("high_watermark", "Offsets below it are committed."),
            integer("max_follower_lag", "Offsets that the slowest voter is behind."),
            integer("max_follower_lag_ms", "How long before the leader it was last caught up."),
            integer("kraft_version", "The level of kraft.version."),
            text("origin", "Where all that comes from: DescribeQuorum or log."),
            time_at("time", "When that was so."),
        ),
    ),
    AnswerTable(
        EPOCHS,
        (
            integer("epoch", "The leader epoch."),
            integer("start_offset", "The first offset written in it."),
            integer("leader", "Who led."),
            time_at("time", "When the leader said that it leads."),
        ),
    ),
)
