"""The files of a node beside its log, and its configuration files.

Nothing here knows of logs.
"""
