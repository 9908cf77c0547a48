"""The command ``export`` and all that only it needs."""
