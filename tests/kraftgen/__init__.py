"""Writes Kafka metadata logs: an encoder, a batch writer, the files of a node, and whole clusters.

Used by the benchmarks and by the tests, never by metashell itself.
"""
