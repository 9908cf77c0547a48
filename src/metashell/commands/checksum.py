"""``checksum``: a digest of the state, to compare nodes by."""

from __future__ import annotations

import json
from collections.abc import Sequence

from metashell.commands.base import Context, Manual, Option
from metashell.commands.options import parse_options, refuse_more
from metashell.commands.rows_of import (
    Kind,
    TabularCommand,
    integer,
    of_kind,
    one_table,
    status_of,
    text,
    with_rows,
    write_records,
)

_TABLES = one_table(
    text("part", "The part of the state; null for the whole of it, which comes last."),
    text("checksum", "Its digest."),
    integer("offset", "Offset of the last record in the state."),
    integer("epoch", "That record's leader epoch."),
    of_kind(Kind.FLAG, "secrets", "Whether secrets entered the digest."),
)


class Checksum(TabularCommand):
    """Print a digest of the image."""

    name = "checksum"
    summary = "Print a digest of the state, equal on nodes that agree."
    one_cluster = True
    tables = _TABLES
    manual = Manual(
        synopsis="checksum [--at POINT] [--parts] [--json|-o FORMAT]",
        description=(
            "Prints a SHA-256 digest of the cluster's state, and the offset and epoch of the last "
            "record that it holds. Two nodes at the same offset print the same digest, whatever "
            "checkpoint each began with: only facts that must be equal on every node enter it, in "
            "an order of its own. Offsets and times of changes and the quorum's own records do "
            "not.\n\n"
            "POINT is an offset, a time such as 2026-09-21T14:14:09Z, or -2h. To compare two "
            "controllers, take an offset that both have, and print both digests; where they "
            "differ, --parts tells in what, and diff --with tells how.\n\n"
            "Secrets do not enter the digest, as it could be used to guess them; with "
            "--show-secrets they do, and the line says so. Compare digests of one release of "
            "metashell only."
        ),
        options=(
            Option(("--at",), "The state at an offset or a time.", metavar="POINT"),
            Option(("--parts",), "A digest of each part before that of the whole."),
            Option(("--json",), "One JSON object with the digests of all parts."),
        ),
        examples=(
            ("checksum", "the digest of the newest state"),
            ("checksum --at 3879", "at an offset that another node has too"),
            ("checksum --parts", "which part differs"),
            ("checksum --parts -o csv", "the same as CSV"),
        ),
    )
    manual = with_rows(manual, _TABLES)

    def run(self, context: Context, args: Sequence[str]) -> int:
        """Print the digests."""
        from metashell.image.digest import image_digest, part_digests

        parsed = parse_options(self, args)
        refuse_more(self, parsed.arguments)
        shape = self.shape_of(parsed)
        source = context.needs_source()
        if "--at" in parsed.values:
            source = source.at(str(parsed.values["--at"]))
            for note in source.moment_notes:
                context.warn(f"checksum: {note}")
        parts = part_digests(source.image, source.redaction)
        whole, last = image_digest(parts), source.image.provenance
        secrets = source.redaction.show_secrets
        place = {
            "offset": last.offset if last.offset >= 0 else None,
            "epoch": last.epoch if last.epoch >= 0 else None,
            "secrets": secrets,
        }
        if shape is not None:
            told = parts.items() if "--parts" in parsed.switches else ()
            rows = [{"part": name, "checksum": digest.hex(), **place} for name, digest in told]
            rows.append({"part": None, "checksum": whole, **place})
            n_rows = write_records(context, shape, _TABLES[0].fields, rows)
            return status_of(parsed, n_rows)
        if "--json" in parsed.switches:
            value = {
                "digest": whole,
                **place,
                "parts": {name: digest.hex() for name, digest in parts.items()},
            }
            context.out.write(json.dumps(value) + "\n")
            return 0
        lines = []
        if "--parts" in parsed.switches:
            lines = [f"{digest.hex()}  {name}" for name, digest in parts.items()]
        note = "  with secrets" if secrets else ""
        lines.append(f"{whole}  offset {last.offset}  epoch {last.epoch}{note}")
        context.out.write("\n".join(lines) + "\n")
        return 0


COMMAND = Checksum()
