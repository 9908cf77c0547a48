"""The neighbours of a node as a small tree to walk."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, ClassVar, Final

from textual import events
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from metashell.tui.frame.box import ListBox
from metashell.tui.jobs import Job
from metashell.tui.node.relations import Relation, Relations, relations_of
from metashell.tui.part import quiet_key, shown_key
from metashell.tui.text import line

if TYPE_CHECKING:
    from textual.message_pump import MessagePump

    from metashell.tui.app import Explorer

_WIDEST: Final = 28


def look_for_neighbours(
    explorer: Explorer, path: str, owner: MessagePump, then: Callable[[Relations], object]
) -> None:
    """Find the neighbours of a node; say so where none are known.

    Args:
        explorer: The program.
        path: A path below the cluster's root.
        owner: Who looks.
        then: Called with what was found.
    """
    view_state = explorer.view_state

    def work(job: Job) -> Relations | None:
        if view_state is None or view_state.cluster is None:
            return None
        return relations_of(view_state, path, job.cancelled)

    def done(found: Relations | None) -> None:
        if found is None or not found.groups:
            explorer.tell(f"no neighbours of {path} are known")
        else:
            then(found)

    explorer.jobs.start(
        f"looking for neighbours of {path}", work, done, owner=owner, key="relations", leads=True
    )


class _Neighbours(OptionList):
    """The lines of the tree."""

    BINDINGS: ClassVar = [
        shown_key("enter", "select", "Go there", "relations.go"),
        shown_key("right,l", "screen.into", "Neighbours", "relations.into"),
        shown_key("left,h", "screen.out", "Back", "relations.out"),
    ]


class RelationsScreen(ListBox[None]):
    """The neighbours of a node, of which one can be gone to or looked at in turn.

    Args:
        found: The neighbours to begin with.
    """

    HELP = (
        "The neighbours of the selected node. `enter` goes to one. `right` shows the neighbours "
        "of that one, `left` goes back.\n\n"
        "A letter goes to a group: `t` topic, `c` configs, `p` partitions, `b` brokers, `a` "
        "ACLs, `u` quotas, `r` records. `alt+left` brings you back to where you were."
    )
    BINDINGS: ClassVar = [quiet_key("R", "leave", "Back", "relations.leave")]
    DEFAULT_CSS = """
    RelationsScreen > Vertical { height: 90%; max-height: 44; }
    RelationsScreen OptionList { height: 1fr; }
    """

    def __init__(self, found: Relations) -> None:
        super().__init__()
        self._walked = [found]
        """The neighbours of the nodes on the way, the last ones are shown."""
        self._shown: list[Relation] = []
        """The neighbour that each line is about."""

    def make_list(self) -> OptionList:
        """A list whose arrows walk."""
        return _Neighbours(compact=True, markup=False)

    def on_mount(self) -> None:
        """Show the neighbours."""
        self.choices.focus()
        self._draw()

    @property
    def walked(self) -> str:
        """The node whose neighbours are shown, a path below the cluster's root."""
        return self._walked[-1].path

    @property
    def shown(self) -> list[Relation]:
        """All neighbours and groups, line by line."""
        return self._shown

    @property
    def chosen(self) -> Relation | None:
        """The neighbour under the cursor."""
        at = self.choices.highlighted
        return None if at is None else self._shown[at]

    def _draw(self) -> None:
        found, options = self._walked[-1], self.choices
        self.query_one(Vertical).border_title = line(f"neighbours of {found.path}")
        options.clear_options()
        self._shown = []
        for i, group in enumerate(found.groups):
            is_last = i + 1 == len(found.groups)
            self._add(group, "└ " if is_last else "├ ")
            for j, child in enumerate(group.children):
                stem = "  " if is_last else "│ "
                self._add(child, stem + ("└ " if j + 1 == len(group.children) else "├ "))
        options.highlighted = 0

    def _add(self, relation: Relation, stem: str) -> None:
        self._shown.append(relation)
        letter = f"{relation.key} " if relation.key else ""
        name = line(relation.name).truncate(_WIDEST, ellipsis=True, pad=True)
        self.choices.add_option(
            Option(Content.assemble(stem, (letter, "bold"), name, "  ", line(relation.told)))
        )

    def on_key(self, event: events.Key) -> None:
        """Go to the group of a letter."""
        for at, relation in enumerate(self._shown):
            if relation.key and relation.key == event.key:
                event.stop()
                self.choices.highlighted = at
                return

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Go there."""
        event.stop()
        relation = self._shown[event.option_index]
        view_state = self.explorer.view_state
        if view_state is None:
            return
        if relation.chip is not None:
            self.dismiss()
            self.explorer.show_records(relation.chip)
        elif relation.path is not None:
            self.dismiss()
            self.explorer.go(view_state.prefix + relation.path)
        else:
            self.explorer.tell(f"{relation.name} have no node of their own: choose one")

    def action_into(self) -> None:
        """Show the neighbours of the neighbour."""
        relation = self.chosen
        if relation is None or relation.path is None:
            self.explorer.tell("this has no neighbours")
        elif relation.path != self.walked:
            look_for_neighbours(self.explorer, relation.path, self, self._walk)

    def _walk(self, found: Relations) -> None:
        self._walked.append(found)
        self._draw()

    def action_out(self) -> None:
        """Go back to the neighbours before."""
        if len(self._walked) > 1:
            self._walked.pop()
            self._draw()
        else:
            self.dismiss()
