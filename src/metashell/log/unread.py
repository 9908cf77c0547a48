"""The unread parts of a log's files, without which an answer is incomplete."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from typing import Final

from metashell.dataclass import dataclass
from metashell.log.fault import Fault

OnFault = Callable[[Fault, bool], None]
"""Called with what is wrong, and whether it was told when the source was opened."""

_KEPT: Final = 1_000
"""Faults that are kept apart; more are counted, each as often as it is met."""


@dataclass(slots=True)
class Unread:
    """Faults that were met while files were read, each once."""

    faults: dict[str, bool] = field(default_factory=dict)
    """Sentences, and whether the user was told when the source was opened."""
    n_more: int = 0
    """The number of further faults that were not reported."""
    remarks: list[str] = field(default_factory=list)
    """More remarks for the user, each once; nothing is missing because of them."""

    def add(self, fault: Fault, is_known: bool, cluster: str | None = None) -> None:
        """Note a fault, of a fleet that of a cluster."""
        self.tell(str(fault) if cluster is None else f"{cluster}: {fault}", is_known)

    def tell(self, text: str, is_known: bool = False) -> None:
        """Note what is missing, in a sentence's part."""
        if text in self.faults:
            return
        if len(self.faults) < _KEPT:
            self.faults[text] = is_known
        else:
            self.n_more += not is_known

    def remark(self, text: str) -> None:
        """Note what a user should know beside what is missing."""
        if text not in self.remarks:
            self.remarks.append(text)

    def clear(self) -> None:
        """Begin anew."""
        self.faults.clear()
        self.remarks.clear()
        self.n_more = 0

    @property
    def is_none(self) -> bool:
        """Whether all was read."""
        return not self.faults

    @property
    def news(self) -> list[str]:
        """The faults that nobody was told yet."""
        return [text for text, is_known in self.faults.items() if not is_known]


class UnreadReport:
    """Notes what is told of an answer; of a fleet with the cluster's name in front.

    Args:
        unread: Where it is noted.
        cluster: The name.
    """

    def __init__(self, unread: Unread, cluster: str | None = None) -> None:
        self._unread = unread
        self._prefix = "" if cluster is None else f"{cluster}: "

    def unread(self, text: str) -> None:
        """Note what is missing."""
        self._unread.tell(f"{self._prefix}{text}")

    def remark(self, text: str) -> None:
        """Note what a user should know."""
        self._unread.remark(f"{self._prefix}{text}")
