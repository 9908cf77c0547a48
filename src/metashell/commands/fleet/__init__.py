"""The command ``fleet`` and all that only it needs."""
