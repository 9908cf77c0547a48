"""The option ``--assume FILE`` of every command whose answer a node's own configuration decides."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from metashell.commands.framework.options import Option

if TYPE_CHECKING:
    from metashell.answers.assume import Assumptions
    from metashell.commands.framework.options import Parsed

ASSUME: Final = Option(
    ("--assume",),
    "take what the metadata does not say from a node's server.properties, for all nodes",
    metavar="FILE",
)


def assumptions_of(parsed: Parsed) -> Assumptions:
    """The assumptions that the user vouches for; none without the option.

    Raises:
        SourceError: The file can't be read.
    """
    from metashell.answers.assume import NO_ASSUMPTIONS, load_assumptions

    flag = ASSUME.flags[0]
    path = parsed.values.get(flag)
    if path is None:
        return NO_ASSUMPTIONS
    if flag not in parsed.read:
        parsed.read[flag] = load_assumptions(path)
    found: Assumptions = parsed.read[flag]
    return found
