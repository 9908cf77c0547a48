#!/bin/sh
# Who changed this config, and when?
#
#   who-changed-config.sh RESOURCE KEY SOURCE...
#   who-changed-config.sh topic:orders retention.ms -d /var/lib/kafka/data
#
# RESOURCE is topic:NAME, broker:ID (broker: for the default of all), group:NAME or
# client-metrics:NAME.
# Exit status: 0 the config is set or was changed, 1 it was never set.
set -u
metashell=${METASHELL:-metashell}

if [ $# -lt 3 ]; then
    echo "usage: ${0##*/} RESOURCE KEY SOURCE..." >&2
    exit 2
fi
resource=$1 key=$2
shift 2
name=${resource#*:}
case $resource in
    topic:*) directory=TOPIC:$name ;;
    broker: | broker:default) directory=BROKER ;;
    broker:*) directory=BROKER:$name ;;
    group:*) directory=GROUP:$name ;;
    client-metrics:*) directory=CLIENT_METRICS:$name ;;
    *)
        echo "${0##*/}: $resource: topic:NAME, broker:ID, group:NAME or client-metrics:NAME" >&2
        exit 2
        ;;
esac

echo "== What it is now, and where that comes from"
"$metashell" "$@" config "$key" "$resource"
status=$?
[ "$status" -le 1 ] || exit "$status"

echo
echo "== Every change in the files"
changes=$("$metashell" "$@" changes "/image/configs/$directory/$key" 2>/dev/null)
if [ -z "$changes" ]; then
    echo "none"
    exit 1
fi
printf '%s\n' "$changes"

echo
echo "== Who"
echo "The log does not hold the principal, only the time and the controller that wrote the record."
echo "Look for ALTER_CONFIGS or INCREMENTAL_ALTER_CONFIGS of $resource at these times in the"
echo "authorizer's log (kafka-authorizer.log) and the request log of the active controller, and of"
echo "the brokers, which forward such requests to it."
