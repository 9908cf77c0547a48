"""The command ``health`` and all that only it needs."""
