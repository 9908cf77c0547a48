"""The two sides that ``diff`` compares: their leaves as they may be shown, and as they are."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING

from metashell.commands.diff.logs import ROOT
from metashell.fs.node import Directory, FixedDirectory, JsonValue, Leaf, Node
from metashell.fs.nodes.root import RootDirectory, image_node
from metashell.redact import Redaction
from metashell.schema.dump import java_double, to_json

if TYPE_CHECKING:
    from metashell.answers.recipes.settings import SettingNames, Settings, SettingValue
    from metashell.fs.differences import Difference, Names
    from metashell.sources.source import Source


class Sides:
    """The nodes of two states: as they may be shown, and as they are."""

    def __init__(self, left: Tree, right: Tree) -> None:
        self.left, self.right = left, right

    def fields(self, names: Names) -> dict[str, tuple[JsonValue, JsonValue]]:
        """The fields of a leaf that differ: what may be shown of both values."""
        old, new = self.left.open_leaf(names), self.right.open_leaf(names)
        shown_old, shown_new = self.left.shown_leaf(names), self.right.shown_leaf(names)
        before, after = _fields(old), _fields(new)
        if before == after:
            # Such as 0.0 and -0.0.
            before, after = {"value": old.text()}, {"value": new.text()}
            shown_before: Mapping[str, JsonValue] = {"value": shown_old.text()}
            shown_after: Mapping[str, JsonValue] = {"value": shown_new.text()}
        else:
            shown_before, shown_after = _fields(shown_old), _fields(shown_new)
        return {
            name: (shown_before.get(name), shown_after.get(name))
            for name in {**before, **after}
            if before.get(name) != after.get(name)
        }

    def one_side(self, difference: Difference) -> Leaf:
        """The leaf that only one state has, as it may be shown."""
        side = self.right if difference.change == "added" else self.left
        return side.shown_leaf(difference.names)


def _fields(leaf: Leaf) -> Mapping[str, JsonValue]:
    """The fields of a leaf; one without structure has the field ``value``."""
    value = leaf.value()
    return value if isinstance(value, Mapping) else {"value": value}


class Tree:
    """Leaves of one state by name, each directory looked up once in a row.

    Args:
        shown: The tree that may be shown.
        is_open: The tree with its secrets.
    """

    def __init__(self, shown: Directory, is_open: Directory) -> None:
        self._shown, self._open = shown, is_open
        self._last: dict[int, tuple[Names, Directory]] = {}

    @classmethod
    def of(cls, source: Source) -> Tree:
        """The tree of a source."""
        if source.redaction.show_secrets:
            return cls(source.root, source.root)
        open_image = Redaction(show_secrets=True)
        is_open = RootDirectory(
            {ROOT: lambda: image_node(lambda: source.image, open_image)},
            lambda: source.coordinator_directories,
        )
        return cls(source.root, is_open)

    def shown_leaf(self, names: Names) -> Leaf:
        """A leaf with its secrets redacted."""
        return self._leaf(self._shown, names)

    def open_leaf(self, names: Names) -> Leaf:
        """A leaf as it is: to compare, never to print."""
        return self._leaf(self._open, names)

    def _leaf(self, root: Directory, names: Names) -> Leaf:
        above, directory = self._last.get(id(root), ((), root))
        if above != names[:-1]:
            directory = root
            for name in names[:-1]:
                child = directory.child(name)
                assert isinstance(child, Directory)
                directory = child
            self._last[id(root)] = names[:-1], directory
        leaf = directory.child(names[-1])
        assert isinstance(leaf, Leaf)
        return leaf


class _Setting(Leaf):
    """A leaf with the value of a setting."""

    def __init__(self, value: SettingValue) -> None:
        self._setting = value

    def text(self) -> str:
        match self._setting:
            case str(text):
                return text
            case float(number):
                return java_double(number)
            case numbers:
                return to_json(numbers)

    def value(self) -> JsonValue:
        return self._setting


def tree_of(settings: Settings) -> Directory:
    """Settings as a tree."""
    below: dict[str, dict[SettingNames, SettingValue]] = {}
    nodes: dict[str, Callable[[], Node]] = {}
    for names, value in settings.items():
        if len(names) == 1:
            nodes[names[0]] = partial(_Setting, value)
        else:
            below.setdefault(names[0], {})[names[1:]] = value
    nodes |= {name: partial(tree_of, rest) for name, rest in below.items()}
    return FixedDirectory(nodes)
