"""DuckDB over the tables of a catalog: the only module that imports it.

A statement sees the catalog's tables and what it makes itself, in memory. DuckDB can reach no file,
no network, no extension and no variable of this program, and its configuration is locked.

A statement runs in a thread of its own, so that ^C and a front end's wish to stop end it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import field
from threading import Event, Lock, Thread
from time import monotonic
from typing import TYPE_CHECKING, Any, Final, TypeVar
from weakref import finalize

import duckdb
import pyarrow as pa

from metashell.dataclass import dataclass
from metashell.errors import MetashellError, UsageError
from metashell.log.unread import Unread
from metashell.sources.delegate import Result
from metashell.sql.dataset import LazyDataset, RowBatches
from metashell.sql.statements import names_in, words_of
from metashell.sql.tables import with_sql_times

if TYPE_CHECKING:
    from metashell.sql.catalog import Catalog

_T = TypeVar("_T")

_CONFIG: Final[dict[str, str | bool | int | float | list[str]]] = {
    "enable_external_access": False,
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "allow_community_extensions": False,
    "allow_persistent_secrets": False,
    "python_enable_replacements": False,
    "python_scan_all_frames": False,
    # Nothing is written, so what does not fit is refused; the image is in memory as well.
    "temp_directory": "",
    "memory_limit": "50%",
}
_ALLOWED: Final = frozenset(
    """
    SELECT EXPLAIN CREATE CREATE_FUNC DROP ALTER INSERT UPDATE DELETE MERGE_INTO PREPARE EXECUTE
    TRANSACTION RELATION ANALYZE LOGICAL_PLAN MULTI
    """.split()  # noqa: SIM905 - as a table it is easier to compare
)
"""Types of statements that run; the others are about files, extensions and settings."""
_ANSWERS: Final = frozenset({"SELECT", "EXPLAIN", "EXECUTE", "RELATION", "MULTI"})
"""Types whose rows are an answer, not a count of what was done."""
_ABOUT_TABLES: Final = frozenset({"show", "information_schema", "pg_catalog", "sqlite_master"})
_SLICE_S: Final = 0.1
_CLOSE_LIMIT_S: Final = 5.0
_BATCH_ROWS: Final = 1 << 15
_MISSING_TABLE: Final = re.compile(r"Table with name (.+?) does not exist")
_KIND: Final = re.compile(r"^(?:[A-Za-z_]+ )+Error: ")
_POSITION: Final = re.compile(r"^(LINE (\d+): )(.*)\n( *)\^", re.MULTILINE)
_CANDIDATES: Final = re.compile(r"^Candidate bindings: (.+)$", re.MULTILINE)
_SUGGESTED: Final = re.compile(r'^Did you mean "(.+)"\?', re.MULTILINE)


@dataclass(slots=True)
class _Watch:
    """The state of a running statement, for the makers of its rows.

    They know nothing of the connection: DuckDB holds them, and Python could not free a circle.
    """

    stopping: Event = field(default_factory=Event)
    failure: BaseException | None = None
    unread: Unread = field(default_factory=Unread)
    """Faults: data that can't be read for the rows of the statement."""

    def poll(self) -> None:
        """End the reading of rows that nobody wants any more."""
        if self.stopping.is_set():
            raise MetashellError("interrupted")

    def failed(self, error: BaseException) -> None:
        """Note why there are no rows, which DuckDB would only quote."""
        self.failure = error


class _Job:
    """Something that a thread of its own does, unless it is ended before."""

    def __init__(self, work: Callable[[], Any]) -> None:
        self._work = work
        self._lock = Lock()
        self._has_begun = self._is_ended = False
        self.done = Event()
        self.found: Any = None
        self.error: BaseException | None = None

    def run(self) -> None:
        """Do it."""
        with self._lock:
            if self._is_ended:
                return
            self._has_begun = True
        try:
            self.found = self._work()
        except BaseException as error:
            self.error = error
        finally:
            self.done.set()

    def has_ended(self) -> bool:
        """See that it does not begin any more, and wait a moment for it to end where it has.

        ^C may come while its thread is being started, of which Python then knows nothing.
        """
        with self._lock:
            self._is_ended = True
            has_begun = self._has_begun
        return not has_begun or self.done.wait(_SLICE_S)


class Database:
    """A connection, with the tables of a catalog that were named so far.

    Args:
        catalog: The tables; see `use`.
    """

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._connection: Any = None
        self._reader: Any = None
        self._registered: set[str] = set()
        self._watch = _Watch()
        self._running: list[_Job] = []

    def use(self, catalog: Catalog) -> None:
        """Let statements see other tables from now on; what they made themselves stays."""
        if catalog is not self._catalog:
            self._catalog = catalog
            self._registered.clear()

    def run(self, statement: str, cancelled: Callable[[], bool]) -> Result:
        """Run a statement, and end the one before: DuckDB runs one at a time on a connection.

        Args:
            statement: One, without a semicolon.
            cancelled: Polled while it runs, and while its rows are read.

        Raises:
            UsageError: It can't be understood, or is none of those that run here.
            MetashellError: It failed.
            KeyboardInterrupt: The user wanted it to end.
        """
        connection = self._connected()
        if self._reader is not None:
            self._reader.close()
            self._reader = None
        is_answer = self._check(connection, statement)
        self._watch.failure = None
        self._watch.stopping.clear()
        self._watch.unread.clear()
        self._register(connection, statement)

        def start() -> Any:
            relation = connection.sql(statement)
            return None if relation is None else relation.to_arrow_reader(_BATCH_ROWS)

        reader = self._in_thread(start, statement, cancelled)
        if "drop" in words_of(statement):
            self._registered -= names_in(statement)
        if reader is None:
            return Result(pa.schema([]), iter(()), False, self._watch.unread)
        self._reader = reader
        rows = self._batches(reader, statement, cancelled)
        return Result(reader.schema, rows, is_answer, self._watch.unread)

    def close(self) -> None:
        """End the connection."""
        connection, self._connection = self._connection, None
        self._reader = None
        self._registered.clear()
        if connection is not None:
            _close(connection, self._running)

    def _connected(self) -> Any:
        if self._connection is None:
            connection = duckdb.connect(":memory:", config=_CONFIG)
            connection.execute("SET TimeZone = 'UTC'")
            connection.execute("SET lock_configuration = true")
            self._connection = connection
            # Also where the program ends, which a statement that runs then would make a crash.
            self._running = []
            finalize(self, _close, connection, self._running)
        return self._connection

    def _check(self, connection: Any, statement: str) -> bool:
        """Refuse what is none of the statements that run here; whether its rows are an answer."""
        try:
            found = connection.extract_statements(statement)
        except duckdb.Error as error:
            raise self._error(error, statement) from None
        kinds = [one.type.name for one in found]
        words = words_of(statement)
        for kind in kinds:
            is_variable = kind in ("SET", "VARIABLE_SET") and words[:2] == ("set", "variable")
            if kind not in _ALLOWED and not is_variable:
                raise _refused(words)
        if words[:1] == ("create",) and "secret" in words[1:4]:
            raise _refused(words)
        return not kinds or kinds[-1] in _ANSWERS

    def _register(self, connection: Any, statement: str) -> None:
        """Make the tables known that a statement may name."""
        named = names_in(statement)
        wanted = {name for word in named if (name := self._catalog.find(word)) is not None}
        if named & _ABOUT_TABLES or any(word.startswith("duckdb_") for word in named):
            wanted.update(self._catalog.listed)
        for name in sorted(wanted):
            if name.casefold() in self._registered:
                continue
            read = _reader(self._catalog, name, self._watch)
            schema = self._catalog.info(name).schema
            dataset = LazyDataset(schema, read, self._watch.failed)
            try:
                connection.register(name, dataset)
            except duckdb.Error:
                continue  # The user made a table of that name, which then counts.
            self._registered.add(name.casefold())

    def _batches(
        self, reader: Any, statement: str, cancelled: Callable[[], bool]
    ) -> Iterator[pa.RecordBatch]:
        def following() -> pa.RecordBatch | None:
            try:
                return reader.read_next_batch()
            except StopIteration:
                return None

        try:
            while (batch := self._in_thread(following, statement, cancelled)) is not None:
                yield batch
        finally:
            reader.close()

    def _in_thread(
        self, work: Callable[[], _T], statement: str, cancelled: Callable[[], bool]
    ) -> _T:
        """Do something with the connection while this thread listens for ^C."""
        job = _Job(work)
        self._running[:] = [job]
        try:
            Thread(target=job.run, name="sql", daemon=True).start()
            while not job.done.wait(_SLICE_S):
                if cancelled():
                    raise KeyboardInterrupt
        except BaseException:
            self._stop(job)
            raise
        if job.error is not None:
            raise self._error(job.error, statement) from None
        found: _T = job.found
        return found

    def _stop(self, job: _Job) -> None:
        """End what the connection does; a connection that does not end is left to itself."""
        connection = self._connection
        self._watch.stopping.set()
        try:
            while not job.has_ended():
                connection.interrupt()
        except BaseException:
            self._connection = None
            self._registered.clear()
            raise

    def _error(self, error: BaseException, statement: str) -> BaseException:
        failure, self._watch.failure = self._watch.failure, None
        if failure is not None:
            return failure
        if isinstance(error, duckdb.InterruptException):
            return KeyboardInterrupt()
        is_told = isinstance(error, (duckdb.Error, OSError, pa.ArrowException))
        if not is_told or isinstance(error, (duckdb.InternalException, duckdb.FatalException)):
            return error
        text = str(error)
        if "INTERRUPT Error" in text:
            return KeyboardInterrupt()
        missing = _MISSING_TABLE.search(text)
        if missing is not None:
            return self._catalog.missing(missing[1])
        kind = UsageError if isinstance(error, duckdb.ProgrammingError) else MetashellError
        if "operations are disabled by configuration" in text:
            return _no_files()
        return kind(
            _sentence(text, statement), hint=_hint(text) or _about_keywords(text, statement)
        )


def _close(connection: Any, running: Sequence[_Job]) -> None:
    """End a connection, and what runs on it."""
    end = monotonic() + _CLOSE_LIMIT_S
    for job in running:
        while not job.has_ended() and monotonic() < end:
            connection.interrupt()
    with suppress(duckdb.Error):
        connection.close()


def _refused(words: Sequence[str]) -> UsageError:
    what = " ".join(words[:1]).upper() or "this statement"
    return UsageError(
        f"{what} is not possible here: statements only read tables, and make views and tables in "
        "memory",
        hint="to write a file, use `-o FORMAT` and a redirection",
    )


def _reader(catalog: Catalog, name: str, watch: _Watch) -> Callable[[Sequence[str]], RowBatches]:
    def read(columns: Sequence[str]) -> RowBatches:
        rows = catalog.read(name, columns, watch.poll, watch.unread)
        if isinstance(rows, pa.Table):
            return with_sql_times(rows, watch.unread.tell)
        return (with_sql_times(batch, watch.unread.tell) for batch in rows)

    return read


def _no_files() -> UsageError:
    return UsageError(
        "statements reach no files, no network and no extensions",
        hint="`sql .tables` lists the tables",
    )


def _sentence(text: str, statement: str) -> str:
    """DuckDB's message in one line, with the place in the statement."""
    first = _KIND.sub("", text.partition("\n")[0]).strip().rstrip("!.")
    where = _POSITION.search(text)
    if where is None:
        return first
    number, excerpt = int(where[2]), where[3]
    column = len(where[4]) - len(where[1])
    lines = statement.splitlines()
    if 0 < number <= len(lines):
        # DuckDB shows only a part of a long line.
        shown = excerpt.removeprefix("...")
        at = lines[number - 1].find(shown.removesuffix("..."))
        column += max(at, 0) - (len(excerpt) - len(shown))
    return f"line {number}, column {column + 1}: {first}"


def _about_keywords(text: str, statement: str) -> str | None:
    if "syntax error" in text and "offset" in words_of(statement):
        return 'write the column offset as "offset": without quotes it is a keyword'
    return None


def _hint(text: str) -> str | None:
    candidates, suggested = _CANDIDATES.search(text), _SUGGESTED.search(text)
    if candidates is not None:
        return f"did you mean one of {candidates[1]}?"
    return None if suggested is None else f"did you mean {suggested[1]}?"
