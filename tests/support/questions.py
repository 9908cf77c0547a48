"""Command lines of every command that answers a question, in forms that show all columns."""

from __future__ import annotations

from typing import Final

ROWS: Final = (
    "partitions -o json",
    "partitions --history -o json",
    "partitions --offline",
    "partitions --offline -o jsonl",
    "partitions --under-replicated -o jsonl",
    "partitions --under-min-isr -o jsonl",
    "partitions --at-min-isr -o jsonl",
    "partitions --no-preferred-leader -o jsonl",
    "partitions --reassigning -o jsonl",
    "partitions --elr -o jsonl",
    "partitions --recovering -o jsonl",
    "partitions --leader 101 -o csv",
    "partitions --replica 101 -o csv",
    "partitions --isr 101 -o csv",
    "partitions --topic 'o*' -o json",
    "partitions --directory LOST -o json",
    "partitions --summary broker -o json",
    "partitions --summary rack -o json",
    "partitions --summary topic -o json",
    "partitions nowhere orders-0",
    "health -o json",
    "health --history -o json",
    "health --summary -o json",
    "health --detail --severity critical -o jsonl",
    "brokers -o json",
    "brokers --by rack -o json",
    "brokers --without 101,102 -o json",
    "coordinator group:g txn:t share:g:orders:0 -o json",
    "coordinator group:g share:g:nowhere:0 --history",
    "topics",
    "topics -o json",
    "topics --history -o json",
    "topics --internal --columns topic,history_records,changed_offset",
    "topics --config cleanup.policy=compact -o json",
    "nodes -o json",
    "nodes --history -o json",
    "nodes --ghosts --ghost-after 0",
    "can-upgrade 4.4",
    "can-upgrade 27 -o json",
    "can-upgrade 3.9 -o json",
    "config -o json",
    "config --history -o json",
    "config min.insync.replicas -o json",
    "config retention.ms --all -o json",
    "config --unknown -o json",
    "config --gone -o json",
    "acls -o json",
    "acls --history -o json",
    "acls --principal User:alice -o json",
    "who-can READ topic:orders -o json",
    "who-can ALTER cluster -o json",
    "quotas -o json",
    "quotas --history -o json",
    "quotas --user alice --client-id app1 -o json",
    "quotas --effective -o json",
    "users -o json",
    "users --history -o json",
    "tokens -o json",
    "tokens --history -o json",
)
"""Of commands that a fleet answers too."""

WALKS: Final = (
    "find / -offline",
    "find / -under-replicated -count",
    "find / -leader 101 -o -reassigning",
    "find / -fenced",
    "find / -config cleanup.policy=compact",
    "find /image/topics/byName -offline -exec stat {} ;",
    "find /image -name '*0' -printf '%p %y %d %t %o\\n'",
    "grep leader=-1 /image/topics/byName",
    "grep -c . /image",
    "grep -l . /log /local /quorum /bootstrap",
)
"""Of the commands that walk over contents."""

TABLES: Final = (
    "export topics --format jsonl",
    "export partitions --format csv",
    "export PartitionChangeRecord --format jsonl",
    "export /image --format json",
    "export --as kafka-cli --internal",
    "export --as strimzi",
)

SQL: Final = (
    'sql -o json "select topic, partition, leader, isr, changed_offset, changed_time'
    ' from partitions order by topic, partition"',
    'sql -o json "select type, count(*) as n from records group by type order by type"',
    'sql -o csv "select resource_type, resource_name, key, value from configs'
    ' order by resource_type, resource_name, name"',
    'sql -o json "select broker, fenced, created_offset, changed_time from brokers order by 1"',
)
"""In what DuckDB and Spark have in common."""
