#!/usr/bin/env bash
# Makes the snapshots anew, on a server of each supported version of Postgres. Run it, as
# `go generate ./schema/catalog`, after every change of the canonical schema that is not
# only inside a function. HOLDFAST_PG_DIR names a directory to keep the binaries in;
# without it they are fetched into a temporary one.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

dir=${HOLDFAST_PG_DIR:-}
if [ -z "$dir" ]; then
  dir=$(mktemp -d)
  trap 'rm -rf "$dir"' EXIT
fi
HOLDFAST_PG_BINS=$(./fetch-postgres.sh "$dir" 14 15 16 17 18)
export HOLDFAST_PG_BINS
go test . -count=1 -run '^TestSnapshotIsFresh$' -update
