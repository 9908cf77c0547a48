"""The command ``can-upgrade``."""
