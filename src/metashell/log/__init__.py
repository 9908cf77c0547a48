"""Record batches become frames: names, chain, CRC, compression, and the files of one log.

Nothing here knows what a record means, or a socket.
"""
