"""Transactional ids, each with its last transaction.

Source: org.apache.kafka.coordinator.transaction.TransactionStateManager.
"""

from metashell.parts.spec import NamedCodes, PartDescription, PartField, PartSpec, Put

_STATES = NamedCodes("metashell.records.flaws:TRANSACTION_STATES", unknown="UNKNOWN({})")

PART = PartSpec(
    name="transactions",
    help="Transactional ids, each with its last transaction.",
    log="__transaction_state",
    events=(
        Put(
            "TransactionLog",
            at="{transactional_id}",
            fields=(PartField("transaction_status", "state", _STATES),),
        ),
    ),
    path=("transactions",),
    described=PartDescription(
        "Transactions",
        "transactions",
        "",
        (
            *("transactional_id", "state", "partitions", "started_time", "last_update_time"),
            *("producer_id", "producer_epoch", "timeout_ms", "coordinator", "partition"),
        ),
    ),
    table_columns=(
        "transactional_id:string state:string producer_id:int64 producer_epoch:int16 "
        "partitions:texts timeout_ms:int32 started_time:time? last_update_time:time "
        "coordinator:int32 hanging:bool partition:int32"
    ),
    rows="metashell.answers.transactions:transaction_rows",
    rows_by=("transactional_id",),
    asked_for=("hanging",),
    joined="metashell.sources.partition_ends:hanging_joined",
)
