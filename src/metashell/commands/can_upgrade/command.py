"""`can-upgrade`: whether a feature can be raised to a level, and who blocks it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from metashell.answers.releases import newest_levels
from metashell.commands.framework.command import Completion, Context, Manual
from metashell.commands.framework.options import Option, Parsed
from metashell.commands.nodes import GHOST_AFTER
from metashell.commands.rows.columns import flag, integer, one_table, sentence, text
from metashell.commands.rows.command import RowsCommand
from metashell.commands.rows.query import RowsQuery
from metashell.image.features import METADATA_VERSIONS

_FEATURE: Final = Option(
    ("--feature",), "Ask about another feature, such as transaction.version=2.", "NAME=LEVEL"
)


class CanUpgradeCommand(RowsCommand):
    """Tell whether metadata.version can be raised, and which nodes block it.

    Tells whether metadata.version can be raised to VERSION. VERSION is a release (4.1 means its
    newest level), a level's name (4.1-IV1) or its number (27). The answer is yes, with the
    command that does it and exit status 0. Or it lists each node that blocks it, with what to
    do, and exit status 1.

    The steps to the level come in their order, each with whether it can go back. Software of
    4.0 and later does not run below level 3.3-IV3: then the old software raises the level
    first. If the log has no level, a warning says what follows. kraft.version depends on no
    level. It can be raised from 4.1 on, and never goes back.

    The command raises one feature. `kafka-features.sh upgrade --release-version` raises every
    feature to the level of a release. On a static quorum this includes kraft.version.

    The controller's own rules apply. Every registered broker must support the level, even a
    fenced broker. Every registered controller must support it, even if it is not a voter.
    Before 3.7-IV0 controllers can't be checked. The voters of a static quorum must be
    registered. A downgrade is named as one. Kafka refuses a downgrade that may lose metadata. A
    level that no known release has is an error, unless a registered node supports it.

    Formats for programs (-o json and others) have a row for each blocker, and none for yes.
    """

    group = "what is wrong"
    of_each_cluster = True
    noun = ("blocker", "blockers")
    tables = one_table(
        integer("id", "The node that blocks it; null if it is no node.", priority=9),
        text("role", "broker or controller.", priority=6),
        text("release", "The Kafka release that its software seems to be.", priority=5),
        sentence("reason", "Why it blocks.", priority=8),
        sentence("ghost", "Registered, but not running: why. Else null."),
        sentence("remedy", "The command that removes it, or what else to do.", priority=8),
        integer(
            "step", "The step of the way that removes it; null if there is no way.", shown=False
        ),
        flag("removes", "Whether the remedy is a command that removes it.", shown=False),
        flag("fenced", "Whether the broker is fenced.", shown=False),
        text("fenced_for", "How long it has been fenced at the last record.", shown=False),
        text("feature", "The feature asked about.", shown=False),
        integer("level", "The level asked about.", shown=False),
        integer("min_level", "The lowest level that the node supports.", shown=False),
        integer("max_level", "The highest level that the node supports.", shown=False),
    )
    manual = Manual(
        synopsis="can-upgrade [OPTIONS] VERSION",
        options=(_FEATURE, GHOST_AFTER),
        examples=(
            ("can-upgrade 4.4", "whether the cluster can be raised to 4.4"),
            ("can-upgrade 27 -o json", "the nodes that block level 27"),
            ("can-upgrade --feature group.version=1", "another feature"),
        ),
    )

    def run_parsed(self, context: Context, parsed: Parsed) -> int:
        """Tell people yes or no first; machines get rows alone."""
        shape = self.shape_of(parsed, self.columns_of(parsed))
        if shape.form != "table" or {"--count", "--exit-code"} & parsed.switches:
            return super().run_parsed(context, parsed)
        from metashell.commands.can_upgrade.answer import write_verdict

        return write_verdict(self, context, parsed, shape)

    def answer(self, query: RowsQuery) -> None:
        """Add the nodes that block it."""
        from metashell.commands.can_upgrade.answer import answer

        answer(self, query)

    def propose(self, context: Context, args: Sequence[str], word: str) -> list[Completion]:
        """Propose releases and names of levels."""
        names = [*newest_levels(), *METADATA_VERSIONS.values()]
        return [Completion(name, -len(word), name) for name in names if name.startswith(word)]


COMMAND = CanUpgradeCommand()
