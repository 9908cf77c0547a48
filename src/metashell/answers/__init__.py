"""Answers to what operators ask, computed from an image.

Nothing here knows of a command, a terminal or a path.
"""
