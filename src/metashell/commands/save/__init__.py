"""The command ``save`` and all that only it needs."""
