#!/bin/sh
# Builds the tools pinned in go.mod beside it and in ../pint into $LHE_LINT_BIN (default:
# target/lint-bin), if they are not there yet.
#
# Exit status: 0 they are there; 3 no usable Go, so what they judge is not judged (the tests say so);
# anything else is a failed build.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
bin=${LHE_LINT_BIN:-$(cd "$here/../../../.." && pwd)/target/lint-bin}
mkdir -p "$bin"
bin=$(cd "$bin" && pwd)
exec 9>"$bin/lock"
flock 9
key=$(cat "$here/go.mod" "$here/go.sum" "$here"/../pint/go.* "$here/build.sh" | sha256sum | cut -c1-16)
[ "$(cat "$bin/key" 2>/dev/null || true)" != "$key" ] || exit 0

cd "$here"
# Nothing from the caller's own workspace or flags may change what is built.
export CGO_ENABLED=0 GOFLAGS='-mod=readonly -buildvcs=false' GOWORK=off GOBIN="$bin"
command -v go >/dev/null || { echo "lint tools: go is not installed" >&2; exit 3; }
go list -m >/dev/null || { echo "lint tools: $(go version) cannot read go.mod" >&2; exit 3; }
start=$(date +%s)
for module in "$here" "$here/../pint"; do
    (cd "$module" && go install -trimpath -ldflags '-s -w' tool)
done
echo "$key" >"$bin/key"
echo "lint tools: built in $(($(date +%s) - start)) s in $bin"
