"""Where files are: paths and URIs, and what lists and reads them, on disks and in stores.

Nothing here knows of Kafka.
"""
