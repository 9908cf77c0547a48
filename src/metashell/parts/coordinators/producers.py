"""Producers of the partitions whose logs are in a node's log directories.

They stand beside the logs of all topics, and no record of a coordinator tells of them.
"""

from metashell.parts.spec import PartSpec

PART = PartSpec(
    name="producers",
    help="Producers of the partitions whose logs are here.",
    path=("producers",),
    node="metashell.sources.coordinator_tree:producers_directory",
    table_columns=(
        "topic:string partition:int32 producer_id:int64 producer_epoch:int16 last_sequence:int32? "
        "last_timestamp:time? coordinator_epoch:int32? current_txn_start_offset:int64? "
        "last_offset:int64?"
    ),
    rows="metashell.sources.partition_ends:producer_rows",
    rows_by=("topic", "partition", "producer_id"),
)
