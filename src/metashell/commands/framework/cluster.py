"""One cluster of a fleet, for the commands that look behind the tree.

Such a command gets a context of its own: the root, source and current directory of the cluster that
the current directory is in, or that a path argument names. Changes that it made to its context are
taken over afterwards. Commands that only walk the tree need none of this.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from shlex import quote
from typing import TYPE_CHECKING

from metashell.commands.framework.command import Command, Context
from metashell.commands.framework.command_line import Word
from metashell.errors import ExitCode, InternalError, SourceError, UsageError
from metashell.fs.escape import escape
from metashell.fs.path import CLUSTERS, cluster_path, decode_name, is_absolute, join, split
from metashell.places.uri import shown

if TYPE_CHECKING:
    from metashell.sources.fleet.member import FleetMember
    from metashell.sources.fleet.source import FleetSource
    from metashell.sources.source import Source

_FAILURES_TOLD = 10
_OF_THE_SYSTEM = ("--with",)
"""Options whose value is a directory of the system; a cluster of the fleet stands for its own."""


def run_on_fleet(context: Context, command: Command, args: Sequence[str]) -> int:
    """Run a command on a fleet, and tell which directories it asked for could not be read.

    Raises:
        UsageError: It needs one cluster, and nothing says which.
        MetashellError: The command raises it.
    """
    fleet = context.fleet
    assert fleet is not None
    fleet.begin()
    if command.one_cluster:
        member = _chosen(fleet, context.cwd, args)
        if member is not None:
            return _run_on_member(context, fleet, member, command, args)
        if not command.asks_each(args):
            raise which_cluster_error(fleet)
        args = [_from_inside(fleet, word, None, args, i) for i, word in enumerate(args)]
    try:
        status = int(command.run(context, args))
    finally:
        failures = fleet.failures()
        _tell(context, command, failures)
    if any(isinstance(error, InternalError) for error in failures.values()):
        return ExitCode.INTERNAL
    return status or (ExitCode.FAILED if failures else ExitCode.OK)


def _tell(context: Context, command: Command, failures: Mapping[str, SourceError]) -> None:
    for name, error in list(failures.items())[:_FAILURES_TOLD]:
        prefix = f"{command.name}: {cluster_path(name)}: "
        is_bug = isinstance(error, InternalError)
        for line in error.lines(prefix) if is_bug else [f"{prefix}{error.message}"]:
            context.warn(escape(line))
    if len(failures) > _FAILURES_TOLD:
        n_more = len(failures) - _FAILURES_TOLD
        context.warn(f"{command.name}: {n_more} more can't be read: `fleet` lists them")


def which_cluster_error(fleet: FleetSource) -> UsageError:
    """The error for a command that needs one cluster."""
    example = next(iter(fleet.members))
    message = "this command needs one cluster, and several are open"
    hint = f"go to one, such as `cd {cluster_path(example)}`; `ls /{CLUSTERS}` lists them"
    lost = next((one for one in fleet.members.values() if one.unknown is not None), None)
    if lost is not None:
        message += f". {lost.unknown}"
        hint = f"open it alone: `metashell -d {quote(shown(lost.path))} COMMAND`; or {hint}"
    return UsageError(message, hint=hint)


def opened_here(context: Context) -> Source | FleetSource | None:
    """The source, the fleet's cluster or the fleet itself that the current directory is in.

    Raises:
        SourceError: The cluster can't be read.
    """
    fleet = context.fleet
    member = None if fleet is None else member_at(fleet, context.cwd)
    return context.opened if member is None else member.source()


def opened_sources(context: Context) -> Iterator[Source]:
    """The sources that a question here would be asked, as far as they are open: for completion.

    In a fleet, outside a cluster's directory, only clusters that were looked at already count:
    opening hundreds takes longer than anyone waits for a word.

    Raises:
        UsageError: There is none.
    """
    fleet = context.fleet
    if fleet is None:
        if context.source is None:
            raise UsageError("no source is open")
        yield context.source
        return
    here = member_at(fleet, context.cwd)
    if here is not None:
        with suppress(SourceError):
            yield here.source()
        return
    yield from filter(None, [member.opened for member in fleet.members.values()])


def inside(context: Context) -> Context | None:
    """The context of the cluster that the current directory is in; None where it is in none.

    Raises:
        SourceError: The cluster can't be read.
    """
    fleet = context.fleet
    member = None if fleet is None else member_at(fleet, context.cwd)
    return None if member is None else context_of(context, member)


def _run_on_member(
    context: Context,
    fleet: FleetSource,
    member: FleetMember,
    command: Command,
    args: Sequence[str],
) -> int:
    try:
        before = member.source()
    except InternalError:
        raise
    except SourceError as error:
        raise SourceError(f"{_path_of(member)}: {error.message}") from error
    own = context_of(context, member)
    was_there = member_at(fleet, context.cwd) is member
    words = [_from_inside(fleet, word, member, args, i) for i, word in enumerate(args)]
    try:
        return int(command.run(own, words))
    finally:
        if own.source is not None and own.source is not before:
            member.show(own.source)
        if was_there:
            context.cwd = join(_path_of(member), own.cwd.lstrip("/")).rstrip("/")


def context_of(context: Context, member: FleetMember) -> Context:
    """The context of a member.

    Raises:
        SourceError: The cluster can't be read.
    """
    source, own_path = member.source(), _path_of(member)
    is_in = context.cwd == own_path or context.cwd.startswith(f"{own_path}/")
    cwd = context.cwd[len(own_path) :] if is_in else ""
    return replace(
        context, root=source.root, source=source, fleet=None, cwd=cwd or "/", previous_cwd=None
    )


def contexts_of(context: Context) -> Iterator[tuple[str, Context]]:
    """The names and contexts of a fleet's members, of the one that the current directory is in.

    One that can't be read is left out, and told of by who runs commands on fleets.
    """
    fleet = context.fleet
    assert fleet is not None
    here = member_at(fleet, context.cwd)
    for member in [here] if here is not None else list(fleet.members.values()):
        try:
            own = context_of(context, member)
        except SourceError as error:
            fleet.failed(member, error)
            continue
        yield member.name, own


def warn_of(context: Context, command: Command, cluster: str | None, text: str) -> None:
    """Warn of a cluster in the name of a command, which may stand before the text."""
    whose = "" if cluster is None else f"{cluster}: "
    context.warn(escape(f"{command.name}: {whose}{text.removeprefix(f'{command.name}: ')}"))


def _chosen(fleet: FleetSource, cwd: str, args: Sequence[str]) -> FleetMember | None:
    """The member that the arguments name, else the one of the current directory, else the only one.

    Raises:
        UsageError: The arguments name several.
    """
    named: dict[str, FleetMember] = {}
    for i, word in enumerate(args):
        if not _is_of_the_system(args, i) and is_absolute(word):
            member = member_at(fleet, word)
            if member is not None:
                named[member.name] = member
    if len(named) > 1:
        raise UsageError(
            f"the arguments name two clusters: {' and '.join(list(named)[:2])}",
            hint="run the command once for each",
        )
    here = member_at(fleet, cwd)
    if named:
        return next(iter(named.values()))
    if here is not None:
        return here
    if len(fleet.members) == 1:
        return next(iter(fleet.members.values()))
    return None


def member_at(fleet: FleetSource, path: str) -> FleetMember | None:
    """The member that an absolute path lies in."""
    parts = split(path)
    if len(parts) < 2 or parts[0] != CLUSTERS:
        return None
    return fleet.members.get(parts[1]) or fleet.members.get(decode_name(parts[1]))


def _path_of(member: FleetMember) -> str:
    return cluster_path(member.name)


def _is_of_the_system(args: Sequence[str], i: int) -> bool:
    return (i > 0 and args[i - 1] in _OF_THE_SYSTEM) or args[i].startswith("--with=")


def _from_inside(
    fleet: FleetSource, word: str, member: FleetMember | None, args: Sequence[str], i: int
) -> str:
    """An argument as the member's own tree has it; None for every member."""
    if _is_of_the_system(args, i):
        option, equals, value = word.partition("=") if word.startswith("--") else ("", "", word)
        other = member_at(fleet, value) if is_absolute(value) else None
        return word if other is None else f"{option}{equals}{other.path}"
    if member is None or not is_absolute(word) or member_at(fleet, word) is not member:
        return word
    text = _below(word)
    if not isinstance(word, Word):
        return text
    return Word(
        text,
        _below(word.pattern),
        wild=word.wild,
        start=word.start,
        raw=word.raw,
        open_quote=word.open_quote,
    )


def _below(path: str) -> str:
    """A path without its first two components; quoting never adds or takes a slash."""
    parts = path.split("/")
    left = 2
    while left and parts:
        left -= parts.pop(0) not in ("", ".")
    return "/" + "/".join(parts)
