"""``checksum``: a digest of the state, to compare nodes by."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from metashell.commands.framework.command import Context, Manual
from metashell.commands.framework.options import Option, Parsed
from metashell.commands.framework.targets import Targets, shown, stop_if_cancelled
from metashell.commands.rows.columns import flag, integer, one_table, text
from metashell.commands.rows.command import RowsCommand
from metashell.commands.rows.query import RowsQuery
from metashell.dataclass import dataclass
from metashell.errors import ExitCode, UsageError

if TYPE_CHECKING:
    from metashell.sources.source import Source


_TABLES = one_table(
    text("part", "The part of the state; null for the whole of it, which comes last."),
    text("checksum", "Its digest."),
    text("path", "The node that the digest is of; null for the state.", shown=False),
    integer("offset", "Offset of the last record in the state."),
    integer("epoch", "That record's leader epoch."),
    flag("secrets", "Whether secrets entered the digest."),
    text("without_orphans", "The digest without configs of topics that do not exist."),
    integer("orphans", "How many such configs there are."),
)


class ChecksumCommand(RowsCommand):
    """Print a digest of the state, equal on nodes that agree.

    Prints a SHA-256 digest of the cluster's state, and the offset and epoch of the last record
    in it. Two nodes at the same offset print the same digest, also if they started from
    different checkpoints. The digest leaves out the offsets and times of changes and the
    quorum's own records.

    By a fault of Kafka, a topic that is configured and removed at once leaves its configs in
    the images of some controllers. A second line then has the digest without these configs,
    which is equal on all sound nodes. Rows always have both.

    With PATH it prints a digest of the names and values of all leaves there and below. That of
    a group is equal on all replicas that end with the same record.

    `man at` tells what a POINT may be. To compare two controllers, print the digest of both at
    the same offset. If they differ, --parts shows the part, and diff --with shows the
    difference.

    The digest leaves out secrets, because it would help to guess them. With --show-secrets it
    includes them, and the line says so. Compare only digests of the same release of metashell.
    """

    group = "whole cluster"
    takes_paths = True
    one_cluster = True
    tables = _TABLES
    manual = Manual(
        synopsis="checksum [--at POINT] [--parts] [-o FORMAT] [PATH...]",
        options=(
            Option(("--at",), "Use the state at that POINT.", metavar="POINT"),
            Option(("--parts",), "Print a digest of each part, then of the whole."),
        ),
        examples=(
            ("checksum", "the digest of the newest state"),
            ("checksum --at 1870", "at an offset that another node has too"),
            ("checksum --parts", "which part differs"),
            ("checksum --parts -o csv", "the same as CSV"),
            ("checksum /image/configs", "of one directory"),
        ),
    )

    def run_parsed(self, context: Context, parsed: Parsed) -> int:
        """Print the digests."""
        if parsed.arguments and "--parts" in parsed.switches:
            raise UsageError("--parts is of the whole state, and takes no PATH")
        return super().run_parsed(context, parsed)

    def answer(self, query: RowsQuery) -> None:
        """A row for each part asked for, and one for the whole; or one for each node."""
        if query.parsed.arguments:
            found_nodes = _NodeDigests(query.context, query.parsed)
            query.add({"path": path, "checksum": digest} for path, digest in found_nodes)
            query.status = found_nodes.status
            return
        found = _Digests.of(query.context, query.parsed)
        place = {
            "offset": found.offset if found.offset >= 0 else None,
            "epoch": found.epoch if found.epoch >= 0 else None,
            "secrets": found.has_secrets,
            "orphans": found.n_orphans,
        }
        parts = [*found.parts] if "--parts" in query.parsed.switches else []
        query.add(
            {
                "part": part,
                "checksum": found.parts[part].hex(),
                "without_orphans": found.sound_parts[part].hex(),
                **place,
            }
            for part in parts
        )
        whole = {"part": None, "checksum": found.whole, "without_orphans": found.sound}
        query.add([{**whole, **place}])

    def write_text(self, context: Context, parsed: Parsed) -> int:
        """A line for each part asked for, and one or two for the whole; or one for each node."""
        if parsed.arguments:
            found_nodes = _NodeDigests(context, parsed)
            for path, digest in found_nodes:
                context.out.write(f"{digest}  {shown(context, path)}\n")
            return found_nodes.status
        found = _Digests.of(context, parsed)
        lines = []
        if "--parts" in parsed.switches:
            lines = [f"{digest.hex()}  {name}" for name, digest in found.parts.items()]
        note = "  with secrets" if found.has_secrets else ""
        lines.append(f"{found.whole}  offset {found.offset}  epoch {found.epoch}{note}")
        if n_orphans := found.n_orphans:
            lines.append(
                f"{found.sound}  without {n_orphans} config{'' if n_orphans == 1 else 's'} of"
                " topics that do not exist"
            )
        context.out.write("\n".join(lines) + "\n")
        return ExitCode.OK


def _state(context: Context, parsed: Parsed) -> Source:
    """The state that the words ask for."""
    source = context.needs_source()
    if "--at" in parsed.values:
        source = source.at(str(parsed.values["--at"]))
        for note in source.moment_notes:
            context.warn(f"checksum: {note}")
    return source


class _NodeDigests:
    """Paths and digests of the nodes asked for; `status` is 1 once a word named nothing."""

    def __init__(self, context: Context, parsed: Parsed) -> None:
        root = _state(context, parsed).root if "--at" in parsed.values else context.root
        self._context = replace(context, root=root)
        self._words = parsed.arguments
        self.status = int(ExitCode.OK)

    def __iter__(self) -> Iterator[tuple[str, str]]:
        from metashell.fs.tree_digest import tree_digest

        targets = Targets(self._context, "checksum", self._words)
        for match in targets:
            stop_if_cancelled(self._context)
            yield match.path, tree_digest(match.place.node)
        self.status = targets.status


@dataclass(frozen=True, slots=True)
class _Digests:
    """The digests of a state."""

    parts: Mapping[str, bytes]
    whole: str
    sound_parts: Mapping[str, bytes]
    """The digests of the parts without the configs of topics that do not exist."""
    sound: str
    n_orphans: int
    """How many such configs there are."""
    offset: int
    epoch: int
    has_secrets: bool

    @classmethod
    def of(cls, context: Context, parsed: Parsed) -> _Digests:
        """The digests of the state that the words ask for."""
        from metashell.checks.digest import image_digest, part_digests, without_orphans

        source = _state(context, parsed)
        parts = part_digests(source.image, source.redaction)
        sound_parts, n_orphans = without_orphans(source.image, parts, source.redaction)
        last = source.image.provenance
        return cls(
            parts=parts,
            whole=image_digest(parts),
            sound_parts=sound_parts,
            sound=image_digest(sound_parts),
            n_orphans=n_orphans,
            offset=last.offset,
            epoch=last.epoch,
            has_secrets=source.redaction.show_secrets,
        )


COMMAND = ChecksumCommand()
