"""The command ``check`` and all that only it needs."""
