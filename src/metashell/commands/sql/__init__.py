"""The command ``sql`` and all that only it needs."""
