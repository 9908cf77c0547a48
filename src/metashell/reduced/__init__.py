"""A stretch of the log reduced to the records that a state can still depend on.

Executors send this form, the cache keeps it, and every fold works on it as on a whole log.
Nothing here knows of Spark or of the cache.
"""
