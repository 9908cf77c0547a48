"""The directories of the image's parts, made of their declarations."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from metashell.fs.node import Directory, FixedDirectory, Leaf, Node, TextLeaf
from metashell.fs.nodes.tables import GroupDirectory, RowDirectory
from metashell.fs.touch_times import TableTimes, Times
from metashell.image.keyed import PartRows
from metashell.parts.forms import code_names
from metashell.parts.known import parts_below
from metashell.parts.spec import NamedCodes, PartSpec, hook

if TYPE_CHECKING:
    from metashell.fs.texts import Judge
    from metashell.image.image import Image
    from metashell.redact import Redaction
    from metashell.schema.arena import I64


def directory_below(load: Callable[[], Image], name: str, redaction: Redaction) -> Node | None:
    """The directory of that name below ``/image``, None where no part has it.

    Args:
        load: Gives the image; called where there is such a directory.
        name: Its name.
        redaction: Says what may be shown.
    """
    parts = parts_below(name)
    if not parts:
        return None
    image = load()
    for part in parts:
        if part.node:
            whole: Node = hook(part.node)(image, redaction)
            return whole
    return _nested(image, parts, 1, redaction)


def _nested(image: Image, parts: Sequence[PartSpec], depth: int, redaction: Redaction) -> Node:
    """The directory that some parts have in common, down to a depth of their paths."""
    if len(parts) == 1 and len(parts[0].path) == depth:
        return part_node(image, parts[0], redaction)
    below: dict[str, list[PartSpec]] = {}
    for part in parts:
        below.setdefault(part.path[depth], []).append(part)

    def maker(some: Sequence[PartSpec]) -> Callable[[], Node]:
        return lambda: _nested(image, some, depth + 1, redaction)

    return FixedDirectory({name: maker(some) for name, some in below.items()})


def part_node(image: Image, part: PartSpec, redaction: Redaction) -> Directory:
    """The directory of a part."""
    return _PartNodes(image, part, redaction).directory()


class _PartNodes:
    """Makes the nodes of one part."""

    def __init__(self, image: Image, part: PartSpec, redaction: Redaction) -> None:
        self._image, self._part, self._redaction = image, part, redaction
        self._rows = PartRows(image, part)

    def directory(self) -> Directory:
        levels = self._part.levels
        if not levels:
            return FixedDirectory({self._part.leaf: self._only})
        if levels[0].is_fixed:
            return self._fixed()
        if len(levels) == 1:
            return RowDirectory(
                lambda: {names[0]: row for row, names in self._named()},
                lambda _, row: self._leaf(row),
                self._times(),
                self._codes(),
            )
        return GroupDirectory(
            lambda: self._groups, lambda _, __, row: self._leaf(row), self._times(), self._codes()
        )

    def _named(self) -> Iterator[tuple[int, tuple[str, ...]]]:
        """Rows that have a leaf, and its names."""
        return ((row, names) for row, names in enumerate(self._rows.names()) if names is not None)

    @cached_property
    def _groups(self) -> Mapping[str, Mapping[str, int]]:
        """Rows by both names; of two with the same names the later one counts."""
        found: dict[str, dict[str, int]] = {}
        for row, (group, leaf) in self._named():
            found.setdefault(group, {})[leaf] = row
        return found

    def _leaf(self, row: int) -> Leaf:
        view = self._rows.view

        def value() -> object:
            return self._rows.value(row, self._redaction)

        return TextLeaf(lambda: view.text(value()), value)  # type: ignore[arg-type]

    def _times(self) -> TableTimes:
        image, part = self._image, self._part
        return TableTimes(
            lambda: image.touched.newest_of(part),
            lambda: image.part(part.name),
            lambda: image.touched.newest_by_level(part),
        )

    def _codes(self) -> Callable[[Judge], I64] | None:
        """Gives a judge's code of each row; None where its tests are not about the part."""
        if not self._part.is_judged:
            return None
        return lambda judge: getattr(judge, self._part.name)(self._image)

    # A directory for each code, whether anything is in it or not.

    def _fixed(self) -> Directory:
        form = self._part.key[0].form
        assert isinstance(form, NamedCodes)
        names = code_names(form).items()
        return FixedDirectory({name: self._of_code(code, name) for code, name in names})

    def _of_code(self, code: int, name: str) -> Callable[[], Node]:
        image, part = self._image, self._part
        times = TableTimes(
            lambda: image.touched.newest_by_code(part).get(code, -1), lambda: image.part(part.name)
        )
        return lambda: RowDirectory(
            lambda: self._groups.get(name, {}), lambda _, row: self._leaf(row), times
        )

    # One value.

    def _only(self) -> Leaf:
        rows, part = self._rows, self._part

        def value() -> object:
            return rows.value(0, self._redaction) if len(rows.part) else part.absent

        def times() -> Times | None:
            table = rows.part
            return Times(int(table.created[0]), int(table.changed[0])) if len(table) else None

        return TextLeaf(lambda: rows.view.text(value()), value).timed(times)  # type: ignore[arg-type]
