#!/bin/sh
# Runs a command once somebody in the room has said yes to it:
#
#     gate.sh ROOM PROMPT [COMMAND [ARGUMENT...]]
#
# QUESTION_SERVER and QUESTION_TOKEN say where to ask and as whom, QUESTION_TTL how long to wait for an answer (30m).
# It exits as the command does, and with 0 where there is none to run. Without a yes nothing is run, and it exits with
# 10 when somebody said no, 3 when nobody answered in time, 4 when the question was withdrawn, 1 after an error.
set -eu

if [ $# -lt 2 ]; then
    echo "usage: ${0##*/} ROOM PROMPT [COMMAND [ARGUMENT...]]" >&2
    exit 2
fi
room=$1 prompt=$2
shift 2

# The exit code tells whether somebody answered: a no is an answer too. What it is stands on standard output, alone.
code=0
answer=$(question ask --yes-no --wait --cancel-on-interrupt --ttl "${QUESTION_TTL:-30m}" -- "$room" "$prompt") || code=$?
[ "$code" -eq 0 ] || exit "$code"
if [ "$answer" != approve ]; then
    echo "${0##*/}: somebody said no" >&2
    exit 10
fi
[ $# -eq 0 ] || exec "$@"
