"""The fields of records alone, as JSON."""

from __future__ import annotations

from metashell.records.filter import TopicNames
from metashell.records.lines import JsonLines
from metashell.redact import Redaction
from metashell.schema.columns import Columns
from metashell.schema.model import MessageSpec
from metashell.schema.registry import Registry


class JsonValues(JsonLines):
    """Writes what stands in a line of JSON as ``data``; see `bodies`.

    Args:
        registry: Message definitions.
        redaction: What may be shown.
    """

    def __init__(self, registry: Registry, redaction: Redaction) -> None:
        super().__init__(registry, TopicNames(), redaction)

    def texts(self, spec: MessageSpec, version: int, columns: Columns) -> list[str]:
        """The fields of messages, all of one version, as a JSON object each."""
        return self._bodies(spec, 0, version, columns)

    def _topics(self, columns: Columns) -> None:
        # Whose names would have to be looked up.
        return None

    def _body(
        self, spec: MessageSpec, key: int, version: int, texts: list[str], topics: list[str] | None
    ) -> list[str]:
        return [f"{{{text}}}" for text in texts]
