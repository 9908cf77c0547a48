"""How much of what is in a log: the same counts for the metadata log and for coordinators' logs."""
