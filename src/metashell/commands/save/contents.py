"""The files that ``save`` writes: the log, those beside it, and the manifest of a redacted copy."""

from __future__ import annotations

import json
import re
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from metashell.errors import MetashellError, SourceError
from metashell.log.names import COORDINATOR_TOPICS, METADATA_DIRECTORY, METADATA_TOPIC_ID
from metashell.log.saving import LogCopy, copy_of
from metashell.node_files.bundle import FILE_NAME, WARNING
from metashell.node_files.log_directory import METADATA_TOPIC
from metashell.places.place import names_in, shown
from metashell.records.redacted_batches import PLACES_MAX, RedactedBatches
from metashell.schema.timestamps import iso_time
from metashell.version import __version__

if TYPE_CHECKING:
    from metashell.commands.save.writing import Contents
    from metashell.sources.source import Source

_PLAIN_ID: Final = re.compile(r"[!-\[\]-~]{1,256}")
"""The ids that a properties file can hold without escapes."""
_UNREDACTED: Final = (
    "the files hold the cluster's credentials (SCRAM, tokens, configs), readable by their owner"
    " alone"
)


def contents_of(
    source: Source, *, is_redacted: bool, warn: Callable[[str], None]
) -> tuple[LogCopy, Contents, str]:
    """The copy of a source's log, all files to write, and a sentence about them.

    Args:
        source: A directory or a quorum, perhaps at an earlier state.
        is_redacted: Whether secrets are replaced.
        warn: Takes a diagnostic.

    Raises:
        MetashellError: There is nothing to save.
    """
    batches = RedactedBatches(source.log.loaded, source.registry) if is_redacted else None
    if batches is None:
        copy = copy_of(source.log, source.moment_offset)
    else:
        copy = copy_of(source.log, source.moment_offset, batches.rewritten)
    if not copy.files:
        raise MetashellError("nothing to save: the source has no readable batch")
    for note in copy.notes:
        warn(note)
    contents = {f"{METADATA_DIRECTORY}/{file.name}": file.pieces for file in copy.files}
    cluster_id = _cluster_id(source, warn)
    texts = _texts(copy, cluster_id)
    remark = _UNREDACTED
    if batches is not None:
        remark = _told(batches)
        manifest = _manifest(source, copy, batches, cluster_id, [*contents, *texts])
        texts[FILE_NAME] = json.dumps(manifest, indent=2) + "\n"
    return copy, contents | {name: [memoryview(t.encode())] for name, t in texts.items()}, remark


def _cluster_id(source: Source, warn: Callable[[str], None]) -> str | None:
    try:
        found = source.cluster_id
    except MetashellError as error:
        warn(f"{error.message}: meta.properties is not saved")
        return None
    return found if found is not None and _PLAIN_ID.fullmatch(found) else None


def _texts(copy: LogCopy, cluster_id: str | None) -> dict[str, str]:
    """The files beside the log, by path below the directory.

    No node starts with this ``meta.properties``, which names none.
    """
    epochs = "".join(f"{epoch} {offset}\n" for epoch, offset in copy.epochs)
    texts = {
        f"{METADATA_DIRECTORY}/leader-epoch-checkpoint": f"0\n{len(copy.epochs)}\n{epochs}",
        f"{METADATA_DIRECTORY}/partition.metadata": f"version: 0\ntopic_id: {METADATA_TOPIC_ID}",
    }
    if cluster_id is not None:
        texts["meta.properties"] = f"version=1\ncluster.id={cluster_id}\n"
    return texts


def _told(batches: RedactedBatches) -> str:
    n_left_out = batches.left_out.total()
    left_out = f", left out: {n_left_out:,}" if n_left_out else ""
    return f"secrets replaced: {batches.redacted.total():,}{left_out}; {WARNING}"


def _manifest(
    source: Source,
    copy: LogCopy,
    batches: RedactedBatches,
    cluster_id: str | None,
    names: list[str],
) -> dict[str, object]:
    return {
        "warning": WARNING,
        "metashell": __version__,
        "made": iso_time(time.time_ns() // 1_000_000),
        "source": shown(source.path),
        "cluster_id": cluster_id,
        "last_offset": copy.last_offset,
        "files": names,
        "redacted": dict(sorted(batches.redacted.items())),
        "left_out": [
            {"what": reason, "count": batches.left_out[reason], "places": places}
            for reason, places in sorted(batches.places.items())
        ],
        "damaged": copy.notes,
        "not_taken": list(_not_taken(source, names)),
    }


def _not_taken(source: Source, names: list[str]) -> Iterator[str]:
    """The files and logs around the log that are no part of a redacted copy."""
    found: list[str] = []
    logs: Counter[str] = Counter()
    directory = source.metadata_directory
    with suppress(SourceError):
        if directory is not None:
            found += (f"{METADATA_DIRECTORY}/{name}" for name in names_in(directory))
        for one in source.log_directories:
            found += one.files
            logs.update(log.topic for log in one.logs if log.topic != METADATA_TOPIC)
    left = sorted(set(found) - {*names})
    yield from left[:PLACES_MAX]
    if len(left) > PLACES_MAX:
        yield f"{len(left) - PLACES_MAX:,} more files"
    for topic in COORDINATOR_TOPICS:
        if n := logs.pop(topic, 0):
            yield f"partitions of {topic}: {n:,}"
    if logs:
        yield f"partitions of other topics: {logs.total():,}"
