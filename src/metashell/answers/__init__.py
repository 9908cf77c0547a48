"""Answers to what operators ask, computed from an image."""
