"""The command ``transactions``."""
