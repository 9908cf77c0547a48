#!/bin/sh
# Why can't metadata.version be raised?
#
#   upgrade-blocked.sh VERSION SOURCE...
#   upgrade-blocked.sh 4.4 -q controller-1:9093
#
# Exit status: 0 it can be raised (or has that level already), 1 something blocks it.
set -u
metashell=${METASHELL:-metashell}

if [ $# -lt 2 ]; then
    echo "usage: ${0##*/} VERSION SOURCE..." >&2
    exit 2
fi
version=$1
shift

echo "== The cluster's metadata.version"
"$metashell" "$@" cat /image/features/metadataVersion || exit $?

echo
echo "== Can it be raised to $version?"
"$metashell" "$@" can-upgrade "$version"
answer=$?
[ "$answer" -le 1 ] || exit "$answer"

if [ "$answer" -eq 1 ]; then
    echo
    echo "== Registered, but not running; blocks feature upgrades"
    "$metashell" "$@" nodes --ghosts --columns id,role,fenced,release,replicas,ghost,changed_time
    echo
    echo "Upgrade each node that runs an old release. If a node is gone for good, remove its"
    echo "registration with the command above. Then ask again."
fi
exit "$answer"
