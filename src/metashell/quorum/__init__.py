"""What a node of the quorum keeps beside its metadata log, and the live quorum itself.

Owns the small text files around a log, `meta.properties`, `quorum-state` and
`leader-epoch-checkpoint`; the configuration files that name a log directory or a quorum; and the
connection to a quorum, TLS and SASL included: an observer that asks controllers for their log, and
the only sockets of the program. Nothing here writes, locks or creates a file, changes anything in a
quorum, or knows what a metadata record is.
"""
