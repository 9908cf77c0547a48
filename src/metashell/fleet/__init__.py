"""Several metadata directories at once: names, one tree over all, rows, and how these are computed.

`open_fleet` gives a `FleetSource`, whose root holds ``/clusters/NAME`` for each directory; nothing
is opened before it is looked at. `fleet_row`, `last_offset` and `checksum_at` take a directory and
give a plain dict, in this process or in any other. Nothing here knows of a command or of Spark.
"""

from __future__ import annotations

from metashell.fleet.member import FleetDirectory, Member, MemberDirectory
from metashell.fleet.naming import unique_names
from metashell.fleet.reading import Reading
from metashell.fleet.rows import FIELDS, checksum_at, fleet_row, last_offset
from metashell.fleet.source import CLUSTERS, FleetSource, open_fleet

__all__ = [
    "CLUSTERS",
    "FIELDS",
    "FleetDirectory",
    "FleetSource",
    "Member",
    "MemberDirectory",
    "Reading",
    "checksum_at",
    "fleet_row",
    "last_offset",
    "open_fleet",
    "unique_names",
]
