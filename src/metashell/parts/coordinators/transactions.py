"""Transactional ids, each with its last transaction.

Source: org.apache.kafka.coordinator.transaction.TransactionStateManager.
"""

from metashell.parts.spec import NamedCodes, PartDescription, PartField, PartSpec, Put

_STATES = NamedCodes("metashell.records.keyed_records:TRANSACTION_STATES", unknown="UNKNOWN({})")

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
    schema="metashell.answers.transactions:TRANSACTIONS_SCHEMA",
    rows="metashell.answers.transactions:transaction_rows",
    rows_by=("transactional_id",),
    asked_for=("hanging",),
    joined="metashell.sources.partition_ends:hanging_joined",
)
