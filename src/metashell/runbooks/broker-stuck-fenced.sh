#!/bin/sh
# Why does a broker stay fenced, and which partitions wait for it?
#
#   broker-stuck-fenced.sh BROKER SOURCE...
#   broker-stuck-fenced.sh 101 -q controller-1:9093
#
# Exit status: 0 it is registered and not fenced, 1 it is fenced or unknown.
set -u
metashell=${METASHELL:-metashell}

if [ $# -lt 2 ]; then
    echo "usage: ${0##*/} BROKER SOURCE..." >&2
    exit 2
fi
broker=$1
shift
case $broker in
    '' | *[!0-9]*)
        echo "${0##*/}: $broker: not a broker's id" >&2
        exit 2
        ;;
esac

path=/image/cluster/brokers/$broker
known=$("$metashell" "$@" find /image/cluster/brokers -name "$broker") || exit $?
echo "== Its registration"
if [ -z "$known" ]; then
    echo "Broker $broker is not registered. It never reached the controllers, or was unregistered:"
    "$metashell" "$@" changes "$path"
    exit 1
fi
"$metashell" "$@" nodes --brokers -o yaml | awk -v id="$broker" '
    /^- / { wanted = ($0 == "- id: " id) }
    wanted'

echo
echo "== How that happened"
"$metashell" "$@" changes -n 10 "$path"

echo
echo "== Partitions that wait for it"
echo "without a leader:  $("$metashell" "$@" partitions --offline --replica "$broker" --count)"
echo "under-replicated:  $("$metashell" "$@" partitions --under-replicated --replica "$broker" --count)"
echo "under min ISR:     $("$metashell" "$@" partitions --under-min-isr --replica "$broker" --count)"
echo "in a LOST log dir: $("$metashell" "$@" partitions --directory LOST --replica "$broker" --count)"

fenced=$("$metashell" "$@" nodes --brokers --fenced -o tsv --columns id |
    awk -v id="$broker" 'NR > 1 && $1 == id')
echo
if [ -z "$fenced" ]; then
    echo "Broker $broker is not fenced."
    exit 0
fi
echo "== What to do"
echo "The controller unfences a broker that sends heartbeats and has the newest metadata."
echo "Start the broker if it is down. Search its server.log for the epoch above."
echo "Check that it reaches the controllers' listeners."
echo "Check that its cluster.id and node.id are these, and that its log directories are online."
exit 1
