"""Reduced logs kept on disk, so that what was decoded once is not decoded again.

::

    from metashell.sources.cache.opening import open_cached
    from metashell.sources.cache.writing import store

    cached = open_cached(directory)       # None: nothing is kept, or it is not what is there now
    log = cached.finish(reduce_split(split, cached.how) for split in cached.plan.splits)
    Image(log.records)                    # as if all files had been read

    store(directory, log, how)            # what was reduced, for the next time

An entry stands for the files that can't change any more, and for the first batches of the segment
that still grows: a log is only ever appended to, so the last of these batches vouches for all
before it. Everything here fails silently: without the cache the files are read, which is always
right. Looking for an entry costs a look at one path, and imports neither numpy nor pyarrow.
"""
