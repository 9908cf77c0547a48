"""Recipes that make topics, configs, quotas and ACLs again: scripts and resources, no secrets.

`wanted` reads an image, `kafka_cli` writes commands of Kafka's own tools, `strimzi` resources.
"""
