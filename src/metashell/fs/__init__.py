"""The virtual file system: nodes, paths, patterns, globs, walks.

Nodes are lazy views of the image; nothing here parses bytes.
"""
