"""The messages of ``log`` on stderr, for every kind of log, and its exit status."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from metashell.commands.framework.command import Context
from metashell.errors import ExitCode
from metashell.fs.escape import escape
from metashell.log.fault import Fault, FaultKind

_FAULTS_TOLD: Final = 20


class LogReport:
    """Tells faults as they are found, some of them one by one.

    Args:
        context: Is warned.
        known: Faults that were told when the source was opened.
        follows: Whether the log is followed: files are then read several times.
        hint: Stands behind the number of faults that were not told one by one.
    """

    def __init__(
        self, context: Context, known: Iterable[Fault], *, follows: bool, hint: str = ""
    ) -> None:
        self._context, self._follows, self._hint = context, follows, hint
        self._told = set(known)
        self.status = ExitCode.OK
        self.n_faults = 0
        self.is_following = False
        """Whether what was there has been printed: a torn batch then is being written."""
        self.single_found = False
        """Whether the one record that was asked for came by."""

    def fault(self, fault: Fault, at_the_end: bool) -> None:
        """Tell a fault, and whether it is at the end of the last file."""
        if not (at_the_end and fault.kind is FaultKind.TORN):
            self.status = ExitCode.FAILED
        elif self.is_following:
            return
        if fault in self._told:
            return
        if self._follows or fault.kind is FaultKind.UNREADABLE:
            self._told.add(fault)
        self.n_faults += 1
        if self.n_faults <= _FAULTS_TOLD:
            self._context.warn(escape(f"log: {fault}"))

    def rest(self) -> None:
        """Tell how many faults were not told one by one."""
        if self.n_faults > _FAULTS_TOLD:
            self._context.warn(f"log: {self.n_faults - _FAULTS_TOLD} more faults{self._hint}")

    def whether_found(self, single: int | None, *, is_filtered: bool) -> None:
        """Tell that no record is at the one offset that was asked for."""
        if single is not None and not self.single_found and not is_filtered:
            self._context.warn(f"log: no record at offset {single}")
            self.status = ExitCode.FAILED
