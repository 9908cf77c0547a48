"""The observer of a live quorum and its connections: the only sockets of the program.

It asks controllers for their log. Nothing here writes, locks or creates a file, changes anything in
a quorum, or knows what a metadata record is.
"""
