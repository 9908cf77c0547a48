"""The command ``producers``."""
