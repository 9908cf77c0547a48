"""The command ``replicas``."""
