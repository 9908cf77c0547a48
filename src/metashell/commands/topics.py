"""``topics``: their size, health and configs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final

from metashell.commands.framework.command import Completion, Context, Manual
from metashell.commands.framework.completion import takes_value
from metashell.commands.framework.option import Option
from metashell.commands.rows.columns import NOT_ZERO, flag, integer, one_table, text, texts, time_at
from metashell.commands.rows.command import RowsCommand, form_of
from metashell.commands.rows.query import HISTORY, RowsQuery
from metashell.commands.shared.assume_option import ASSUME, assumptions_of
from metashell.commands.shared.names import and_meant, tell_unknown
from metashell.commands.shared.topic_arguments import complete_topics, topics_like
from metashell.errors import UsageError
from metashell.fs.pattern import Pattern
from metashell.read_settings import OLDER_BYTES
from metashell.spelling import near_names

if TYPE_CHECKING:
    import pyarrow as pa

    from metashell.commands.framework.options import Parsed
    from metashell.image.image import Image
    from metashell.schema.arena import Bools

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
    integer("history_records", "Records about its partitions, from history_first_offset on."),
    integer("history_bytes", "Bytes of these records.", shown=False),
    integer(
        "history_first_offset",
        "First offset that is counted; above 0, one record in a checkpoint stands for what came "
        "before.",
        shown=False,
    ),
    integer("history_last_offset", "Last offset that is counted.", shown=False),
    integer(
        "created_offset", "Offset of the record that made it; null: a checkpoint.", shown=False
    ),
    time_at("created_time", "Time of that record.", priority=3),
    integer("changed_offset", "Offset of the last record about it.", shown=False),
    time_at("changed_time", "Time of that record.", shown=False),
)


class TopicsCommand(RowsCommand):
    """List topics."""

    group = "whole cluster"
    name = "topics"
    summary = "List topics with their partitions, configs and health."
    noun = ("topic", "topics")
    argument_phrase = "named {}"
    tables = one_table(*COLUMNS)
    takes_paths = False
    of_each_cluster = True
    manual = Manual(
        synopsis="topics [OPTION...] [TOPIC...]",
        description=(
            "Lists topics. TOPIC may hold wildcards. A topic is listed if it matches all options. "
            "history_records counts as `stats` does, over the offsets from history_first_offset "
            "to history_last_offset. Older files of more than "
            f"{OLDER_BYTES >> 20} MB are read and counted only with --history."
        ),
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

    def answer(self, query: RowsQuery) -> None:
        """The topics that all options choose."""
        import numpy as np

        from metashell.answers.health import Health
        from metashell.answers.topics import internal, replicated, topics_table

        parsed, image = query.parsed, query.image
        chosen = np.ones(len(image.topics), dtype=np.bool_)
        if parsed.arguments:
            chosen = topics_like(image, parsed.arguments)
            for word in parsed.arguments:
                if not topics_like(image, [word]).any():
                    tell_unknown(query, word, "topic", image.topics.names)
        if {"--internal", "--exclude-internal"} <= parsed.switches:
            raise UsageError("--internal and --exclude-internal: one of the two")
        if "--internal" in parsed.switches:
            chosen &= internal(image)
        if "--exclude-internal" in parsed.switches:
            chosen &= ~internal(image)
        factor = parsed.count("--replication-factor")
        if factor is not None:
            chosen &= replicated(Health(image), factor)
        if "--config" in parsed.values:
            chosen &= _configured(query, parsed.values["--config"])
        if query.columns is None or "history_bytes" in query.columns:
            # Only the log itself has the bytes of what a condensed one left out; same topics.
            image = query.exact_image
        redaction, assumed = query.source.redaction, assumptions_of(parsed)
        table = topics_table(image, redaction, chosen, query.columns, assumed, _leads(parsed))
        query.add(_with_range(table, image))

    def complete(self, context: Context, args: Sequence[str], word: str) -> list[Completion]:
        """Propose topics."""
        if word.startswith("-") or (
            args and takes_value(self.manual.options, args[-1]) is not None
        ):
            return super().complete(context, args, word)
        return complete_topics(context, word)


def _with_range(table: pa.Table, image: Image) -> pa.Table:
    """The topics with the offsets that their records are counted over."""
    import pyarrow as pa

    files = image.records.loaded.files
    states = [file.end_offset for file in files if file.end_offset is not None]
    firsts = [
        f.chain.first_offset for f in files if not f.is_checkpoint and f.chain.first_offset >= 0
    ]
    first = max(states, default=0) if states else min(firsts, default=0)
    last = image.provenance.offset
    for name, offset in (("history_first_offset", first), ("history_last_offset", last)):
        value = pa.scalar(offset if last >= 0 else None, pa.int64())
        table = table.append_column(name, pa.repeat(value, len(table)))
    return table


def _leads(parsed: Parsed) -> Callable[[str], object] | None:
    """Which keys come first in a cell: people look for what they asked for."""
    if "--config" not in parsed.values or form_of(parsed) != "table":
        return None
    return Pattern(parsed.values["--config"].partition("=")[0]).match


def _configured(query: RowsQuery, condition: str) -> Bools:
    """bool[topics]: those with such a config, as far as it may be shown."""
    import numpy as np

    from metashell.answers.topics import topic_configs

    image, redaction = query.image, query.source.redaction
    key, equals, value = condition.partition("=")
    keys, values = Pattern(key), Pattern(value)
    at, topic = topic_configs(image)
    columns = image.part("configs").columns
    names = columns.span("name").take(at).texts()
    if not any(map(keys.match, names)):
        _tell_unknown_key(query, key)
    out = np.zeros(len(image.topics), dtype=np.bool_)
    for index, name, setting in zip(
        topic.tolist(), names, columns.span("value").take(at).texts(), strict=True
    ):
        if keys.match(name) and (
            not equals or values.match(redaction.config_value("TOPIC", name, setting))
        ):
            out[index] = True
    return out


def _tell_unknown_key(query: RowsQuery, key: str) -> None:
    """Remark on a key that no topic has and no Kafka release knows: it may be mistyped."""
    from metashell.answers.config_defaults import is_known, keys_of

    known = keys_of("TOPIC")
    if not is_known("TOPIC", key) and not any(map(Pattern(key).match, known)):
        message = f"no topic has a config {key}"
        query.remarks.append(and_meant(message, near_names(key, known)))


COMMAND = TopicsCommand()
