"""Recipes that make topics, configs, quotas and ACLs again: scripts and resources, no secrets.

`contents` reads an image, `kafka_cli` writes commands of Kafka's own tools, `strimzi` resources.
`settings` has what is compared with such resources, or with another cluster.
"""

from __future__ import annotations

from typing import Final

KAFKA_CLI: Final = "kafka-cli"
STRIMZI: Final = "strimzi"
RECIPES: Final = (KAFKA_CLI, STRIMZI)
"""Names of what is written."""
