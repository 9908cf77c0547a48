"""The command ``partitions``."""
