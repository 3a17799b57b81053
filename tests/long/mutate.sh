#!/usr/bin/env bash
# Small faults, put one by one into the modules of the core that decide how a turn ends and how an
# agent comes back: how many of them do the core's own tests notice? Prints a score for each module.
#
#     pip install mutmut==3.8.1 && tests/long/mutate.sh      # minutes; what to do is in pyproject.toml
#
# Works on a copy. `core/link/turn.py` has no code but its table, which has tests of its own; mutmut
# changes no tables.
set -euo pipefail
cd "$(dirname "$0")/../.."
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
git ls-files -z | xargs -0 cp --parents -t "$copy"
cd "$copy"
mutmut run --max-children "${JOBS:-2}" "$@" >/dev/null || true
mutmut results --all true | awk '
  $1 ~ /^lastword/ && $NF != "checked" {
    split($1, parts, "."); name = parts[4]; total[name]++
    if ($NF != "survived" && $NF != "tests") killed[name]++
    else print $1, $NF
  }
  END { for (name in total) printf "%s %.1f %% of %d\n", name, 100 * killed[name] / total[name], total[name] }'
