"""The rows of ``topics``: which topics its words choose."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa

from metashell.answers.config_defaults import is_known, keys_of
from metashell.answers.health import Health
from metashell.answers.topics import internal, replicated, topic_configs, topics_table
from metashell.commands.framework.options import Parsed
from metashell.commands.rows.query import RowsQuery, form_of
from metashell.commands.shared.assume_option import assumptions_of
from metashell.commands.shared.disks import with_disk_bytes
from metashell.commands.shared.names import and_meant, tell_unknown
from metashell.commands.shared.topic_arguments import topics_like
from metashell.errors import UsageError
from metashell.fs.pattern import Pattern
from metashell.image.image import Image
from metashell.schema.arena import Bools
from metashell.spelling import near_names


def answer(query: RowsQuery) -> None:
    """Add the topics that all options choose."""
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
        # Only the log itself has the bytes of what a reduced one left out; same topics.
        image = query.exact_image
    redaction, assumed = query.source.redaction, assumptions_of(parsed)
    table = topics_table(image, redaction, chosen, query.columns, assumed, _leads(parsed))
    query.add(with_disk_bytes(query, _with_range(table, image), "topic"))


def _with_range(table: pa.Table, image: Image) -> pa.Table:
    """The topics with the offsets that their records are counted over."""
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
    known = keys_of("TOPIC")
    if not is_known("TOPIC", key) and not any(map(Pattern(key).match, known)):
        message = f"no topic has a config {key}"
        query.remarks.append(and_meant(message, near_names(key, known)))
