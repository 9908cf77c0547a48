"""Sources that are read again where the files of their directory changed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from metashell.log.changed import DirectoryState, Signature, changed_names, list_anew
from metashell.log.fault import FaultKind
from metashell.sources.source import Source

if TYPE_CHECKING:
    from metashell.log.read import Loaded
    from metashell.log.truncation import Truncation


class RereadSource(Source):
    """A directory's newest state; its log has the signature that the directory had before."""

    _grown: Signature = ()
    """The directory's signature when its log was last seen to have grown and no more."""

    def refreshed(self) -> Source:
        return self._read_again(list_anew(self.log.place))

    def standing(self) -> Source:
        now = list_anew(self.log.place)
        if now.signature == self._grown:
            return self
        # An operator waits for the rest of a torn tail, so it is read again.
        is_torn = any(fault.kind is FaultKind.TORN for fault in self.log.faults)
        if is_torn or self.truncation_at(now) is not None:
            return self._read_again(now)
        self._grown = now.signature
        return self

    def _read_again(self, now: DirectoryState) -> Source:
        if now.signature == self.log.signature:
            return self
        newest = self._opened(now)
        newest.truncation = self.truncation_at(now)
        return newest

    def _opened(self, now: DirectoryState) -> Source:
        """The directory opened as it is now.

        Raises:
            SourceError: It can't be read any more.
        """
        raise NotImplementedError

    def _files_read(self) -> Loaded:
        """The files of which something was read."""
        return self.log.loaded

    def truncation_at(self, now: DirectoryState) -> Truncation | None:
        """The records that were read and are gone from the files; None where the log only grew."""
        from metashell.log.truncation import truncation_of

        changed = changed_names(self.log.signature, now.signature)
        return truncation_of(self._files_read(), now.listing, self.log.path_of, changed)
