#!/bin/sh
# The controllers are gone: which of them can elect a leader, and whom?
#
#   quorum-lost.sh DIRECTORY...
#   quorum-lost.sh /recovery/controller-1 /recovery/controller-2
#
# DIRECTORY is a controller's log directory, or a copy of it. Give those of all voters that are left.
# Exit status: 0 a vote is possible and the copies agree, 1 no vote is possible, or a copy is
# damaged or differs.
set -u
metashell=${METASHELL:-metashell}

if [ $# -eq 0 ]; then
    echo "usage: ${0##*/} DIRECTORY..." >&2
    exit 2
fi
for directory do
    if [ -f "$directory" ]; then
        echo "${0##*/}: $directory: a file: unpack it if it is an archive, and give the directory" >&2
        exit 2
    fi
    if [ ! -d "$directory" ]; then
        echo "${0##*/}: $directory: no such directory" >&2
        exit 2
    fi
done
status=0

for directory do
    echo "== $directory"
    "$metashell" -d "$directory" quorum || status=1
    echo
    "$metashell" -d "$directory" check --severity critical || status=1
    echo
done

for directory do
    set -- "$@" -d "$directory"
    shift
done

echo "== Where each log ends"
"$metashell" "$@" fleet --columns cluster,node_id,log_epoch,log_end_offset,time,error -o table ||
    status=1
if [ $# -gt 2 ]; then
    echo
    echo "== Whether they agree at the last offset that all of them have"
    "$metashell" "$@" fleet --verify || status=1
fi

echo
echo "== Who can win a vote, if exactly these voters run"
"$metashell" "$@" fleet --votes || status=1
n=$("$metashell" "$@" fleet --votes --count 2>/dev/null)

echo
echo "== What to do"
echo "Copy every directory away before anything is started. Never format one."
if [ "$n" = 0 ]; then
    echo "No vote is possible with these voters. Find the directories of other voters."
    echo "Keep each one as it is: no copy proves that it has every committed record."
    exit 1
fi
echo "Start the voters of one line above. One of those in CAN_WIN becomes the leader, and the others"
echo "take over its log: what only their logs hold is dropped. If every voter still has its own"
echo "directory, any majority of the voters keeps every committed record."
echo "If CAN_WIN of a line has one voter, that voter's log is kept. To compare two logs, look at"
echo "LOG_EPOCH first: the higher one is newer. If it is equal, the higher LOG_END_OFFSET is newer."
echo "Each node needs its own directory, with the same node.id and directory.id in meta.properties."
exit "$status"
