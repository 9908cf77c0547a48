"""Opens sources: directories, single files, and live quorums.

::

    import metashell

    source = metashell.open("/var/lib/kafka/metadata")
    source.table("partitions")            # pyarrow.Table
    source.cat("/image/features/metadataVersion")

Opening reads the files, or fetches them, and proves their batches.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from metashell.errors import SourceError
from metashell.log.changed import signature
from metashell.log.directory import find_metadata_directory, read_directory, read_file
from metashell.log.places import Place, RemotePlace, base_name, is_directory, place_of
from metashell.source import Settings, Source

if TYPE_CHECKING:
    from metashell.quorum.security import Address, Security


def open(
    path: str | os.PathLike[str] | RemotePlace,
    *,
    strict: bool = False,
    schemas: Sequence[str | os.PathLike[str]] = (),
    show_secrets: bool = False,
    committed_only: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> Source:
    """Open a metadata directory, or a node's log dir that holds one; a running node's too.

    Args:
        path: The directory; a URI such as ``s3://bucket/backups/c1`` where it is in a store.
        strict: End the image before the first fault instead of going on behind it.
        schemas: Directories of further message definitions.
        show_secrets: Do not redact.
        committed_only: Leave out what may not be committed: all behind the newest checkpoint.
        progress: Called with (bytes read, bytes in all).

    Raises:
        SourceError: It can't be read, or holds no metadata log.
        SchemaError: A definition is malformed.
    """
    directory = find_metadata_directory(path)
    settings = _settings(strict, schemas, show_secrets, committed_only)
    return open_with(directory, settings, progress)


def open_with(
    directory: Place, settings: Settings, progress: Callable[[int, int], None] | None = None
) -> Source:
    """Open a directory that `find_metadata_directory` gave; as `open`."""
    # Taken before the files are read: what changes meanwhile is read again.
    before = signature(directory)

    def refresh(source: Source) -> Source:
        return source if signature(directory) == before else open_with(directory, settings)

    log = read_directory(directory, committed_only=settings.committed_only, progress=progress)
    beside = os.path.abspath(directory) if isinstance(directory, str) else directory
    return Source(log, settings, directory=beside, refresh=refresh)


def open_file(
    path: str | os.PathLike[str] | RemotePlace,
    *,
    strict: bool = False,
    schemas: Sequence[str | os.PathLike[str]] = (),
    show_secrets: bool = False,
    committed_only: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> Source:
    """Open one checkpoint or segment alone; as `open`.

    Raises:
        SourceError: It can't be read, or is neither; also where `committed_only` is asked of a
            segment, of which nothing says what is committed.
    """
    place = place_of(path)
    if committed_only and not base_name(place).endswith(".checkpoint"):
        raise SourceError(f"{place}: nothing in a segment says what of it is committed")
    log = read_file(place, progress=progress)
    return Source(log, _settings(strict, schemas, show_secrets, committed_only))


def open_beside(source: Source, path: str | os.PathLike[str]) -> Source:
    """Open another directory or file with the settings of a source; errors as `open`."""
    place = place_of(path)
    settings = source.settings
    opened = open if is_directory(place) else open_file
    return opened(
        place,
        strict=settings.strict,
        schemas=settings.schemas,
        show_secrets=settings.show_secrets,
    )


def open_quorum(
    addresses: str | Iterable[Address],
    *,
    security: Security | None = None,
    timeout_s: float | None = None,
    cluster_id: str | None = None,
    follow: bool = False,
    strict: bool = False,
    schemas: Sequence[str | os.PathLike[str]] = (),
    show_secrets: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> Source:
    """Fetch the metadata log from a live quorum, up to the high watermark.

    Args:
        addresses: Controllers, such as ``"localhost:9093,localhost:9094"``; one that answers is
            enough.
        security: How to speak to them; plaintext where None. See `metashell.quorum.settings`.
        timeout_s: How long to go on without getting any further; 30 where None.
        cluster_id: The id that the cluster must have.
        follow: Go on fetching in the background: `Source.refreshed` then gives newer states, until
            ``source.live.close()``.
        strict: As for `open`.
        schemas: As for `open`.
        show_secrets: As for `open`.
        progress: Called with (bytes of the snapshot fetched, bytes in all).

    Raises:
        UsageError: The addresses can't be read.
        SourceError: No leader could be followed; the message gives each address with its reason.
    """
    from metashell.live import follow_quorum
    from metashell.quorum.addresses import parse_addresses

    if isinstance(addresses, str):
        addresses = parse_addresses(addresses, "addresses")
    return follow_quorum(
        tuple(addresses),
        _settings(strict, schemas, show_secrets, False),
        security=security,
        timeout_s=timeout_s,
        cluster_id=cluster_id,
        follow=follow,
        progress=progress,
    )


def _settings(
    strict: bool,
    schemas: Sequence[str | os.PathLike[str]],
    show_secrets: bool,
    committed_only: bool,
) -> Settings:
    return Settings(
        strict=strict,
        schemas=tuple(Path(path) for path in schemas),
        show_secrets=show_secrets,
        committed_only=committed_only,
    )
