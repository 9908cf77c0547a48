#!/bin/sh
# The controllers are gone: which copy of the metadata log should I keep?
#
#   quorum-lost.sh DIRECTORY...
#   quorum-lost.sh /recovery/controller-1 /recovery/controller-2
#
# DIRECTORY is a node's log directory, or a copy of it; brokers have one too.
# Exit status: 0 the copies agree as far as they go, 1 one is damaged or differs.
set -u
metashell=${METASHELL:-metashell}

if [ $# -eq 0 ]; then
    echo "usage: ${0##*/} DIRECTORY..." >&2
    exit 2
fi
for directory do
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
    "$metashell" -d "$directory" check --severity error || status=1
    echo
done

for directory do
    set -- "$@" -d "$directory"
    shift
done

echo "== How far each goes"
"$metashell" "$@" fleet || status=1
if [ $# -gt 2 ]; then
    echo
    echo "== Whether they agree at the last offset that all of them have"
    "$metashell" "$@" fleet --verify || status=1
fi

echo
echo "== What to do"
echo "Start a majority of the voters above: they elect a leader. Each needs the directory that it"
echo "had, with the same node.id and directory.id in meta.properties."
echo "If a majority is gone for good, keep one directory that passes the check: the one with the"
echo "highest leader epoch, and among these the one with the highest offset."
echo "Copy it away before anything is started, and never format it."
exit "$status"
