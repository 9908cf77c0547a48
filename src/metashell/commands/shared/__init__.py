"""Helpers that several commands share. No helper is a command, and the framework imports none."""
