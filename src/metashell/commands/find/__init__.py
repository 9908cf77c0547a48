"""The command ``find`` and all that only it needs."""
