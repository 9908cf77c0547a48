#!/usr/bin/env python3
"""Writes the log directory of a made-up broker: ``replica_disks.py DIR --topics 1000``.

It has a replica of each partition, and the metadata log. One directory of a hundred has a topic id
that no topic has; ``expected.json`` says how many. Files of equal content are links, so that many
directories take little room.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path
from typing import Final

import metashell
from kraftgen.batch import encode_batch
from kraftgen.cluster import ClusterSpec, write_cluster

EXPECTED: Final = "expected.json"
_STRAY_EVERY: Final = 100
_BROKER: Final = 1
_LINKS: Final = 10_000
"""Links to a file: file systems bear no more than some ten thousand."""
_BATCHES: Final = 20
_NO_TOPIC: Final = "_" * 22


def main() -> int:
    """Run the command line; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("directory", type=Path)
    parser.add_argument("--topics", type=int, default=1000)
    parser.add_argument("--partitions", type=int, default=10)
    given = parser.parse_args()
    disk = given.directory / "disk"
    spec = ClusterSpec(
        topics=given.topics, partitions=given.partitions, brokers=1, replication=1, changes=1
    )
    write_cluster(disk, spec)
    identity = disk / "meta.properties"
    lines = [line for line in identity.read_text().splitlines() if "node.id" not in line]
    identity.write_text("\n".join([*lines, f"node.id={_BROKER}", ""]))
    topics = metashell.open(disk).image.topics
    log = b"".join(
        encode_batch([bytes(300)] * 3, base_offset=3 * i, producer_id=7) for i in range(_BATCHES)
    )
    files = {f"{0:020}.log": log, f"{0:020}.index": bytes(8192), f"{0:020}.timeindex": bytes(8184)}
    files["leader-epoch-checkpoint"] = b"0\n1\n1 0\n"
    models = given.directory / "models"
    n = 0
    for name, topic_id in zip(topics.names, topics.id_texts, strict=True):
        for partition in range(given.partitions):
            model = models / str(n // _LINKS)
            if not model.exists():
                model.mkdir(parents=True)
                for file, content in files.items():
                    (model / file).write_bytes(content)
            replica = disk / f"{name}-{partition}"
            replica.mkdir()
            for file in files:
                os.link(model / file, replica / file)
            known = _NO_TOPIC if n % _STRAY_EVERY == 0 else topic_id
            (replica / "partition.metadata").write_text(f"version: 0\ntopic_id: {known}")
            n += 1
    marks = [f"{name} {p} 57" for name in topics.names for p in range(given.partitions)]
    for file in ("replication-offset-checkpoint", "recovery-point-offset-checkpoint"):
        (disk / file).write_text("\n".join(["0", str(n), *marks, ""]))
    expected = {"replicas": n + 1, "strays": -(-n // _STRAY_EVERY)}
    (given.directory / EXPECTED).write_text(json.dumps(expected))
    return 0


if __name__ == "__main__":
    sys.exit(main())
