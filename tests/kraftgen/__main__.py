"""Write a made-up cluster's metadata log: ``python -m kraftgen DIR --topics 100000``."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from kraftgen.cluster import ClusterSpec, write_cluster


def main(argv: list[str] | None = None) -> int:
    """Run the command line; returns the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m kraftgen",
        description="Write the log dir of a controller of a made-up, sound cluster.",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    parser.add_argument("directory", type=Path, metavar="DIR", help="made if it is missing")
    defaults = ClusterSpec()
    for name, text in (
        ("topics", "number of topics"),
        ("partitions", "partitions of each topic"),
        ("brokers", "number of brokers"),
        ("controllers", "number of controllers, all voters"),
        ("replication", "replicas of each partition"),
        ("changes", "PartitionChangeRecords after the checkpoint"),
        ("seed", "the same seed gives the same files"),
        ("batch-records", "records in a batch of the checkpoint"),
        ("changes-batch", "records in a batch of changes, on average"),
        ("metadata-version", "level of the metadata.version feature"),
    ):
        default = getattr(defaults, name.replace("-", "_"))
        parser.add_argument(f"--{name}", type=int, default=default, metavar="N", help=text)
    values = vars(parser.parse_args(argv))
    directory = values.pop("directory")
    try:
        written = write_cluster(directory, ClusterSpec(**values))
    except (ValueError, OSError) as e:
        print(f"kraftgen: {e}", file=sys.stderr)
        return 1
    print(f"{written.checkpoint}: {written.checkpoint_records} records")
    if written.segment is not None:
        print(f"{written.segment}: {written.change_batches} batches to {written.end_offset - 1}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
