"""Several metadata directories at once: names, one tree over all, rows, and how these are computed.

`metashell.open_fleet` gives a `FleetSource`, whose root holds ``/clusters/NAME`` for each
directory; nothing is opened before it is looked at. `fleet_row`, `last_offset` and `checksum_at`
take a directory and give a plain dict, in this process or in any other. Nothing here knows of a
command or of Spark.
"""

from __future__ import annotations

from metashell.sources.fleet.member import FleetDirectory, FleetMember, MemberDirectory
from metashell.sources.fleet.naming import unique_names
from metashell.sources.fleet.reading import Reading
from metashell.sources.fleet.rows import FIELDS, checksum_at, fleet_row, last_offset
from metashell.sources.fleet.source import FleetSource

__all__ = [
    "FIELDS",
    "FleetDirectory",
    "FleetMember",
    "FleetSource",
    "MemberDirectory",
    "Reading",
    "checksum_at",
    "fleet_row",
    "last_offset",
    "unique_names",
]
