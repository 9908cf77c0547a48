"""The things of a part, by row: keys, names, values and facts, as its declaration has them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from metashell.parts.spec import NodeNames, PartSpec
from metashell.parts.view import BoundField, FactKey, PartView, view_of
from metashell.redact import Redaction
from metashell.schema.rows import value_of, values_of

if TYPE_CHECKING:
    from metashell.image.image import Image
    from metashell.image.keyed import Part
    from metashell.parts.forms import Fact
    from metashell.schema.arena import I64

FactRows = Mapping["FactKey", "tuple[Fact, ...]"]
"""The things of one kind: their facts by key."""

_READ_ONE_BY_ONE: Final = 32
"""Rows whose values are read singly; of more, all are."""


class PartRows:
    """The rows of a part of an image. Keys are made for all at once, values one by one."""

    def __init__(self, image: Image, spec: PartSpec) -> None:
        self._image, self.spec = image, spec
        self.view: PartView = view_of(spec, image.records.registry)
        self._n_read = 0

    @property
    def part(self) -> Part:
        """The part. Cost: folds it."""
        return self._image.part(self.spec.name)

    @cached_property
    def _key_columns(self) -> Sequence[list[Any]]:
        return [self._facts(field) for field in self.view.key]

    @cached_property
    def keys(self) -> Sequence[FactKey]:
        """The key of each."""
        columns = self._key_columns
        return list(zip(*columns, strict=True)) if columns else [()] * len(self.part)

    def names(self) -> Sequence[NodeNames | None]:
        """Names of each one's leaf below the part's directory."""
        columns = dict(zip((f.column for f in self.view.key), self._key_columns, strict=True))
        levels = [
            list(map(name, *(columns[column] for column in level.of)))
            for level, name in zip(self.spec.levels, self.view.levels, strict=True)
        ]
        names = list(zip(*levels, strict=True))
        if not self.view.may_be_nowhere:
            return names
        return [None if None in each else each for each in names]

    # Values.

    def value(self, row: int, redaction: Redaction) -> Any:
        """A leaf's value."""
        key = tuple([column[row] for column in self._key_columns])
        return self.view.value(key, [read(row) for read in self._read()], redaction)

    def _read(self) -> Sequence[Callable[[int], Any]]:
        """The functions that read each field of a row."""
        self._n_read += 1
        return self._one_by_one if self._n_read <= _READ_ONE_BY_ONE else self._all_at_once

    @cached_property
    def _one_by_one(self) -> Sequence[Callable[[int], Any]]:
        columns = self.part.columns.fields

        def reader(field: BoundField) -> Callable[[int], Any]:
            return lambda row: value_of(field.spec, columns[field.column], row)

        return [reader(field) for field in self.view.fields]

    @cached_property
    def _all_at_once(self) -> Sequence[Callable[[int], Any]]:
        columns = self.part.columns.fields
        return [
            values_of(field.spec, columns[field.column]).__getitem__ for field in self.view.fields
        ]

    # Tables and digests.

    def hidden(self, column: str, redaction: Redaction) -> list[bool] | None:
        """Whether a table must not show a column, for each row; None where it shows all."""
        view = self.view
        if redaction.show_secrets or not view.may_hide:
            return None
        if column in view.secret_columns:
            return [True] * len(self.part)
        if view.hides_always or column not in {field.column for field in view.own_fields}:
            return None
        return [column in view.hidden(key, redaction) for key in self.keys]

    def facts(self, redaction: Redaction, rows: I64 | None = None) -> FactRows:
        """The facts of each, or of some rows, by key; without what has no leaf."""
        view, spec = self.view, self.spec
        if spec.absent is not None and not len(self.part):
            return {(): (spec.absent,)}
        columns = [self._facts(field) for field in view.own_fields]
        facts = view.row_facts(self.keys, columns, redaction)
        keys: Sequence[FactKey] = self.keys
        if rows is not None:
            at = rows.tolist()
            keys, facts = [keys[i] for i in at], [facts[i] for i in at]
        found = dict(zip(keys, facts, strict=True))
        if not view.may_be_nowhere:
            return found
        return {key: each for key, each in found.items() if view.names_of(key) is not None}

    def _facts(self, field: BoundField) -> list[Any]:
        return field.facts(values_of(field.spec, self.part.columns.fields[field.column]))
