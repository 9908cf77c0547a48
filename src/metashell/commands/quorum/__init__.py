"""The command ``quorum`` and all that only it needs."""
