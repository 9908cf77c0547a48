#!/usr/bin/env python3
"""Make the disks of three voters that were lost, from the log of one.

The first has the whole log, the second lacks the last hundredth of it, the third the last two. Logs
are cut at any byte, as a lost power supply may.
"""

from __future__ import annotations

import argparse
import shutil
from pathlib import Path

from metashell.image.quorum_members import voters_in_log
from metashell.log.names import METADATA_DIRECTORY
from metashell.read_settings import READ_DEFAULTS
from metashell.sources.directory import open_place

_LOST = 100
"""A tail of the log is one in so many of its bytes."""


def main() -> int:
    """Run the command line; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("target", type=Path)
    parser.add_argument("source", type=Path)
    arguments = parser.parse_args()
    source = open_place(str(arguments.source), READ_DEFAULTS)
    for i, voter in enumerate(voters_in_log(source.image.quorum)):
        disk = arguments.target / f"voter-{i}"
        ignore = shutil.ignore_patterns("*.index", "*.timeindex")
        shutil.copytree(arguments.source, disk, ignore=ignore)
        (disk / "meta.properties").write_text(
            f"version=1\ncluster.id={source.cluster_id}\nnode.id={voter.id}\n"
            f"directory.id={voter.directory_id}\n"
        )
        (log,) = (disk / METADATA_DIRECTORY).glob("*.log")
        with log.open("r+b") as file:
            file.truncate(log.stat().st_size * (_LOST - i) // _LOST)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
