#!/bin/sh
# Why does a partition have no leader, and what brings it back?
#
#   partition-offline.sh TOPIC SOURCE...
#   partition-offline.sh 'orders*' -d /var/lib/kafka/data
#
# TOPIC may hold wildcards; '*' stands for all topics.
# Exit status: 0 all partitions have a leader, 1 some have none, or no such topic.
set -u
metashell=${METASHELL:-metashell}

if [ $# -lt 2 ]; then
    echo "usage: ${0##*/} TOPIC SOURCE..." >&2
    exit 2
fi
topic=$1
shift

n=$("$metashell" "$@" partitions --offline --topic "$topic" --count) || exit $?
if [ "$n" -eq 0 ]; then
    echo "All partitions of $topic have a leader."
    exit 0
fi

echo "== Partitions without a leader: $n"
"$metashell" "$@" partitions --offline --topic "$topic" --history \
    --columns topic,partition,replicas,isr,elr,would_elect,why,since_time || exit $?

# health ends with 1 where something is critical, which it is here.
told=$("$metashell" "$@" health coordinator-offline -o tsv --columns explanation | tail -n +2)
if [ -n "$told" ]; then
    echo
    echo "== Groups and transactions without a coordinator"
    printf '%s\n' "$told"
fi

echo
echo "== The brokers"
"$metashell" "$@" brokers --columns broker,state,rack,leaders,replicas

echo
echo "== What to do"
echo "Start a broker that a partition waits for, on its own log directories. The controller elects"
echo "its replica. On an empty log directory the replica has lost its records."
lost=$("$metashell" "$@" partitions --offline --topic "$topic" -o tsv \
    --columns topic,partition,unclean_candidate | awk -F '\t' 'NR > 1 && $3 != ""')
if [ -n "$lost" ]; then
    echo "Only if these brokers are gone for good: an unclean election makes another replica lead,"
    echo "and LOSES the records that this replica had not copied."
    printf '%s\n' "$lost" | while IFS="$(printf '\t')" read -r name partition candidate; do
        case $name in
            # What Kafka itself never takes for a topic stands in no command.
            *[!a-zA-Z0-9._-]*) continue ;;
        esac
        echo "  # broker $candidate would lead"
        echo "  kafka-leader-election.sh --bootstrap-server HOST:PORT --election-type unclean" \
            "--topic '$name' --partition $partition"
    done
fi
exit 1
