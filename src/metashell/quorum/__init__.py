"""What a node of the quorum keeps beside its metadata log, and (later) the quorum itself.

Owns the small text files around a log, `meta.properties`, `quorum-state` and
`leader-epoch-checkpoint`, and the configuration files that name a log directory. Nothing here
writes, locks or creates a file, or knows what a metadata record is.
"""
