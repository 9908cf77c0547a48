"""The command ``watch`` and all that only it needs."""
