"""Opens sources: directories, fleets, single files, and live quorums.

::

    import metashell

    source = metashell.open("/var/lib/kafka/metadata")
    source.table("partitions")            # pyarrow.Table
    source.cat("/image/features/metadataVersion")

Opening reads the files, or fetches them, and proves their batches. The functions here take keywords
and make an `OpenRequest` of them, as the command line does of its arguments; `open_request` opens
it. A directory is looked for in the cache first, then opened by the engine that the policy says.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Unpack

from metashell.errors import NoMetadataLogError, SourceError, TopicLogError
from metashell.log.directory import list_metadata_directory, read_file
from metashell.log.names import COORDINATOR_TOPICS, METADATA_DIRECTORY, topic_of
from metashell.places.archives import archive_or_self
from metashell.places.place import Place, RemotePlace, base_name, is_directory, parent_of, place_of
from metashell.places.uri import is_archive, shown
from metashell.read_settings import ReadOptions, ReadSettings
from metashell.sources.cache.entries import may_be_cached
from metashell.sources.directory import open_directory, open_place, open_without_log
from metashell.sources.engine import EngineSettings, bytes_to_decode, is_remote
from metashell.sources.reduced import delegate_logs, open_by_spark, reason_for_spark
from metashell.sources.request import (
    SILENT,
    Choice,
    OpeningWatch,
    OpenRequest,
    QuorumChoice,
)
from metashell.sources.source import Source
from metashell.sources.without_image import SourceWithoutImage

if TYPE_CHECKING:
    from metashell.log.changed import DirectoryState
    from metashell.log.read import ReadProgress
    from metashell.security.settings import Address, Security
    from metashell.sources.fleet.source import FleetSource
    from metashell.sources.node_places import NodePlaces


def open(
    path: str | os.PathLike[str] | RemotePlace,
    *,
    log_dirs: Sequence[str | os.PathLike[str] | RemotePlace] = (),
    engine: str | EngineSettings = "auto",
    progress: ReadProgress | None = None,
    **options: Unpack[ReadOptions],
) -> Source:
    """Open a metadata directory, or a node's log directory; a running node's too.

    The cached part of it is not decoded again. With ``strict`` it is always read here, whatever the
    engine: only the bytes of the log tell about that.

    Args:
        path: The directory; a URI such as ``s3://bucket/backups/c1`` where it is in a store. A log
            directory may have coordinators' logs alone. Also an archive with one.
        log_dirs: Other log directories of the node, which have coordinators' logs too.
        engine: The engine that decodes. ``local`` is this process, without the cache. ``auto``
            takes ``spark`` for a directory with more than 1 GB to decode, and else this process.
            For further settings give a `metashell.sources.engine.EngineSettings`.
        progress: Called with (bytes read, bytes in all) where this process reads it.
        options: ``strict``, ``schemas``, ``show_secrets``, ``committed_only``: see
            `metashell.read_settings.ReadSettings`.

    Raises:
        UsageError: There is no such engine.
        SourceError: It can't be read, or holds no metadata log, or Spark can't be used.
        SchemaError: A definition is malformed.
    """
    request = OpenRequest(
        choice=Choice(archive_or_self(_text_of(path))),
        settings=replace(
            ReadSettings.of(**options), log_dirs=tuple(_text_of(one) for one in log_dirs)
        ),
        engine=EngineSettings.of(engine),
    )
    request = _in_archives(request, is_one=True)
    return _open_directory(request, SILENT if progress is None else _ReadingWatch(progress))


def open_file(
    path: str | os.PathLike[str] | RemotePlace,
    *,
    progress: ReadProgress | None = None,
    **options: Unpack[ReadOptions],
) -> Source:
    """Open one checkpoint or segment alone; as `open`.

    Raises:
        SourceError: It can't be read, or is neither; also where `committed_only` is asked of a
            segment, of which nothing says what is committed.
    """
    return _open_file(place_of(path), ReadSettings.of(**options), progress)


def open_fleet(
    paths: str | Sequence[str],
    *,
    engine: str | EngineSettings = "auto",
    cluster_id: str | None = None,
    join: bool = False,
    progress: Callable[[], AbstractContextManager[ReadProgress]] | None = None,
    **options: Unpack[ReadOptions],
) -> FleetSource:
    """Open directories as a fleet. Now only each directory's cluster id is read.

    Args:
        paths: Directories, URIs or archives, as `open` takes them; one given twice counts once.
        engine: See `open`: it computes rows, and searches.
        cluster_id: Take only directories of this cluster.
        join: Take directories with one cluster id for one cluster, of whatever node they are. Else
            those of one node are together.
        progress: Tells how far `FleetSource.directory_rows` has come.
        options: See `open`; they hold for each directory.

    Raises:
        UsageError: There is no such engine.
        SourceError: There is no directory, none of that cluster, or a URI can't be meant.
        SchemaError: A definition is malformed.
    """
    from metashell.sources.node_places import distinct, nodes_at

    given = (paths,) if isinstance(paths, str) else paths
    request = _in_archives(
        OpenRequest(
            choice=Choice(paths=tuple(map(archive_or_self, given))),
            settings=ReadSettings.of(**options),
            engine=EngineSettings.of(engine),
            cluster_id=cluster_id,
        )
    )
    nodes = nodes_at(distinct(request.choice.paths), joins=join)
    fleet = _open_fleet(replace(request, nodes=tuple(nodes)), SILENT)
    fleet.progress = progress
    return fleet


def open_quorum(
    addresses: str | Iterable[Address],
    *,
    security: Security | None = None,
    timeout_s: float | None = None,
    cluster_id: str | None = None,
    follow: bool = False,
    progress: ReadProgress | None = None,
    **options: Unpack[ReadOptions],
) -> Source:
    """Fetch the metadata log from a live quorum, up to the high watermark.

    Args:
        addresses: Controllers, such as ``"localhost:9093,localhost:9094"``; one that answers is
            enough.
        security: How to speak to them; plaintext where None. See `metashell.quorum.settings`.
        timeout_s: How long to go on without getting any further; 30 where None.
        cluster_id: The id that the cluster must have.
        follow: Go on fetching in the background: `Source.refreshed` then gives newer states, until
            `Source.close`.
        progress: Called with (bytes of the snapshot fetched, bytes in all).
        options: See `open`; records that may not be committed are never fetched.

    Raises:
        UsageError: The addresses can't be read.
        SourceError: No leader could be followed; the message gives each address with its reason.
    """
    from metashell.quorum.addresses import parse_addresses
    from metashell.security.settings import Security as Plain

    if isinstance(addresses, str):
        addresses = parse_addresses(addresses, "addresses")
    quorum = QuorumChoice(
        addresses=tuple(addresses),
        security=security or Plain(),
        timeout_s=timeout_s,
        follow=follow,
    )
    return _open_quorum(quorum, ReadSettings.of(**options), cluster_id, progress)


def open_like(source: Source, path: str | os.PathLike[str]) -> Source:
    """Open another directory or file with the settings of a source, here; errors as `open`."""
    choice = Choice(archive_or_self(os.fspath(path)))
    choice = _in_archives(OpenRequest(choice=choice), is_one=True).choice
    settings = replace(source.settings, log_dirs=(), config=None)
    place = place_of(choice.path)
    return open_place(place, settings) if is_directory(place) else _open_file(place, settings, None)


def open_request(
    request: OpenRequest,
    watch: OpeningWatch = SILENT,
    open_it: Callable[[OpenRequest, OpeningWatch], Source | FleetSource] | None = None,
) -> Source | FleetSource:
    """Open a request's source, check that it is of the cluster asked for, and go to the point.

    Args:
        request: The request.
        watch: Is told how it goes on.
        open_it: Opens the newest state, in place of this module's own function.

    Raises:
        SourceError: It can't be read, or is of another cluster, or Spark can't be used.
        SchemaError: A definition is malformed.
        MetashellError: The files do not cover the point.
    """
    try:
        opened = (open_it or _open_newest)(request, watch)
    except OSError as error:
        where = error.filename if isinstance(error.filename, str) else place_text(request.choice)
        raise SourceError(f"{where}: {error.strerror or error}") from error
    try:
        if isinstance(opened, Source):  # A fleet chooses its directories by the id.
            _check_cluster_id(opened, request.cluster_id, watch)
        return opened if request.at is None else opened.at(request.at, record=request.record)
    except BaseException:
        opened.close()
        raise


def place_text(choice: Choice) -> str:
    """Where what was chosen is, as it may be shown."""
    return shown(choice.path) if choice.quorum is None else str(choice.quorum.addresses[0])


def _open_newest(request: OpenRequest, watch: OpeningWatch) -> Source | FleetSource:
    request = _in_archives(request)
    choice = request.choice
    if choice.paths:
        return _open_several(request, watch)
    if choice.log_dirs:
        from metashell.sources.node_places import node_at

        return _open_node(node_at([choice.path, *choice.log_dirs]), request, watch)
    if choice.quorum is None:
        of_coordinator = _open_coordinator(request, watch)
        if of_coordinator is not None:
            return of_coordinator
    if choice.quorum is None and not choice.is_file:
        return _open_directory(request, watch)
    with watch.reading("loading") as bar:
        if choice.quorum is not None:
            return _open_quorum(choice.quorum, request.settings, request.cluster_id, bar)
        return _open_file(place_of(choice.path), request.settings, bar)


def _in_archives(request: OpenRequest, *, is_one: bool = False) -> OpenRequest:
    """The request for what is in archives, where it names any; see `archived.in_archives`."""
    if not any(map(is_archive, request.choice.paths or (request.choice.path,))):
        return request
    from metashell.sources.archived import in_archives

    return in_archives(request, is_one=is_one)


def _open_several(request: OpenRequest, watch: OpeningWatch) -> Source | FleetSource:
    """Open directories: those of one node or joined cluster as one source, others as a fleet."""
    if len(request.choice.paths) > 1:
        from metashell.sources.node_places import distinct, nodes_at

        nodes = nodes_at(distinct(request.choice.paths), joins=request.joins)
        is_one = request.joins or not request.choice.is_fleet
        if len(nodes) == 1 and nodes[0].log_dirs and is_one:
            return _open_node(nodes[0], request, watch)
        request = replace(request, nodes=tuple(nodes))
    return _open_fleet(request, watch)


def _open_node(node: NodePlaces, request: OpenRequest, watch: OpeningWatch) -> Source:
    """Open the log directories of a node."""
    for note in node.notes:
        watch.warn(note)
    return _open_directory(
        replace(
            request,
            choice=replace(request.choice, path=node.path, paths=(), log_dirs=()),
            settings=replace(
                request.settings,
                log_dirs=node.log_dirs,
                missing_dirs=node.missing,
                foreign_dirs=node.foreign,
                config=None if request.joins else request.settings.config,
            ),
        ),
        watch,
    )


def _open_coordinator(request: OpenRequest, watch: OpeningWatch) -> Source | None:
    """Open the log of a coordinator's partition; None where it is none by its name."""
    place, is_file = place_of(request.choice.path), request.choice.is_file
    topic = topic_of(base_name(parent_of(place) if is_file else place))
    if topic is None or topic[0] not in COORDINATOR_TOPICS:
        return None  # so that nothing is imported for a metadata log
    from metashell.sources.coordinator import open_coordinator

    with watch.reading("loading") as bar:
        found = open_coordinator(place, request.settings, bar, is_file=is_file)
    if found is not None and not is_file:
        delegate_logs(found, request, watch)
    return found


def _open_directory(request: OpenRequest, watch: OpeningWatch) -> Source:
    """Open a directory, also a node's log directory that has coordinators' logs alone."""
    try:
        return _open_metadata(request, watch)
    except (NoMetadataLogError, TopicLogError) as error:
        found = open_without_log(place_of(request.choice.path), request.settings, error)
        if isinstance(found, SourceWithoutImage) and found.of_topic is None:
            delegate_logs(found, request, watch)
        return found


def _open_metadata(request: OpenRequest, watch: OpeningWatch) -> Source:
    """Open a metadata directory: from the cache, by Spark, or here."""
    path, settings, engine = request.choice.path, request.settings, request.engine
    # Where a strict replay ends, and what was earlier, only the log's bytes tell.
    needs_log = settings.strict or request.at is not None
    state: DirectoryState | None = None
    if not needs_log and engine.engine != "local":
        if engine.use_cache and may_be_cached(settings):
            from metashell.sources.cached import open_cached_source

            state = list_metadata_directory(path)
            cached = open_cached_source(state, settings)
            if cached is not None:
                return cached
        if state is None:
            with suppress(SourceError):  # Opening it tells the reason.
                state = list_metadata_directory(path)
        n_bytes = bytes_to_decode(() if state is None else (state,))
        reason = reason_for_spark(engine, n_bytes, watch)
        if reason is not None:
            source = open_by_spark(request, reason, watch)
            assert isinstance(source, Source)
            return source
    with watch.reading("loading") as bar:
        return open_directory(state or list_metadata_directory(path), settings, bar)


def _open_fleet(request: OpenRequest, watch: OpeningWatch) -> FleetSource:
    """Lay a fleet over directories, for this process or for Spark."""
    from metashell.sources.fleet.source import FleetSource

    paths, settings = request.choice.paths, request.settings
    if request.engine.engine != "local":
        # Listing hundreds of directories in a store takes longer than reading most of them.
        n_bytes = bytes_to_decode(path for path in paths if not is_remote(path))
        reason = reason_for_spark(request.engine, n_bytes, watch)
        if reason is not None:
            request = replace(request, settings=replace(settings, config=None))
            fleet = open_by_spark(request, reason, watch)
            assert isinstance(fleet, FleetSource)
            return fleet
    return FleetSource.over(
        paths,
        settings,
        cluster_id=request.cluster_id,
        nodes=request.nodes,
        progress=lambda: watch.reading("reading"),
    )


def _open_quorum(
    quorum: QuorumChoice,
    settings: ReadSettings,
    cluster_id: str | None,
    progress: ReadProgress | None,
) -> Source:
    """Follow a quorum, of which only what is committed is ever seen."""
    from metashell.sources.live import follow_quorum

    return follow_quorum(
        quorum.addresses,
        replace(settings, committed_only=False),
        security=quorum.security,
        timeout_s=quorum.timeout_s,
        cluster_id=cluster_id,
        follow=quorum.follow,
        progress=progress,
    )


def _open_file(place: Place, settings: ReadSettings, progress: ReadProgress | None) -> Source:
    topic = topic_of(base_name(parent_of(place)))
    if topic is not None and topic[0] in COORDINATOR_TOPICS:
        raise SourceError(
            f"{place}: a segment of topic `{topic[0]}`, partition {topic[1]},"
            " not of the cluster's metadata log",
            hint="`metashell -s SEGMENT log` prints its records, and `check` finds damage",
        )
    if topic is not None and base_name(parent_of(place)) != METADATA_DIRECTORY:
        from metashell.sources.topic import open_topic_segment

        found = open_topic_segment(place, settings)
        if found is not None:
            return found
    if settings.committed_only and not base_name(place).endswith(".checkpoint"):
        raise SourceError(f"{place}: a segment does not say which of its records are committed")
    return Source(read_file(place, progress=progress), settings)


def _check_cluster_id(
    opened: Source | FleetSource, wanted: str | None, watch: OpeningWatch
) -> None:
    """Refuse another cluster; warn where the source does not say which it is."""
    if wanted is None:
        return
    found = opened.cluster_id
    if found is None:
        watch.warn(f"{opened.name} does not name its cluster: `--cluster-id` is not checked")
    elif found != wanted:
        raise SourceError(
            f"{opened.name} belongs to cluster {found}, not to {wanted}",
            hint="leave out `--cluster-id`, or open a directory of that cluster",
        )


def _text_of(path: str | os.PathLike[str] | RemotePlace) -> str:
    """A path or URI that names the same place."""
    return path.uri if isinstance(path, RemotePlace) else os.fspath(path)


class _ReadingWatch(OpeningWatch):
    """Tells a function how many bytes were read."""

    def __init__(self, function: ReadProgress) -> None:
        self._function = function

    def reading(self, label: str) -> AbstractContextManager[ReadProgress]:
        return nullcontext(self._function)
