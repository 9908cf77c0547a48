"""The declaration of a part of the image.

A *part* is what exists of one kind: ACLs, configs, brokers. Its records *put* a key whole or
*remove* it; a part with other rules names a fold of its own, and everything else is derived all
the same. A *hook* is a function of a higher layer, named ``package.module:attribute`` and resolved
when it is first called, so that a declaration imports nothing.

Each declaration is made once and is equal to itself alone; the classes have no methods that nobody
asks for, which take longer to make than all declarations together.
"""

from __future__ import annotations

from enum import StrEnum
from functools import cache
from importlib import import_module
from typing import Any, Final, TypeAlias

from metashell.dataclass import dataclass

NodeNames: TypeAlias = tuple[str, ...]
"""Names of nodes, from a directory down."""

LAST: Final = 1000
"""Order of parts that Kafka's image does not have."""


class RecordGroup(StrEnum):
    """The subjects of records."""

    TOPICS = "topics"
    """Topics and partitions."""
    NODES = "nodes"
    """Brokers and controllers."""
    CONFIGS = "configs"
    SECURITY = "security"
    """ACLs, SCRAM credentials, delegation tokens, client quotas."""
    QUORUM = "quorum"
    """Control records, features, and what keeps the cluster itself going."""
    OTHER = "other"
    """A type that no definition of Kafka's describes."""
    NO_OPS = "no_ops"
    """Records that say nothing."""


@dataclass(eq=False, repr=False)
class Put:
    """A record that writes a key whole, or removes it where a column holds a value.

    A record of a coordinator's log is a type with a key; its tombstone removes the key.
    """

    message: str
    removing_column: str | None = None
    removing_value: bool | int | None = None
    at: str = ""
    """In a coordinator's log: the path of its node below the part's directory, in which a column of
    the record's key stands in braces.
    """
    fields: tuple[PartField, ...] = ()
    """In a coordinator's log: fields of the value that its node has under another name, or in
    another form than JSON.
    """
    waits: bool = False
    """Whether such a record waits for the end of the transaction that it is in."""
    onto: str = ""
    """The type of records whose fields it changes, but for those with the value `kept`."""
    kept: int | None = None
    whole: str = ""
    """Hook of a record that tells of all its thing: (fields as JSON, values) -> pairs of names
    below the thing and fields. It replaces all that records of parts of its fold said before.
    """


@dataclass(eq=False, repr=False)
class Remove:
    """A record that removes a key, whose columns it has under the same names."""

    message: str
    unknown: str | None = None
    """The fault where the key did not exist; None where that is none."""


@dataclass(eq=False, repr=False)
class Change:
    """A record about nothing but the part, whose fold alone knows what it does."""

    message: str
    codes: tuple[PartField, ...] = ()
    """Its fields with codes that the part's own fields do not have."""


@dataclass(eq=False, repr=False)
class Affect:
    """A record about another part that changes this part too."""

    message: str


PartEvent: TypeAlias = Put | Remove | Change | Affect


@dataclass(eq=False, repr=False)
class NamedCodes:
    """Numbers that have names."""

    names: str
    """Hook: a sequence of names, an enumeration, or a mapping from code to name."""
    unknown: str | None = "UNKNOWN"
    """The name of every other code, for which ``{}`` stands in it; with None, what has another code
    is not shown at all. Tables have `UNKNOWN(CODE)` for it."""


@dataclass(eq=False, repr=False)
class PartField:
    """A column of the record that puts a key, and what it is called where Kafka shows it."""

    column: str
    kafka: str | None = None
    """Kafka's name; None for the one that the definition has."""
    form: str | NamedCodes = ""
    """One of `metashell.parts.forms`, or a hook: (value) -> what is shown; by the column's type
    where it is empty."""
    secret: bool = False
    """Secret in texts. `metashell.redact` decides which other fields are secret."""
    is_told: bool = True
    """Whether `changes` tells of it."""
    table: str | None = None
    """Its name in tables; None for the column's. Milliseconds are times there if it ends with
    ``_time``; null where a calendar has none."""


@dataclass(eq=False, repr=False)
class PathLevel:
    """A name in the path of a node."""

    of: NodeNames
    """Key columns that the name is made of."""
    name: str = ""
    """Hook: makes it of the facts of these columns; with none the single column is the name."""
    is_partial: bool = False
    """Whether the hook gives None: what has that key has no leaf."""
    is_fixed: bool = False
    """Whether there is a directory for each code, also without anything in it."""


@dataclass(eq=False, repr=False)
class PartDescription:
    """The command that describes a part's directory best, as the explorer has it."""

    title: str
    """The name of its rows."""
    words: str
    """The command."""
    leaf: str
    """The column that names a row's leaf, or a hook: (row) -> names below the directory. Empty for
    the part of a coordinator, whose rows are named by `PartSpec.rows_by`."""
    columns: NodeNames
    """Columns that are shown unless others are asked for, health early."""


@dataclass(eq=False, repr=False, kw_only=True)
class PartSpec:
    """A part of the image. Everything that is left out follows from the rest."""

    name: str
    """The part's one name: of its module, in digests, and of its table."""
    events: tuple[PartEvent, ...] = ()
    """The records that change it."""
    help: str
    """A sentence that says what a row of its table is."""
    group: str = ""
    """The subject of its records: a `RecordGroup`. Parts of coordinators' logs have none."""
    order: int = LAST
    """Its place in the MetadataImage of Kafka 4.4, which is the order in which digests are shown.
    A part without one enters the digest of an image only where it is not empty."""

    key: tuple[PartField, ...] = ()
    """The columns that tell its things apart; none for a part that is one value."""
    draws_keys: bool = False
    """Whether a key is drawn for each thing that is put: it was never there before."""
    fields: tuple[PartField, ...] = ()
    """The other columns of a thing, in Kafka's order; key columns may be among them."""
    is_value: bool = False
    """Whether a leaf is the one field, and no record with names."""

    path: NodeNames = ()
    """Names of its directory below ``/image``, or of the root for that of a coordinator's log; none
    for a part that is not there."""
    levels: tuple[PathLevel, ...] = ()
    """Names from the directory down to a leaf."""
    leaf: str = ""
    """Name of the leaf of a part that is one value."""
    absent: bool | int | str | None = None
    """The value of such a part where no record has told it."""
    text: str = ""
    """A leaf's text, ``{}`` standing for its fields; of none that has fields without their names.
    Or a hook: (value) -> str."""
    is_judged: bool = False
    """Whether tests of ``find`` are about it: a `metashell.fs.texts.Judge` has its name."""

    line: NodeNames = ()
    """Columns that a line of its records begins with, where people read it: who and what, before
    ids. The others follow in the record's order."""
    described: PartDescription | None = None
    """The command that shows more of it than a list of its leaves does."""

    table: str = ""
    """Name of its table, where it is another one."""
    columns: NodeNames | None = None
    """Columns of the table, where it does not have all that the record has."""
    sorted_by: str = ""
    """Column by which its things are sorted; else by the records that made them."""
    by_topic: bool = False
    """Whether each of its things is a topic's, so that topics can be folded apart."""

    # The next fields are for coordinators' logs, which are read a partition at a time.

    log: str = ""
    """The topic of the log; empty for the metadata log."""
    rows_by: NodeNames = ()
    """Columns that rows are sorted by, and that name a row's node. The first has the names that a
    command is asked for."""
    asked_for: NodeNames = ()
    """Columns that are made only where they are asked for: they need other logs."""
    joined: str = ""
    """(Source, ReadReport) -> what gives rows these columns."""
    table_columns: str = ""
    """The columns of its table, such as ``group:string offset:int64? at:time``: each has an Arrow
    type, or ``time`` or ``texts``. A ``?`` says that a negative number is none. Else the columns
    are those of the record that puts it.
    """
    rows: str = ""
    """(PartitionState) -> its rows; else the records that hold. Without a log: (Source, ReadReport)
    -> tables.
    """

    # Hooks, for parts that are no puts and removes, or that are asked for by the million.

    fold: str = ""
    """(Image) -> `metashell.image.keyed.Part`, or what `Image` has for it. In coordinators' logs:
    (KeyedRecords, parts) -> `metashell.image.coordinators.surviving.SurvivingFold`, for all parts
    of a directory.
    """
    is_sound: str = ""
    """(Records, rows, Columns) -> bool[n]: putting records that apply, the others reported."""
    folded_with: NodeNames = ()
    """Attributes of the image that are folded of the same records."""
    node: str = ""
    """(Image, Redaction) -> Directory: the directory ``path[0]`` with all in it. Beside
    coordinators' logs: (Source, sentences about unread logs) -> Directory.
    """
    newest: str = ""
    """(Image) -> row of the newest record about it; else the newest of its events."""
    groups: str = ""
    """(Image) -> int64[k]: the newest record about the first level that each thing is in."""
    facts: str = ""
    """(Image, Redaction) -> the facts by key that enter a digest."""
    digest: str = ""
    """(Image) -> pieces of bytes that enter a digest, in place of facts."""
    differences: str = ""
    """(left, right, scope) -> what differs below it: see `metashell.fs.differences`."""
    history: str = ""
    """(PartSpec, Registry, Redaction) -> `metashell.fs.change_parts.PartHistory`."""
    makers: str = ""
    """(Image, Redaction) -> what makes each column of its table."""

    @property
    def messages(self) -> NodeNames:
        """Names of the messages that tell of it."""
        return tuple(event.message for event in self.events)

    @property
    def own_messages(self) -> NodeNames:
        """The messages that are about this part alone."""
        return tuple(e.message for e in self.events if not isinstance(e, Affect))

    @property
    def puts(self) -> list[Put]:
        """The events that put a key."""
        return [event for event in self.events if isinstance(event, Put)]

    @property
    def put(self) -> Put:
        """The one event of a part of the metadata that puts a key."""
        return self.puts[0]

    @property
    def remove(self) -> Remove | None:
        """The event that removes one."""
        return next((event for event in self.events if isinstance(event, Remove)), None)

    @property
    def table_name(self) -> str:
        """Name of its table."""
        return self.table or self.name


@cache
def hook(name: str) -> Any:
    """The object that a hook names."""
    module, _, attribute = name.partition(":")
    return getattr(import_module(module), attribute)
