"""The columns of ``quorum``: its nodes, the quorum, and leader epochs."""

from __future__ import annotations

from typing import Final

from metashell.commands.rows.columns import (
    AnswerTable,
    Shrink,
    flag,
    integer,
    integers,
    text,
    texts,
    time_at,
)

STATUS: Final = "--status"

EPOCHS: Final = "--epochs"

COPIES: Final = "--copies"

STARTS: Final = "--starts"

VERDICTS: Final = "--verdicts"

OF_COPIES: Final = (COPIES, STARTS, VERDICTS)
"""Flags that ask for copies of a lost quorum's logs."""

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
        ("id", "status"),
        ("log_end_offset", "lag", "last_fetch_age_ms", "last_caught_up_age_ms"),
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
        ("cluster_id",),
        (
            *("leader", "epoch", "log_end_offset", "high_watermark"),
            *("max_follower_lag", "max_follower_lag_ms", "kraft_version", "time"),
        ),
    ),
    AnswerTable(
        EPOCHS,
        (
            integer("epoch", "The leader epoch."),
            integer("start_offset", "The first offset written in it."),
            integer("leader", "The leader; null: no record says."),
            time_at("time", "The time of the leader change record; null: it is not there."),
            integer(
                "lasted_ms",
                "How long it lasted, until now for the last one, in ms; null: not known.",
                shown=False,
            ),
            integer("offsets", "How many offsets it has; null: not known.", shown=False),
        ),
    ),
    AnswerTable(
        COPIES,
        (
            text("copy", "The directory's name below /clusters.", priority=9),
            integer("node_id", "The node that owns the directory.", priority=9),
            text("directory_id", "Its directory.id.", shown=False),
            flag("voter", "Whether it has a vote, by the voters that a log names.", priority=5),
            flag("can_win", "Whether it can win a vote of the voters at hand.", priority=9),
            integer(
                "log_epoch", "Last leader epoch of its log. A vote compares it first.", priority=8
            ),
            integer("log_start", "The first offset of its segments.", priority=3),
            integer(
                "log_end_offset",
                "The offset behind its log. A vote compares it second.",
                priority=8,
            ),
            integer(
                "behind",
                "How many records its log ends before the copy that ends last; null: epochs alone "
                "tell.",
                priority=8,
            ),
            integer(
                "departs_at",
                "The first offset at which it has another batch than most of the others, byte for "
                "byte.",
                priority=7,
            ),
            integer("checkpoints", "How many checkpoints it has.", priority=3),
            integer(
                "checkpoint_end",
                "The end of the newest: offsets below it are committed.",
                priority=4,
            ),
            integer("epoch", "The leader epoch of its quorum-state.", priority=5),
            integers("voters", "The voters that its log names last.", priority=2),
            texts(
                "endpoints",
                "Where its log says that the node is reached for votes.",
                shown=False,
            ),
            text("directory", "Its path.", shown=False),
        ),
    ),
    AnswerTable(
        STARTS,
        (
            integers("running", "Ids of the voters that run, and no other voter.", priority=9),
            integer("leader", "A voter that can win then.", priority=9),
            flag("best", "Whether only copies that end last of all can win.", priority=6),
            text("loses", "The copy whose records would be lost; null: none are.", priority=8),
            integer("first", "The first offset lost.", priority=7),
            integer("end", "The end of that copy's log.", priority=6),
            flag(
                "may_be_committed",
                "Whether a client can have been told that one of them is committed.",
                priority=5,
            ),
            integer("topics", "Topics that these records added, removed or changed.", priority=4),
            integer("partitions", "Partitions.", priority=4),
            integer("configs", "Configs.", priority=4),
            integer("acls", "ACLs.", priority=4),
            integer("credentials", "SCRAM credentials and delegation tokens.", priority=4),
            integer("quotas", "Quotas.", priority=3),
            integer("other", "Brokers, features and the like.", priority=2),
        ),
    ),
    AnswerTable(
        VERDICTS,
        (
            integer("first", "The first offset.", priority=9),
            integer("end", "The offset behind the last one.", priority=9),
            text("verdict", "proved, safe or open.", priority=9),
            integers("nodes", "Ids of the nodes whose copies hold these records.", priority=8),
            integers(
                "behind_damage",
                "Ids of those that have them behind damage, where a start cuts them off.",
                shown=False,
            ),
            integer(
                "first_epoch", "The leader epoch of the first record; null: not known.", priority=5
            ),
            integer("last_epoch", "The leader epoch of the last.", priority=5),
            flag(
                "may_be_committed",
                "Whether a client can have been told that one of them is committed.",
                priority=7,
            ),
        ),
    ),
)
