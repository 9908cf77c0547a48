"""The command ``log`` and all that only it needs."""
