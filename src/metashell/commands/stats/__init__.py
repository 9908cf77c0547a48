"""The command ``stats`` and all that only it needs."""
