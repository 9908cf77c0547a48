"""``topics``: their size, health and configs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from metashell.commands.framework.command import Completion, Context, Manual
from metashell.commands.framework.options import Option
from metashell.commands.rows.columns import (
    DISK_BYTES,
    NOT_ZERO,
    flag,
    integer,
    of_record,
    one_table,
    text,
    texts,
)
from metashell.commands.rows.command import RowsCommand
from metashell.commands.rows.query import HISTORY
from metashell.commands.shared.assume_option import ASSUME
from metashell.commands.shared.topic_arguments import complete_topics
from metashell.read_settings import OLDER_BYTES

COLUMNS: Final = (
    text("topic", "The topic's name.", priority=9),
    integer("partitions", "Its partitions.", priority=7),
    integer("replication", "Replicas of each partition; if they differ: the fewest.", priority=7),
    integer("replication_most", "Replicas of each partition: the most.", shown=False),
    flag("internal", "Whether it is one of Kafka's own topics.", shown=False),
    integer("offline", "Partitions without a leader.", priority=8, red=NOT_ZERO),
    integer(
        "under_replicated",
        "Partitions with replicas out of sync. Replicas being added do not count.",
        priority=8,
        yellow=NOT_ZERO,
    ),
    texts("configs", "Its own configs as key=value.", priority=4),
    text("topic_id", "Its id.", shown=False),
    DISK_BYTES,
    integer("history_records", "Records about its partitions, from history_first_offset on."),
    integer("history_bytes", "Bytes of these records.", shown=False),
    integer(
        "history_first_offset",
        "First offset that is counted; above 0, one record in a checkpoint stands for what came "
        "before.",
        shown=False,
    ),
    integer("history_last_offset", "Last offset that is counted.", shown=False),
    *of_record("created", "made it", shown=True, priority=3),
    *of_record("changed", "last changed it"),
)


class TopicsCommand(RowsCommand):
    """List topics with their partitions, configs and health.

    Lists topics. TOPIC may hold wildcards. A topic is listed if it matches all options.
    history_records counts as `stats` does, over the offsets from history_first_offset to
    history_last_offset. Older files of more than OLDER_MB MB are read and counted only with
    --history.
    """

    group = "whole cluster"
    noun = ("topic", "topics")
    argument_phrase = "named {}"
    tables = one_table(*COLUMNS)
    of_each_cluster = True
    manual = Manual(
        synopsis="topics [OPTION...] [TOPIC...]",
        constants=(("OLDER_MB", f"{OLDER_BYTES >> 20}"),),
        options=(
            Option(("--internal",), "Only Kafka's own topics.", phrase="internal"),
            Option(("--exclude-internal",), "All topics but Kafka's own.", phrase="external"),
            Option(
                ("--config",),
                "Topics with their own config of that key, and of that value if given. Both may "
                "hold wildcards.",
                "KEY[=VALUE]",
                phrase="configured with {}",
            ),
            Option(
                ("--replication-factor",),
                "Topics with a partition that has exactly N replicas.",
                "N",
                phrase="with {} replicas",
            ),
            ASSUME,
            HISTORY,
        ),
        examples=(
            ("topics", "all topics"),
            ("topics --replication-factor 1", "topics that the loss of one broker takes offline"),
            ("topics pay* --sort=-partitions", "matching topics, the largest first"),
            ("topics --config cleanup.policy=compact", "compacted topics"),
            (
                "topics --columns topic,history_records --sort=-history_records",
                "the busiest topics first",
            ),
        ),
    )

    def propose(self, context: Context, args: Sequence[str], word: str) -> list[Completion]:
        """Propose topics."""
        return complete_topics(context, word)


COMMAND = TopicsCommand()
