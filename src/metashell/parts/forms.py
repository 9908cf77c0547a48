"""How values of records are shown, compared and told: one form for each kind of value.

Values are those of `metashell.schema.rows`: numbers, text, bytes, lists, and dicts for structs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import EnumMeta
from itertools import chain
from typing import Any, Final, TypeAlias

from metashell.dataclass import dataclass
from metashell.errors import SchemaError
from metashell.parts.spec import NamedCodes, PartField, PartSpec, hook
from metashell.schema.dump import java_double
from metashell.schema.model import FieldSpec, MessageSpec
from metashell.schema.uuids import uuid_text

Fact: TypeAlias = "None | bool | int | float | str | bytes | tuple[Fact, ...]"
"""A value as it enters a digest: equal on every node."""


def same(value: Any) -> Any:
    """A value as it is."""
    return value


def java_text(value: Any) -> str:
    """A value as Java prints it."""
    if type(value) is str:
        return value
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case list():
            return f"[{', '.join(map(java_text, value))}]"
        case dict():
            return "{" + ", ".join(f"{k}={java_text(v)}" for k, v in value.items()) + "}"
        case float():
            return java_double(value)
        case _:
            return str(value)


def _fact(value: Any) -> Fact:
    match value:
        case list():
            return tuple(map(_fact, value))
        case dict():
            return tuple(map(_fact, value.values()))
        case _:
            known: Fact = value
            return known


@dataclass(frozen=True, slots=True)
class ValueForm:
    """The forms of a column's values; each function is called with one value."""

    shown: Callable[[Any], Any] = same
    """Its value as JSON has it."""
    fact: Callable[[Any], Fact] = same
    """The form in a digest."""
    told: Callable[[Any], Any] | None = None
    """The form in `changes`; None where that is `shown`."""
    text: Callable[[Any], str] = java_text
    """The form in Kafka's texts."""
    name: Callable[[Any], str | None] = str
    """The fact, as the name of a node; None where it has no node."""


def form_of(form: str | NamedCodes, spec: FieldSpec) -> ValueForm:
    """The form of a column: the one that is named, else that of the column's type.

    Raises:
        SchemaError: No form has that name.
    """
    if isinstance(form, NamedCodes):
        return _of_codes(form)
    if form and ":" not in form and form not in FORMS:
        raise SchemaError(
            f"the form of {spec.column_name} is {form}, and no form is called so",
            hint=f"form is a hook, package.module:attribute, or one of {', '.join(FORMS)}",
        )
    if form:
        return ValueForm(hook(form)) if ":" in form else FORMS[form]
    if spec.is_struct:
        return ValueForm(_struct_shown(spec), _fact)
    if spec.type in _OF_TYPE:
        element = FORMS[_OF_TYPE[spec.type]]
        return _of_list(element) if spec.is_array else element
    return ValueForm(fact=_fact) if spec.is_array else PLAIN


def check_columns(
    part: PartSpec,
    word: str,
    fields: Iterable[PartField],
    message: MessageSpec,
    kafkas: Callable[[], Iterable[MessageSpec]] = tuple,
) -> None:
    """See that a record has the columns that a part names.

    Args:
        part: The part.
        word: The part's word for these fields.
        fields: They.
        message: The definition of the record.
        kafkas: Gives Kafka's own definitions; a user's definition may lack columns of these.

    Raises:
        SchemaError: A column is missing.
    """
    known = [field.column_name for field in message.fields]
    for field in fields:
        if field.column in known:
            continue
        own = (each.fields for each in kafkas() if each.name == message.name)
        if field.column not in {each.column_name for each in chain.from_iterable(own)}:
            raise SchemaError(
                f"part {part.name}: its {word} {field.column} is no column of {message.name},"
                f" which has {', '.join(known)}",
                hint=f"name a column of {message.name}, or add {field.column} to its definition",
            )


def _of_list(element: ValueForm) -> ValueForm:
    def shown(values: list[Any] | None) -> Any:
        return None if values is None else [element.shown(value) for value in values]

    return ValueForm(shown, _fact)


def _struct_shown(spec: FieldSpec) -> Callable[[Any], Any]:
    """A struct, or a list of them, with Kafka's names."""
    inner = [(f.column_name, f.json_name, form_of("", f).shown) for f in spec.fields]

    def shown(value: Any) -> Any:
        if value is None:
            return None
        if isinstance(value, list):
            return [shown(one) for one in value]
        return {name: show(value[column]) for column, name, show in inner}

    return shown


def code_names(codes: NamedCodes) -> Mapping[int, str]:
    """The codes that are known, and their names."""
    names = hook(codes.names)
    if isinstance(names, EnumMeta):
        return {each.value: each.name for each in names}  # type: ignore[var-annotated]
    return names if isinstance(names, Mapping) else dict(enumerate(names))


def _of_codes(codes: NamedCodes) -> ValueForm:
    known, unknown = code_names(codes), codes.unknown

    def fact(code: int) -> int:
        return code if code in known or unknown is None else 0

    def name(code: int) -> str | None:
        return known.get(code, unknown and unknown.format(code))

    return ValueForm(name, fact, name=name)


# Forms for registrations.


def _listeners(endpoints: list[Mapping[str, Any]] | None) -> list[Mapping[str, Any]]:
    """Endpoints by listener name, as Kafka sorts them; of two of a name the later one counts."""
    by_name = {e["name"]: e for e in endpoints or ()}
    return [by_name[name] for name in sorted(by_name)]


def _endpoint_shown(endpoint: Mapping[str, Any]) -> Mapping[str, Any]:
    protocol = endpoint["security_protocol"]
    return {
        "listenerName": endpoint["name"],
        "securityProtocol": SECURITY_PROTOCOLS.get(protocol, str(protocol)),
        "host": endpoint["host"],
        "port": endpoint["port"],
    }


def _endpoint_text(shown: Mapping[str, Any]) -> str:
    return (
        f"Endpoint(listenerName='{shown['listenerName']}',"
        f" securityProtocol={shown['securityProtocol']},"
        f" host='{shown['host']}', port={shown['port']})"
    )


def _features(features: list[Mapping[str, Any]] | None) -> dict[str, tuple[str, int, int]]:
    """Ranges of feature levels by name; of two of a name the higher one counts."""
    ranges = sorted(
        (f["name"], f["min_supported_version"], f["max_supported_version"]) for f in features or ()
    )
    return {one[0]: one for one in ranges}


def _range_text(low: int, high: int) -> str:
    """A range of versions; an open one ends with the largest int16."""
    if low == high:
        return str(low)
    return f"{low}+" if high == 32_767 else f"{low}-{high}"


def _java_order(directory: bytes) -> tuple[int, int]:
    """Java's order of Uuids: by two signed halves."""
    high, low = directory[:8], directory[8:]
    return int.from_bytes(high, "big", signed=True), int.from_bytes(low, "big", signed=True)


def _directories(ids: list[bytes] | None) -> list[str] | None:
    return None if ids is None else [uuid_text(u) for u in sorted(ids, key=_java_order)]


SECURITY_PROTOCOLS: Final = {0: "PLAINTEXT", 1: "SSL", 2: "SASL_PLAINTEXT", 3: "SASL_SSL"}
"""Names by code. Source: org.apache.kafka.common.security.auth.SecurityProtocol."""


# Forms for quotas.

_ENTITY_ORDER: Final = {"clientId": 0, "ip": 1, "user": 2}
_ENTITY_NAMES: Final = {"client-id": "clientId", "ip": "ip", "user": "user"}


def entity_name(pairs: Iterable[tuple[str, str | None]]) -> str:
    """Write a quota entity as a name: its parts in Kafka's order, unknown types behind."""
    parts = []
    for kind, name in dict(pairs).items():
        shown = _ENTITY_NAMES.get(kind) or _escape(kind)
        parts.append(
            (_ENTITY_ORDER.get(shown, 3), shown, "<default>" if name is None else _escape(name))
        )
    return "_".join(f"{kind}({name})" for _, kind, name in sorted(parts))


def _escape(name: str) -> str:
    return name.replace("\\", "\\\\").replace("(", "\\(").replace(")", "\\)")


def _entity(entity: Sequence[Mapping[str, Any]] | None) -> tuple[tuple[str, str | None], ...]:
    """Pairs of type and name; types are unique then, so names, which may be null, never meet."""
    pairs = {e["entity_type"]: e["entity_name"] for e in entity or ()}
    return tuple(sorted(pairs.items()))


PLAIN: Final = ValueForm()
FORMS: Final[Mapping[str, ValueForm]] = {
    "uuid": ValueForm(uuid_text, name=uuid_text),
    "hex": ValueForm(lambda raw: (raw or b"").hex(), lambda raw: raw or b""),
    "is_there": ValueForm(lambda value: value is not None),
    "optional": ValueForm(text=lambda v: "Optional.empty" if v is None else f"Optional[{v}]"),
    "listeners": ValueForm(
        lambda v: [_endpoint_shown(e) for e in _listeners(v)],
        lambda v: tuple(
            (e["name"], e["host"], e["port"], e["security_protocol"]) for e in _listeners(v)
        ),
        lambda v: sorted(f"{e['name']}://{e['host']}:{e['port']}" for e in v or ()),
        lambda shown: f"[{', '.join(map(_endpoint_text, shown))}]",
    ),
    "features": ValueForm(
        lambda v: {name: [low, high] for name, low, high in _features(v).values()},
        lambda v: tuple(_features(v).values()),
        text=lambda shown: (
            "{"
            + ", ".join(f"{k}: {_range_text(low, high)}" for k, (low, high) in shown.items())
            + "}"
        ),
    ),
    "directories": ValueForm(
        _directories,
        lambda ids: None if ids is None else tuple(sorted(ids)),
        lambda ids: None if ids is None else sorted(map(uuid_text, ids)),
    ),
    "entity": ValueForm(
        lambda v: entity_name(_entity(v)),
        _entity,
        name=entity_name,
    ),
}
"""By name."""

_OF_TYPE: Final = {"uuid": "uuid", "bytes": "hex"}
