"""The command ``preflight``."""
