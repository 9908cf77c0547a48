"""The tests of contents of ``find``, answered for all partitions of an image at once.

`metashell.answers.health` says what a partition's state means.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final

import numpy as np

from metashell.commands.find.expression import Holds
from metashell.commands.framework.command import Context
from metashell.redact import Redaction
from metashell.schema.resource_types import resource_type_name

if TYPE_CHECKING:
    from metashell.answers.health import Health
    from metashell.image.image import Image
    from metashell.schema.arena import I64, Bools
    from metashell.sources.source import Source

_OF_BROKERS: Final = frozenset({"-fenced", "-controlled-shutdown"})
_LISTS: Final = {"-replica": "replicas", "-isr": "isr"}
_TOPIC, _BROKER = 2, 4


class ContentTests:
    """The tests of a query; a `metashell.fs.texts.Judge`.

    The last computed outcomes are kept: nodes come cluster by cluster.

    Args:
        context: Says what is redacted: tests see what is shown.
        tests: The tests.
    """

    def __init__(self, context: Context, tests: Sequence[Holds]) -> None:
        # A fleet has one setting for all its clusters.
        opened = context.opened
        self._shows_secrets = opened is not None and opened.settings.show_secrets
        self._configs = [t for t in tests if t.test == "-config"]
        self._brokers = [t for t in tests if t.test in _OF_BROKERS]
        self._partitions = [t for t in tests if t not in self._configs + self._brokers]
        self._kept: dict[str, tuple[object, I64]] = {}

    def expect_lists(self, source: Source) -> None:
        """Have the lists that the tests look at decoded with the first look at partitions."""
        from metashell.answers.health import READS

        lists = {name for t in self._partitions for name in READS.get(t.test[1:], ())}
        lists |= {_LISTS[t.test] for t in self._partitions if t.test in _LISTS}
        if lists:
            source.expect(lists)

    def partitions(self, image: Image) -> I64:
        """int64[k]: the code of each partition."""
        return self._cached_or("partitions", image, lambda: self._of_partitions(image))

    def partition(self, image: Image, topic: int, partition: int) -> int:
        """The code of one partition of a topic, given by its index."""
        if not self._partitions:
            return 0
        row = image.partitions.index(topic, partition)
        return 0 if row is None else int(self.partitions(image)[row])

    def topics(self, image: Image) -> I64:
        """int64[k]: the code of each topic: those of its configs."""
        return self._cached_or("topics", image, lambda: self._of_topics(image))

    def brokers(self, image: Image) -> I64:
        """int64[k]: the code of each broker: its own and those of its configs."""
        return self._cached_or("brokers", image, lambda: self._of_brokers(image))

    def configs(self, image: Image) -> I64:
        """int64[k]: the code of each config value."""
        return self._cached_or("configs", image, lambda: self._of_configs(image))

    def _cached_or(self, what: str, of: object, make: Callable[[], I64]) -> I64:
        kept = self._kept.get(what)
        if kept is None or kept[0] is not of:
            kept = self._kept[what] = (of, make())
        return kept[1]

    def _of_partitions(self, image: Image) -> I64:
        from metashell.answers.health import Health

        codes = np.zeros(len(image.partitions), dtype=np.int64)
        health = Health(image)
        for test in self._partitions:
            codes |= _passes(test, health).astype(np.int64) << test.index
        return codes

    def _of_brokers(self, image: Image) -> I64:
        brokers = image.brokers
        codes = np.zeros(len(brokers), dtype=np.int64)
        for test in self._brokers:
            fenced = test.test == "-fenced"
            passes = brokers.fenced if fenced else brokers.in_controlled_shutdown
            codes |= passes.astype(np.int64) << test.index
        if self._configs:
            of_name = self._by_name(image, _BROKER)
            codes |= np.array([of_name.get(str(i), 0) for i in brokers.ids.tolist()], np.int64)
        return codes

    def _of_topics(self, image: Image) -> I64:
        if not self._configs:
            return np.zeros(len(image.topics), dtype=np.int64)
        of_name = self._by_name(image, _TOPIC)
        codes = (of_name.get(name, 0) for name in image.topics.names)
        return np.fromiter(codes, dtype=np.int64, count=len(image.topics))

    def _by_name(self, image: Image, kind: int) -> dict[str, int]:
        """The codes of resources of a type, by name; those of 0 are left out."""
        columns, codes = image.part("configs").columns, self.configs(image)
        rows = np.flatnonzero((columns.fixed("resource_type") == kind) & (codes != 0))
        names = columns.span("resource_name").take(rows).texts()
        found: dict[str, int] = {}
        for name, code in zip(names, codes[rows].tolist(), strict=True):
            found[name] = found.get(name, 0) | code
        return found

    def _of_configs(self, image: Image) -> I64:
        columns = image.part("configs").columns
        codes = np.zeros(columns.n, dtype=np.int64)
        keys = columns.span("name").texts() if self._configs else []
        for test in self._configs:
            assert test.key is not None
            match = test.key.match
            fits = {key: bool(match(key)) for key in set(keys)}
            rows = np.flatnonzero([fits[key] for key in keys])
            if test.value is not None and len(rows):
                values, match = self._values(image, rows), test.value.match
                rows = rows[[bool(match(value)) for value in values]]
            codes[rows] |= 1 << test.index
        return codes

    def _values(self, image: Image, rows: I64) -> list[str]:
        """Values as they are shown."""
        redaction = Redaction(self._shows_secrets)
        columns = image.part("configs").columns.take(rows)
        return [
            redaction.config_value(resource_type_name(kind), key, value)
            for kind, key, value in zip(
                columns.fixed("resource_type").tolist(),
                columns.span("name").texts(),
                columns.span("value").texts(),
                strict=True,
            )
        ]


def _passes(test: Holds, health: Health) -> Bools:
    """bool[k]: which partitions pass."""
    if test.number is None:
        return health.mask(test.test.removeprefix("-"))
    if test.test == "-leader":
        led: Bools = health.image.partitions.leader == test.number
        return led
    return health.having(_LISTS[test.test], test.number)
