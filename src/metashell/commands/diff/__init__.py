"""The command ``diff`` and all that only it needs."""
