"""The command ``offsets``."""
