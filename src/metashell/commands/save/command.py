"""``save``: what a source was read from, as a directory of its own or as an archive.

Owns the rules of where it is written: beside nothing of Kafka's, and over nothing.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Final

from metashell.commands.framework.command import Command, Completion, Context, Manual
from metashell.commands.framework.local_places import complete_local, refuse_kafkas
from metashell.commands.framework.options import Option, parse_options, refuse_more
from metashell.commands.framework.targets import shown, stop_if_cancelled
from metashell.errors import MetashellError, UsageError
from metashell.fs.escape import escape

if TYPE_CHECKING:
    from metashell.sources.source import Source

_DRY_RUN: Final = "--dry-run"
_REDACT: Final = "--redact"


class SaveCommand(Command):
    """Save the source as a metadata directory, also without secrets.

    Writes the source's checkpoint and log into DIR/__cluster_metadata-0. `metashell -d DIR` and
    Kafka's own tools read that directory. For a quorum, these are the records fetched so far.
    At an earlier state (`at`, --at), the log ends at that state's batch. Damaged batches are
    left out and reported.

    A name that ends with .tar, .tar.gz, .tgz or .zip is an archive of that directory, which
    `metashell -d FILE` opens.

    DIR must be missing or empty, FILE missing, and both must lie outside Kafka's directories.
    They appear when everything is written, or not at all. Prints the path of each file.

    Only the owner can read them: the log holds SCRAM credentials, delegation tokens and
    passwords in configs. --show-secrets does not change that.

    With --redact, nothing is written that only --show-secrets shows: the copy can be given to
    others. SCRAM salts and keys, secret configs and the data of delegation tokens are replaced;
    a token's id stays. Offsets, times, epochs and counts stay, and each changed batch gets a
    new CRC. Records and tagged fields that no definition describes are left out: a NoOpRecord
    takes the place of such a record. Compressed batches are written uncompressed. The file
    redacted.json is the manifest: what was taken, from where, when, by which version, what was
    replaced and what is left out. Indexes, logs of other topics and the node's own files are
    never taken.

    A redacted copy is no backup. Never start a node on it. It has no node.id, and `check` and
    `health` say that it is redacted.
    """

    group = "whole cluster"
    one_cluster = True
    manual = Manual(
        synopsis="save [--redact] [--dry-run] DIR | FILE",
        options=(
            Option((_REDACT,), "Replace secrets, and leave out what is not understood."),
            Option((_DRY_RUN,), "Print what would be written, and write nothing."),
        ),
        examples=(
            (f"save {_DRY_RUN} copy-of-cluster", "what would be saved"),
            (f"save {_REDACT} {_DRY_RUN} for-support.tar.gz", "what others would get"),
        ),
    )

    def run(self, context: Context, args: Sequence[str]) -> int:
        """Write the directory or the archive."""
        from metashell.commands.save.contents import contents_of
        from metashell.commands.save.writing import archive_suffix, write_copy

        parsed = parse_options(self, args)
        refuse_more(self, parsed.arguments, most=1)
        if not parsed.arguments or not parsed.arguments[0]:
            raise UsageError("which directory?", hint=f"usage: {self.manual.synopsis}")
        typed = str(parsed.arguments[0])
        source = context.needs_metadata()
        if source.log.is_file:
            raise UsageError(
                "`save` needs a directory or a quorum, and one file is open",
                hint="copy the file itself",
            )
        is_archive = archive_suffix(typed) is not None
        target = _checked_target(typed, source, is_archive=is_archive)
        is_redacted, is_dry = (flag in parsed.switches for flag in (_REDACT, _DRY_RUN))
        warn = partial(_warn, context)
        copy, contents, note = contents_of(source, is_redacted=is_redacted, warn=warn)
        if not is_dry:
            write_copy(typed, target, contents, partial(stop_if_cancelled, context))
        for name in [typed] if is_archive else [os.path.join(typed, name) for name in contents]:
            context.out.write(shown(context, name) + "\n")
        where = "nothing" if copy.last_offset is None else f"up to offset {copy.last_offset}"
        if copy.checkpoint_end:
            where += f"; changes before offset {copy.checkpoint_end} are left out"
        warn(f"{'would save' if is_dry else 'saved'} {copy.size:,} bytes, {where}; {note}")
        return 0

    def propose(self, context: Context, args: Sequence[str], word: str) -> list[Completion]:
        """Propose directories of the file system that the shell runs on."""
        return complete_local(word)


def _warn(context: Context, text: str) -> None:
    context.warn(escape(f"save: {text}"))


def _checked_target(typed: str, source: Source, *, is_archive: bool) -> str:
    """The directory or file to make, without symbolic links.

    Raises:
        MetashellError: It is there already, its parent is not, or it lies in a directory of
            Kafka's.
    """
    target = os.path.realpath(typed)
    name = escape(typed)
    refuse_kafkas(name, target, source.local_directories)
    parent = os.path.dirname(target)
    if not os.path.isdir(parent):
        raise MetashellError(f"{escape(parent)}: No such directory", hint=f"to save {name} in it")
    if not os.path.lexists(target):
        return target
    if is_archive:
        raise MetashellError(f"{name}: exists already", hint="choose a new file")
    if not os.path.isdir(target):
        raise MetashellError(f"{name}: exists, and is not a directory")
    try:
        is_empty = not os.listdir(target)
    except OSError as error:
        raise MetashellError(f"{name}: {error.strerror or error}") from error
    if not is_empty:
        raise MetashellError(
            f"{name}: exists, and is not empty",
            hint="choose a new directory; `save` never overwrites files",
        )
    return target


COMMAND = SaveCommand()
