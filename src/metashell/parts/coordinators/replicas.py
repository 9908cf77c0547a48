"""Replicas in the log directories here, and those that should be there.

No record of a coordinator tells of them.
"""

from metashell.parts.spec import PartSpec

PART = PartSpec(
    name="replicas",
    help="Directories of replicas in the log directories here, and replicas that are missing.",
    path=("disk",),
    node="metashell.sources.disk_tree:disk_directory",
    table_columns=(
        "broker:int32? directory:string topic:string partition:int32? state:string bytes:int64? "
        "segments:int64? log_start_offset:int64? log_end_offset:int64? high_watermark:int64? "
        "last_time:time? open_producers:int64? "
        "recovery_segments:int64? recovery_bytes:int64? diverges_at:int64? topic_id:string "
        "name:string role:string in_sync_elsewhere:integers reason:string"
    ),
    rows="metashell.sources.replicas:replica_rows",
    rows_by=("broker", "directory", "topic", "partition", "name"),
)
