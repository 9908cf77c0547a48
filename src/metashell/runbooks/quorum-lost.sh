#!/bin/sh
# The controllers are gone: whose copy is to be trusted, whom to start, and will they start?
#
#   quorum-lost.sh DIRECTORY...
#   quorum-lost.sh /recovery/controller-1 /recovery/controller-2
#
# DIRECTORY is a controller's log directory, or a copy of it. Give those of all voters that are left.
# Exit status: 0 a vote is possible and the answer is sure, 1 no vote is possible, a copy is damaged,
# or something is to be looked at first, 3 the copies can't be judged together.
set -u
metashell=${METASHELL:-metashell}

if [ $# -eq 0 ]; then
    echo "usage: ${0##*/} DIRECTORY..." >&2
    exit 2
fi
damaged=0
for directory do
    "$metashell" -d "$directory" check --severity critical >/dev/null || {
        damaged=1
        echo "${0##*/}: $directory: damaged, or not to be read: metashell -d $directory check" >&2
    }
    set -- "$@" -d "$directory"
    shift
done

echo "== Which copy to trust"
"$metashell" "$@" quorum --copies
status=$?
echo
echo "== Will each node start?"
"$metashell" "$@" preflight || [ $status -ne 0 ] || status=1
[ $status -ne 0 ] || status=$damaged
exit $status
