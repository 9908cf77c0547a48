"""The record stream of a log: which records count, windows, filters, lines, rows, density, usage.

Nothing here folds records to a state.
"""
