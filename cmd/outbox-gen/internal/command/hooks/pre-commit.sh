#!/bin/sh
# Refuses a commit whose outbox migrations are not as outbox-gen writes them. It looks at
# what is staged and not at the work tree, because that is what is committed.
set -eu
staged=$(mktemp -d)
trap 'rm -rf "$staged"' EXIT
git checkout-index --all --prefix="$staged/"
cd "$staged"
outbox-gen check
