"""Recipes that make topics, configs, quotas and ACLs again: scripts and resources, no secrets.

`wanted` reads an image, `kafka_cli` writes commands of Kafka's own tools, `strimzi` resources.
"""

from __future__ import annotations

from typing import Final

KAFKA_CLI: Final = "kafka-cli"
STRIMZI: Final = "strimzi"
RECIPES: Final = (KAFKA_CLI, STRIMZI)
"""Names of what is written."""
