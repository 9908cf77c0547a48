"""The page of ``stats`` of a coordinator's log."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from metashell.commands.rows.query import RowMapping
from metashell.commands.shared.usage_scan import share_text, size_text
from metashell.commands.stats.page import Page, plural
from metashell.image.coordinators.log_usage import KeyedUsage

_AMOUNTS = ("records", "bytes", "tombstones", "superseded_records", "superseded_bytes")


class KeyedPage(Page):
    """What was counted of a coordinator's log, section by section."""

    @property
    def _keyed(self) -> KeyedUsage:
        assert isinstance(self._usage, KeyedUsage)
        return self._usage

    def _sections(self) -> dict[str, Callable[[], Sequence[RowMapping]]]:
        return {
            **super()._sections(),
            "types": lambda: self._named("type", "type"),
            "groups": lambda: self._named("group", "group"),
            "transactions": lambda: self._named("transaction", "transactional_id"),
        }

    def _named(self, by: str, column: str) -> list[RowMapping]:
        """A row for each of the names with the most records."""
        return [
            {
                column: name,
                "records": records,
                "bytes": n_bytes,
                "tombstones": tombstones,
                "superseded_records": superseded,
                "superseded_bytes": superseded_bytes,
            }
            for name, (n_bytes, records, tombstones, superseded, superseded_bytes) in (
                self._keyed.named(by, self._limit)
            )
        ]

    def _totals(self) -> RowMapping:
        usage = self._keyed
        return {
            **super()._totals(),
            "checkpoints": None,
            "no_op_records": None,
            "no_op_bytes": None,
            "tombstones": usage.n_tombstones,
            "transactional_records": usage.n_transactional,
            "control_records": usage.n_control,
            "superseded_records": usage.n_superseded,
            "superseded_bytes": usage.superseded_bytes,
        }

    def _columns(self, section: str) -> Sequence[str]:
        names = {"types": "type", "groups": "group", "transactions": "transactional_id"}
        return (*_AMOUNTS, names[section]) if section in names else super()._columns(section)

    def _total_lines(self, *, human: bool) -> list[str]:
        usage = self._keyed
        size = size_text(usage.superseded_bytes or 0, human=human)
        of_all = share_text(usage.superseded_bytes or 0, usage.n_bytes)
        return [
            self._counted_line(human=human),
            f"{plural(usage.n_tombstones, 'tombstone')},"
            f" {plural(usage.n_transactional, 'record')} of transactions,"
            f" {plural(usage.n_control, 'control record')}",
            f"{plural(usage.n_superseded, 'superseded record')}:"
            f" {size}{'' if human else ' bytes'}, {of_all} of the bytes",
        ]
