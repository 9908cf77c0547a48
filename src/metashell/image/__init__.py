"""The fold: records become the parts of the cluster's state at an offset.

Nothing here knows where bytes came from.
"""
