"""Kafka message definitions and the two decoders made from them.

Nothing here knows of files or sockets.
"""
