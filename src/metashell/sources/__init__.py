"""Opened sources: one state of a directory, file, quorum or fleet, and the cache before it.

Holds no logic of a front end.
"""
