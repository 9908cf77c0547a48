"""Data derived from a part's declaration for its things, given the definitions of its messages.

Made once a part; nothing here knows of columns, so it serves rows of tables and single records.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final, TypeAlias

from metashell.errors import SchemaError
from metashell.parts.forms import Fact, ValueForm, check_columns, form_of, same
from metashell.parts.spec import (
    NamedCodes,
    NodeNames,
    PartField,
    PartSpec,
    PathLevel,
    Put,
    Remove,
    hook,
)
from metashell.redact import (
    CONFIG_RECORD,
    Redaction,
    record_secret_fields,
    row_secret_fields,
    type_may_hold_secrets,
)
from metashell.schema.model import FieldSpec, Registry, builtin_specs

FactKey: TypeAlias = tuple[Fact, ...]
RawValues: TypeAlias = Mapping[str, Any]
"""Values by column."""

_NOTHING: Final[frozenset[str]] = frozenset()


class BoundField:
    """A field, and what its message's definition says of it."""

    __slots__ = (
        "codes",
        "column",
        "form",
        "is_told",
        "json_name",
        "name",
        "secret",
        "spec",
        "told",
    )

    def __init__(self, field: PartField, spec: FieldSpec) -> None:
        self.column, self.spec, self.secret = field.column, spec, field.secret
        self.codes = field.form if isinstance(field.form, NamedCodes) else None
        self.is_told = field.is_told
        self.json_name = spec.json_name
        self.name = spec.json_name if field.kafka is None else field.kafka
        self.form: ValueForm = form_of(field.form, spec)
        self.told: Callable[[Any], Any] = self.form.told or self.form.shown

    def facts(self, values: list[Any]) -> list[Any]:
        """The facts of values."""
        if self.form.fact is same:
            return values
        if self.codes is not None:
            # Codes are few.
            known = {code: self.form.fact(code) for code in set(values)}
            return [known[code] for code in values]
        return list(map(self.form.fact, values))


class PartView:
    """How things of a part are named, shown, compared and told."""

    def __init__(self, spec: PartSpec, registry: Registry) -> None:
        self.spec = spec
        check_key(spec, registry)
        message = registry.by_name[spec.put.message]
        by_column = {f.column_name: f for f in message.fields}
        self.key = [BoundField(field, by_column[field.column]) for field in spec.key]
        self.fields = [
            BoundField(field, by_column[field.column])
            for field in spec.fields or _rest(spec, by_column)
            # A user's own definition may lack one.
            if field.column in by_column
        ]
        in_key = {field.column for field in self.key}
        self.own_fields = [field for field in self.fields if field.column not in in_key]
        """Without those that are the key."""
        self.message = message.name
        self._key_names = [field.json_name for field in self.key]
        names = row_secret_fields(self.message)
        self.secret_columns = frozenset(
            column for column, field in by_column.items() if field.json_name in names
        )
        """Columns that are secret in every row of a table, which has all columns of the record."""
        self._own_secrets = frozenset(field.column for field in self.fields if field.secret)
        self.may_hide = type_may_hold_secrets(self.message) or bool(self._own_secrets)
        secret = record_secret_fields(self.message, {"value": None})
        # Fields of a config are secret, or not, by its key.
        self.hides_always = self.message != CONFIG_RECORD and any(
            field.json_name in secret for field in self.own_fields
        )
        """Whether the same fields are secret in every record."""
        self.levels = [self._level(level) for level in spec.levels]
        """A function for each level that makes the name from the facts of its key columns."""
        columns = [field.column for field in self.key]
        self._of_levels = [[columns.index(column) for column in level.of] for level in spec.levels]
        self.may_be_nowhere = any(level.is_partial for level in spec.levels) or any(
            field.codes is not None and field.codes.unknown is None for field in self.key
        )
        """Whether there are keys without a leaf."""

    # Names.

    def key_of(self, raw: RawValues) -> FactKey:
        """The key of a record, from its values."""
        return tuple(field.form.fact(raw[field.column]) for field in self.key)

    def names_of(self, key: FactKey) -> NodeNames | None:
        """Names of a leaf below the part's directory; None where it has none."""
        if not self.levels:
            return (self.spec.leaf,)
        names = []
        for make, at in zip(self.levels, self._of_levels, strict=True):
            name = make(*[key[i] for i in at])
            if name is None:
                return None
            names.append(name)
        return tuple(names)

    def _level(self, level: PathLevel) -> Callable[..., str | None]:
        if level.name:
            made: Callable[..., str | None] = hook(level.name)
            return made
        (column,) = level.of
        return next(field.form.name for field in self.key if field.column == column)

    # Values.

    def hidden(self, key: FactKey, redaction: Redaction) -> frozenset[str]:
        """Columns of a thing that must not be shown."""
        if not self.may_hide or redaction.show_secrets:
            return _NOTHING
        names = record_secret_fields(self.message, dict(zip(self._key_names, key, strict=True)))
        if not names and not self._own_secrets:
            return _NOTHING
        found = frozenset(f.column for f in self.fields if f.json_name in names)
        return found | self._own_secrets

    def value(self, key: FactKey, raw: Sequence[Any], redaction: Redaction) -> Any:
        """A thing as a leaf has it: its fields by Kafka's names, or its one value.

        Args:
            key: Its key.
            raw: The values of `fields`.
            redaction: Says what may be shown.
        """
        hidden = self.hidden(key, redaction)
        if self.spec.is_value:
            shown = self.fields[0].form.shown(raw[0])
            return redaction.secret(shown) if hidden else shown
        found = {
            field.name: field.form.shown(value)
            for field, value in zip(self.fields, raw, strict=True)
        }
        if hidden:
            for field in self.fields:
                if field.column in hidden:
                    found[field.name] = redaction.secret(found[field.name])
        return found

    def text(self, value: Any) -> str:
        """A leaf's text, of its value."""
        if self.spec.is_value:
            (field,) = self.fields
            return field.form.text(value)
        form = self.spec.text or f"{self.spec.put.message.removesuffix('Record')}({{}})"
        if "{}" not in form:
            return str(hook(form)(value))
        texts = (f"{f.name}={f.form.text(value[f.name])}" for f in self.fields)
        return form.replace("{}", ", ".join(texts))

    def told(self, raw: RawValues, redaction: Redaction) -> Mapping[str, Any]:
        """A thing as `changes` tells it, secrets marked: fields by name, or the one value by ""."""
        hidden = self.hidden(self.key_of(raw), Redaction())
        return {
            "" if self.spec.is_value else field.name: SecretValue(shown, redaction)
            if field.column in hidden
            else shown
            for field in self.own_fields
            if field.is_told
            for shown in (field.told(raw[field.column]),)
        }

    # Facts.

    def row_facts(
        self, keys: Sequence[FactKey], columns: Sequence[list[Any]], redaction: Redaction
    ) -> list[tuple[Fact, ...]]:
        """The facts of each thing's own fields that enter a digest.

        Facts that are secret in every record enter as one, behind the rest.

        Args:
            keys: The key of each.
            columns: The facts of `own_fields`.
            redaction: Hidden values do not enter.
        """
        if self.may_hide and self.hides_always and keys:
            secret = self.hidden(keys[0], Redaction())
            named = [(f.column in secret, c) for f, c in zip(self.own_fields, columns, strict=True)]
            closed = zip(*(column for is_secret, column in named if is_secret), strict=True)
            shown = [column for is_secret, column in named if not is_secret]
            return list(zip(*shown, map(redaction.secret, closed), strict=True))
        facts: list[tuple[Fact, ...]] = [()] * len(keys)
        if columns:
            facts = list(zip(*columns, strict=True))
        if not self.may_hide or redaction.show_secrets:
            return facts
        return [
            self._hide_facts(row, hidden, redaction) if hidden else row
            for row, hidden in zip(facts, (self.hidden(k, redaction) for k in keys), strict=True)
        ]

    def _hide_facts(
        self, facts: tuple[Fact, ...], hidden: frozenset[str], redaction: Redaction
    ) -> tuple[Fact, ...]:
        return tuple(
            redaction.secret(fact) if field.column in hidden else fact
            for field, fact in zip(self.own_fields, facts, strict=True)
        )

    # Tables.


def check_key(spec: PartSpec, registry: Registry) -> None:
    """See that the records that put and remove a thing have its key, and that paths may show it.

    Raises:
        SchemaError: A record does not have it, or it is secret.
    """
    for event in spec.events:
        if not isinstance(event, Put | Remove):
            continue
        message = registry.by_name.get(event.message)
        if message is None:
            raise SchemaError(f"part {spec.name}: no definition of {event.message}")
        by_column = {field.column_name: field for field in message.fields}
        check_columns(spec, "key", spec.key, message)
        if isinstance(event, Put) and event is spec.put:
            check_columns(spec, "field", spec.fields, message, builtin_specs)
        for field in spec.key:
            if by_column[field.column].json_name in row_secret_fields(message.name):
                raise SchemaError(
                    f"part {spec.name}: its key {field.column} is secret, and paths would show it"
                )


def _rest(spec: PartSpec, by_column: Mapping[str, FieldSpec]) -> list[PartField]:
    """All columns but the key's."""
    in_key = {field.column for field in spec.key}
    return [PartField(column) for column in by_column if column not in in_key]


class SecretValue(str):
    """The text that is shown of a secret. Two are equal where the secrets are."""

    _secret: object

    def __new__(cls, value: object, redaction: Redaction) -> SecretValue:
        made = super().__new__(cls, redaction.secret(str(value)))
        made._secret = value
        return made

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SecretValue) and bool(self._secret == other._secret)

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = str.__hash__


@lru_cache(maxsize=256)
def view_of(spec: PartSpec, registry: Registry) -> PartView:
    """The view of a part, made once."""
    return PartView(spec, registry)
