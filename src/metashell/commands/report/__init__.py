"""The command ``report`` and all that only it needs."""
