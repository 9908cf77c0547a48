"""The command ``topics``."""
