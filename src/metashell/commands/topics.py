"""``topics``: their size, health and configs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from metashell.commands.assuming import ASSUME, assumptions_of
from metashell.commands.base import Completion, Context, Option
from metashell.commands.rows import HISTORY, Asked, Column, RowsCommand, rows_manual
from metashell.commands.topic_words import complete_topics, topics_like
from metashell.errors import ExitCode, UsageError

if TYPE_CHECKING:
    import pyarrow as pa

    from metashell.image.image import Image
    from metashell.redact import Redaction
    from metashell.schema.arena import Bools

COLUMNS: Final = (
    Column("topic", "The topic's name."),
    Column("partitions", "Its partitions."),
    Column("replication", "Replicas of a partition: the least of all its partitions."),
    Column("replication_most", "The most.", shown=False),
    Column("internal", "Whether it is one of Kafka's own.", shown=False),
    Column("offline", "Partitions without a leader."),
    Column("under_replicated", "Partitions with replicas that are not in sync."),
    Column("configs", "Its own configs as key=value."),
    Column("topic_id", "Its id.", shown=False),
    Column("history_records", "Records about its partitions in the files that were read."),
    Column("history_bytes", "Bytes of these.", shown=False),
    Column("created_offset", "Offset of the record that made it; null: a checkpoint.", shown=False),
    Column("created_time", "Time of that record."),
    Column("changed_offset", "Offset of the last about it or its partitions.", shown=False),
    Column("changed_time", "Time of that record.", shown=False),
)


class Topics(RowsCommand):
    """List topics."""

    name = "topics"
    summary = "List topics with their partitions, configs and health."
    columns = COLUMNS
    manual = rows_manual(
        synopsis="topics [OPTION...] [TOPIC...]",
        description=(
            "Lists topics; TOPIC may hold wildcards. Of several options that choose, all must "
            "hold. A checkpoint tells no times and only the last state: with --history what came "
            "before it counts too."
        ),
        columns=COLUMNS,
        options=(
            Option(("--internal",), "Kafka's own topics only."),
            Option(("--exclude-internal",), "All but Kafka's own."),
            Option(
                ("--config",),
                "With a config of their own of that key, and that value where one is given; both "
                "may hold wildcards.",
                "KEY[=VALUE]",
            ),
            ASSUME,
            HISTORY,
        ),
        examples=(
            ("topics", "all topics"),
            ("topics topic-00* --sort=-partitions", "some, the largest first"),
            ("topics --config cleanup.policy=compact", "those that are compacted"),
            ("topics --columns topic,history_records --sort=-history_records", "the busiest"),
        ),
    )

    def answer(self, asked: Asked) -> pa.Table:
        """The topics that all options choose."""
        import numpy as np

        from metashell.answers.health import Health
        from metashell.answers.topics import internal, topics_table

        parsed, image = asked.parsed, asked.image
        chosen = np.ones(len(image.topics), dtype=np.bool_)
        if parsed.arguments:
            chosen = topics_like(image, parsed.arguments)
            for word in parsed.arguments:
                if not topics_like(image, [word]).any():
                    asked.warn(f"{word}: no such topic")
                    asked.status = ExitCode.FAILED
        if {"--internal", "--exclude-internal"} <= parsed.switches:
            raise UsageError("--internal and --exclude-internal: one of the two")
        if "--internal" in parsed.switches:
            chosen &= internal(image)
        if "--exclude-internal" in parsed.switches:
            chosen &= ~internal(image)
        if "--config" in parsed.values:
            chosen &= _configured(image, asked.source.redaction, parsed.values["--config"])
        if asked.wanted is None or "history_bytes" in asked.wanted:
            # Only the log itself has the bytes of what a condensed one left out; same topics.
            image = asked.exact_image
        return topics_table(Health(image, assumptions_of(parsed)), asked.source.redaction, chosen)

    def complete(self, context: Context, args: Sequence[str], word: str) -> list[Completion]:
        """Propose topics."""
        from metashell.commands.complete import takes_value

        if word.startswith("-") or (
            args and takes_value(self.manual.options, args[-1]) is not None
        ):
            return super().complete(context, args, word)
        return complete_topics(context, word)


def _configured(image: Image, redaction: Redaction, wanted: str) -> Bools:
    """bool[topics]: those with such a config, as far as it may be shown."""
    import numpy as np

    from metashell.answers.topics import topic_configs
    from metashell.fs.pattern import Pattern

    key, equals, value = wanted.partition("=")
    keys, values = Pattern(key), Pattern(value)
    at, topic = topic_configs(image)
    columns = image.configs.columns
    out = np.zeros(len(image.topics), dtype=np.bool_)
    for index, name, text in zip(
        topic.tolist(),
        columns.span("name").take(at).texts(),
        columns.span("value").take(at).texts(),
        strict=True,
    ):
        if keys.match(name) and (
            not equals or values.match(redaction.config_value("TOPIC", name, text))
        ):
            out[index] = True
    return out


COMMAND = Topics()
