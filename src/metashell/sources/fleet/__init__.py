"""Several metadata directories at once: names, one tree over all, rows, and how these are computed.

`metashell.open_fleet` gives a `source.FleetSource`, whose root holds ``/clusters/NAME`` for each
directory; nothing is opened before it is looked at. The functions of `rows` take a directory and
give a plain dict, in this process or in any other. Nothing here knows of a command or of Spark.
"""

from __future__ import annotations


def __getattr__(name: str) -> object:
    """Import the names that the guide shows on first use."""
    if name == "fleet_row":
        from metashell.sources.fleet.rows import fleet_row

        return fleet_row
    if name == "Reading":
        from metashell.sources.fleet.reading import Reading

        return Reading
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
