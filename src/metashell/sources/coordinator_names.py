"""The names of topics that coordinators' records call by their ids."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from metashell.sources.source import Source


def topic_names(source: Source) -> Callable[[], Mapping[str, str]]:
    """Gives the names of topics by the text of their ids; none where there is no metadata."""

    @cache
    def names() -> Mapping[str, str]:
        if not source.capabilities.has_image:
            return {}
        topics = source.image.topics
        return dict(zip(topics.id_texts, topics.names, strict=True))

    return names
