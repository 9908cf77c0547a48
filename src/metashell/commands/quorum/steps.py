"""The steps after a quorum was lost: those that recorded recoveries of Kafka 4.4 show to work.

They are printed, and never run. Each is safe also where the cause of the loss is another.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Final

from metashell.judgement.log_copies import misnamed
from metashell.judgement.quorum_words import needed_disks, one_of, spoken
from metashell.quorum.description import majority_of

if TYPE_CHECKING:
    from metashell.judgement.lost_quorum import LostQuorum

_STATUS: Final = "kafka-metadata-quorum.sh --bootstrap-controller {} describe --status"


def steps(found: LostQuorum) -> Iterator[str]:
    """Lines with the steps, numbered, each with its command on a line, and what no step can do."""
    todo = [
        "\n".join(
            [
                "Ask each voter once more. If one names a leader, the quorum is not lost: do"
                " nothing of this.",
                *_asked(found),
            ]
        ),
        f"With all voters stopped, copy every directory away. Format none: {_formatted(found)}.",
        *_mending(found),
        *(_starting(found) if found.winners and not found.too_old else _searching(found)),
    ]
    for number, text in enumerate(todo, 1):
        sentence, *commands = text.split("\n")
        yield f"{number}. {sentence}"
        yield from (f"   {command}" for command in commands)
    if not found.voters:
        return
    n = len(found.voters)
    fewer = f"a leader with fewer than {majority_of(n)} of {n} voters, " if n > 1 else ""
    yield (
        f"No supported way in 4.4: {fewer}a leader that no vote elects, other voters while nobody"
        " leads, a broker's log in a voter's place."
    )


def _formatted(found: LostQuorum) -> str:
    """The harm of formatting a voter."""
    if any(found.voters.values()):
        return "a formatted voter has no log, and no vote"
    static = "with static voters " if found.voters else "in a static quorum "
    return (
        f"a formatted voter has no log; {static}it votes all the same, and committed records can be"
        " lost"
    )


def _mending(found: LostQuorum) -> Iterator[str]:
    """The steps that make copies count which are here."""
    for name, directory in misnamed(found.copies).items():
        copy = next(copy for copy in found.copies if copy.name == name)
        only = "" if copy.log.directory_id is None else "If it was never formatted anew: "
        put = f"{only}put directory.id={directory} into meta.properties of {name}"
        yield f"{put[0].upper()}{put[1:]}, and ask again before you start anything."


def _asked(found: LostQuorum) -> list[str]:
    """A command for each voter that the log has an address of."""
    voters = [node for node in found.voters if found.endpoints(node)]
    return [_STATUS.format(_address(found, [node])) for node in sorted(voters) or [-1]]


def _address(found: LostQuorum, nodes: Iterable[int]) -> str:
    """An address of one of some voters, as their log has it."""
    known = (endpoint for node in nodes for endpoint in found.endpoints(node))
    return next(known, "LISTENER://HOST:PORT").partition("://")[2]


def _searching(found: LostQuorum) -> Iterator[str]:
    """The steps where nothing can be started."""
    if found.too_old:
        yield "Find the directories that the nodes used last: a backup is not one of them."
    elif (needed := needed_disks(found)) is not None:
        yield f"Bring back {needed}, with its own meta.properties and quorum-state."
    yield "Ask again with all directories: `quorum --copies`."


def _before_start(found: LostQuorum) -> Iterator[str]:
    """The steps that come before a start of voters that have a flaw."""
    if found.missing and not found.is_sound:
        yield (
            f"Look for the directory of {one_of(found.missing)}, and ask again with it: without it"
            " acknowledged changes can be lost."
        )
    for log in found.chosen[0]:
        if log.name in found.troubles:
            yield (
                f"Before you start {log.node_id}: {found.troubles[log.name]}. Run `check` there."
                " The node does not start with a file that it can't use, and without the file it"
                " may vote twice in an epoch."
            )
        elif log.name in found.flaws:
            yield (
                f"Before you start {log.node_id}: {found.flaws[log.name]}. Run `check` there. A"
                " start deletes what it cuts off: see that the copy of its directory is whole."
            )


def _starting(found: LostQuorum) -> Iterator[str]:
    """The steps to a leader."""
    running = found.chosen[0]
    nodes = sorted(log.node_id for log in running)
    flaws = {node: why for name, why in found.flaws.items() for node in found.nodes([name])}
    yield from _before_start(found)
    addresses = {node: found.endpoints(node) for node in nodes}
    yield (
        f"Start {spoken(nodes)}, {'each ' * (len(nodes) > 1)}on its own directory with its own"
        " node.id and directory.id, and no other voter."
    )
    known = "; ".join(f"{node} at {' '.join(of)}" for node, of in addresses.items() if of)
    who = "Each must" if len(nodes) > 1 else "It must"
    if any(found.voters.values()):
        yield (
            f"{who} listen where the log says: {known}. Votes go there, whatever"
            " controller.quorum.voters says. If a listener moved, put it back first: it can move"
            " once there is a leader."
        )
    else:
        yield (
            f"{who} listen where controller.quorum.voters of the others says. Votes go there."
            f" {f'Registered: {known}.' if known else ''}".rstrip()
        )
    winners = [log.node_id for log in found.best if log.node_id in nodes]
    yield f"Wait until {one_of(winners)} leads.\n{_STATUS.format(_address(found, nodes))}"
    others = [node for node in found.here if node not in nodes and node not in flaws]
    if others:
        yield (
            f"Then start {spoken(others)}: a follower takes over the leader's log, and cuts off"
            " what the leader has not."
        )
    for node in sorted(flaws.keys() & set(found.here) - set(nodes)):
        yield (
            f"Start {node} last, while all others follow one leader: {flaws[node]}. `check`"
            " there says what to do with the file."
        )
    missing = found.missing
    if missing and not found.is_sound:
        yield (
            f"If the directory of {one_of(missing)} is found later, copy it away before you start"
            " that node: it may have acknowledged changes that the leader lacks."
        )
    elif missing:
        yield (
            f"If the directory of {one_of(missing)} is found as its node left it, start that node"
            " then, in the same way."
        )
