"""Lines by the kernel: columns become its tables, and what it writes is the lines' bytes.

The lines are those of `metashell.records.field_texts`, byte for byte. That writes what the kernel
does not: types that may hold secrets, records at fault, doubles, structs that may be null, and
strings that are not UTF-8; of lines to be read all structs, strings that need quotes, and topics
without a name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from ctypes import CDLL
from types import MappingProxyType
from typing import Final

import numpy as np

from metashell.kernel import lines as kernel
from metashell.kernel.ids import Ids
from metashell.kernel.lines import LineTexts
from metashell.records.field_texts import is_flat
from metashell.records.filter import TopicNames
from metashell.records.line_forms import field_key
from metashell.records.words import codes_of, in_reading_order
from metashell.records.written_lines import ENCODING, WrittenLines
from metashell.schema.arena import I64, AnyArray, Arena, Bools
from metashell.schema.columns import (
    Columns,
    FixedColumn,
    SpanColumn,
    StructArrayColumn,
)
from metashell.schema.model import ELEMENT, FieldSpec, MessageSpec
from metashell.schema.scalar import default_value


def write_lines(
    library: CDLL, arena: Arena, kinds: Sequence[tuple[LineTexts, int]], kind_of: AnyArray
) -> tuple[WrittenLines, I64]:
    """Write lines.

    Args:
        library: The kernel's.
        arena: The bytes that the columns point into.
        kinds: For each kind of line what stands in it, and how many messages there are.
        kind_of: int32[n]: the kind of each line, -1 for none.

    Returns:
        (the lines, some empty; int64[k]: which are empty, and left to Python).
    """
    data = arena.content
    written, stops, is_left = kernel.write(library, data, kinds, kind_of)
    bounds = np.zeros(len(stops) + 1, dtype=np.int64)
    bounds[1:] = stops
    return WrittenLines(written, bounds), np.flatnonzero(is_left)


class NativeTexts:
    """Some lines by the kernel; see `metashell.records.line_forms.LinePieces`.

    Args:
        arena: The bytes that the columns point into.
        names: Names of topics.
        texts: The pieces so far.
    """

    def __init__(self, arena: Arena, names: Names, texts: LineTexts) -> None:
        self._arena, self._names, self.texts = arena, names, texts
        self._literal, self._opens = "", False

    def copy(self) -> NativeTexts:
        """A copy, to be continued."""
        self._flush()
        return NativeTexts(self._arena, self._names, self.texts.copy())

    def finished(self, end: str) -> LineTexts:
        """The lines, with a text at the end of each."""
        self.literal(f"{end}\n")
        self._flush()
        return self.texts

    def literal(self, text: str, *, opens: bool = False) -> None:
        """Add a text that all lines have; `opens` where fields follow it."""
        self._literal += text
        self._opens = opens

    def _flush(self) -> None:
        if self._literal:
            kind = kernel.OPEN if self._opens else kernel.LITERAL
            self.texts.add(kind, self._literal.encode(*ENCODING))
        self._literal, self._opens = "", False

    def numbers(self, key: str, values: AnyArray) -> None:
        """Add a number of each line: of its place, not of its message."""
        self._flush()
        # Headers are in the order of the bytes.
        self.texts.add(kernel.NUMBER, key.encode(), values.astype(np.int64), is_of_line=True)

    def times(self, key: str, values: I64, none: str | None = None) -> bool:
        """Add a time of each line, in milliseconds, as text."""
        self._flush()
        self.texts.add(kernel.TIME, key.encode(), values, is_of_line=True)
        return none is None or not (values < 0).any()

    def flag(self, key: str, values: Bools) -> None:
        """Add whether something holds of each line."""
        self._flush()
        self.texts.add(kernel.BOOL, key.encode(), values, is_of_line=True, is_signed=False)

    def choice(
        self, key: str, choices: Sequence[str], numbers: I64, *, is_of_line: bool = True
    ) -> None:
        """Add one of some texts, not all empty; a line with another number is left to Python."""
        self._flush()
        raws = [text.encode(*ENCODING) for text in choices]
        self.texts.add(kernel.CHOICE, key.encode(), numbers, is_of_line=is_of_line)
        bounds = np.cumsum([0, *map(len, raws)])
        self.texts.choose(np.frombuffer(b"".join(raws), dtype=np.uint8), bounds)

    def fields(
        self, spec: MessageSpec, version: int, columns: Columns, without: str | None = None
    ) -> bool:
        """Add the fields of each message."""
        codes: Mapping[str, Mapping[int, str]] = {}
        if self.texts.is_bare:
            spec, codes = in_reading_order(spec), codes_of(spec.name)
        fields = [field for field in spec.fields if field.column_name != without]
        if self.texts.is_bare:
            # Between a sign that opens and the first field stands no other one.
            needs_one = self._opens and not any(
                version in f.versions and version not in f.tagged and not f.is_array for f in fields
            )
            if needs_one or not is_flat(spec, version):
                return False
            self._literal = self._literal.removesuffix(" ") if self._opens else self._literal
            self._opens = False
        self._flush()
        return add_fields(self.texts, fields, version, columns, self._arena, codes)

    def each(self, texts: Callable[[], Sequence[str]]) -> bool:
        """Leave them to Python."""
        return False

    def topics(self, ids: AnyArray) -> bool:
        """Add what each line says of its topic."""
        self._flush()
        key = " topic=" if self.texts.is_bare else ',"topic":'
        self._names.add_to(self.texts, key, ids, leaves_unknown=self.texts.is_bare)
        return True


class Names:
    """Names of topics, by number; there are more and more of them.

    Args:
        library: The kernel's.
        names: The known names.
        texts_of: How lines say names.
        no_name: How a line says that there is none.
    """

    def __init__(
        self,
        library: CDLL,
        names: TopicNames,
        texts_of: Callable[[Sequence[str]], Sequence[str]],
        no_name: str,
    ) -> None:
        self._ids, self._names, self._texts_of = Ids(library), names, texts_of
        self._data, self._bounds = b"", np.zeros(1, dtype=np.int64)
        self._choice_of = np.empty(0, dtype=np.int64)
        """int64: which text is that of each id; 0, that of no name, may yet change."""
        self._said: list[str | None] = []
        """Each text, None for that of no name."""
        self._add([no_name])
        self._said[0] = None

    def add_to(
        self, texts: LineTexts, key: str, ids: AnyArray, *, leaves_unknown: bool = False
    ) -> None:
        """Add the name of each message's topic to what stands in a line.

        Args:
            texts: The texts of the lines.
            key: The text before the name.
            ids: V16[n]: the topics' ids.
            leaves_unknown: Whether a line is left to Python where nothing tells its name.
        """
        choices = self._choices(ids)
        if leaves_unknown:
            choices = np.where(choices == 0, -1, choices)
        texts.add(kernel.CHOICE, key.encode(), choices)
        texts.choose(np.frombuffer(self._data, dtype=np.uint8), self._bounds)

    def said(self, ids: AnyArray) -> list[str | None]:
        """How a line says the topic of each id; None where nothing tells its name."""
        return [self._said[choice] for choice in self._choices(ids).tolist()]

    def _choices(self, ids: AnyArray) -> I64:
        numbers = self._ids.numbers(ids)
        self._choice_of = np.append(
            self._choice_of, np.zeros(len(self._ids) - len(self._choice_of), dtype=np.int64)
        )
        choices: I64 = self._choice_of[numbers]
        if not choices.all():
            self._look_up(np.unique(numbers[choices == 0]))
            choices = self._choice_of[numbers]
        return choices

    def _look_up(self, numbers: I64) -> None:
        ids = self._ids.at(numbers)
        self._names.look_up(ids)
        # A name that nothing tells yet may still come by.
        names = list(map(self._names.names.get, ids))
        is_known = np.array([name is not None for name in names])
        n = len(self._bounds) - 1
        self._add(self._texts_of([name for name in names if name is not None]))
        self._choice_of[numbers[is_known]] = np.arange(n, len(self._bounds) - 1)

    def _add(self, texts: Sequence[str]) -> None:
        if texts:
            together = "".join(texts)
            raws = texts if together.isascii() else [text.encode(*ENCODING) for text in texts]
            ends = self._bounds[-1] + np.cumsum([len(raw) for raw in raws])
            self._said += texts
            self._data += together.encode(*ENCODING)
            self._bounds = np.append(self._bounds, ends)


def add_fields(
    texts: LineTexts,
    specs: Sequence[FieldSpec],
    version: int,
    columns: Columns,
    arena: Arena,
    codes: Mapping[str, Mapping[int, str]] = MappingProxyType({}),
) -> bool:
    """Add the fields of messages, all of one version.

    Args:
        texts: The texts of the lines.
        specs: The fields.
        version: The version of the messages.
        columns: Their fields.
        arena: The bytes that the columns point into.
        codes: The words that stand for codes, by column.

    Returns:
        Whether the kernel can write all of them.
    """
    return all(
        _add_words(texts, spec, version, columns, codes[spec.column_name])
        if spec.column_name in codes
        else _add_field(texts, spec, version, columns, arena)
        for spec in specs
        if version in spec.versions
    )


def _add_field(
    texts: LineTexts, spec: FieldSpec, version: int, columns: Columns, arena: Arena
) -> bool:
    name, column = spec.json_name, columns.fields[spec.column_name]
    key = field_key(name, is_bare=texts.is_bare).encode()
    is_tagged = version in spec.tagged
    if isinstance(column, FixedColumn):
        return _add_fixed(texts, spec, key, column.values, is_tagged)
    default = default_value(spec) if is_tagged else None
    if isinstance(column, SpanColumn):
        if column.arena is not arena or not _add_span(texts, spec, key, column):
            return False
        content = default.encode() if isinstance(default, str) else default
        number = -1 if content is None else len(content) if isinstance(content, bytes) else 0
    elif isinstance(column, StructArrayColumn):
        if not _add_structs(texts, spec, key, version, column, arena):
            return False
        content, number = b"", -1 if default is None else 0
    else:
        return False
    if is_tagged:
        texts.leave_out(number, content if isinstance(content, bytes) else b"")
    elif texts.is_bare and spec.is_array:
        texts.leave_out_empty()
    return True


def _add_words(
    texts: LineTexts, spec: FieldSpec, version: int, columns: Columns, words: Mapping[int, str]
) -> bool:
    """Add the word for each code; a line with a code that has none is left to Python."""
    values = columns.fixed(spec.column_name)
    key = field_key(spec.json_name, is_bare=texts.is_bare).encode()
    if version in spec.tagged:
        is_default = bool((values == default_value(spec)).all())
        return is_default and _add_fixed(texts, spec, key, values, is_tagged=True)
    raws = [words.get(code, str(code)).encode() for code in range(max(words) + 1)]
    texts.add(kernel.CHOICE, key, values.astype(np.int64))
    texts.choose(np.frombuffer(b"".join(raws), np.uint8), np.cumsum([0, *map(len, raws)]))
    return True


def _add_fixed(
    texts: LineTexts, spec: FieldSpec, key: bytes, values: AnyArray, is_tagged: bool
) -> bool:
    default = default_value(spec)
    if spec.type == "uuid":
        texts.add(kernel.UUID, key, values)
        assert isinstance(default, bytes)
        if is_tagged:
            texts.leave_out(0, default)
        return True
    if values.dtype.kind not in "biu" or not values.dtype.isnative:
        return False
    kind = kernel.BOOL if spec.type == "bool" else kernel.NUMBER
    is_signed = values.dtype.kind == "i"
    if not is_signed and values.dtype.itemsize == 8:
        return False
    texts.add(kind, key, values, is_signed=is_signed)
    if is_tagged:
        assert isinstance(default, int)
        texts.leave_out(int(default))
    return True


_SPANS: Final = {"string": kernel.STRING, "bytes": kernel.BYTES}


def _add_span(texts: LineTexts, spec: FieldSpec, key: bytes, column: SpanColumn) -> bool:
    element = np.dtype(column.dtype)
    if not spec.is_array:
        kind = _SPANS.get(spec.type)
    elif spec.type == "uuid":
        kind = kernel.UUIDS
    elif element.kind == "i" or (element.kind == "u" and element.itemsize < 8):
        # A bool is one byte of any value.
        kind = None if spec.type == "bool" else kernel.NUMBERS
    else:
        kind = None
    if kind is None:
        return False
    texts.add(
        *(kind, key, column.starts, column.counts),
        width=element.itemsize,
        is_signed=element.kind == "i",
    )
    return True


def _add_structs(
    texts: LineTexts,
    spec: FieldSpec,
    key: bytes,
    version: int,
    column: StructArrayColumn,
    arena: Arena,
) -> bool:
    items, children, kind = column.items, LineTexts(), kernel.STRUCTS
    if spec.is_struct:
        is_whole = add_fields(children, spec.fields, version, items, arena)
    else:
        kind = kernel.STRINGS
        (inner,), elements = items.specs, items.span(ELEMENT)
        is_whole = elements.arena is arena and _add_span(children, inner, b"", elements)
    texts.add(kind, key, column.list_offsets[:-1], column.counts)
    texts.nest(children, items.n)
    return is_whole
