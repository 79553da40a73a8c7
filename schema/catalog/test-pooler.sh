#!/usr/bin/env bash
# Runs the tests that need pgbouncer; as root it installs the Debian package when there is none.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

if ! command -v pgbouncer >/dev/null; then
  if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
    echo 'test-pooler: there is no pgbouncer in PATH; hint: install it (Debian and Ubuntu: apt-get install pgbouncer)' >&2
    exit 1
  fi
  apt-get update -q
  DEBIAN_FRONTEND=noninteractive apt-get install -qy --no-install-recommends pgbouncer
fi
exec go test . -count=1 -tags pooler -run '^TestThroughPooler$' "$@"
