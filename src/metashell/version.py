"""The version, for whoever may not import the package's own module."""

__version__ = "0.1.0"
