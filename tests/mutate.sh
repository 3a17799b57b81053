#!/bin/sh
# The old path of long/mutate.sh.
exec "$(dirname "$0")/long/mutate.sh" "$@"
