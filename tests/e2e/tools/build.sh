#!/bin/sh
# Builds the tools pinned in a go.mod into a cache, once for each state of it.
#
#   build.sh                    builds what is missing of this directory's go.mod below $LHE_E2E_BIN
#                               (default: target/e2e-bin) and points its link `current` there
#   build.sh DIRECTORY LINK     the same for another go.mod and link
#
# Exit status: 0 all tools are there; 3 no usable Go, so the tests that need them cannot run (the
# caller has to say so); anything else is a failed build.
set -eu

self=$(cd "$(dirname "$0")" && pwd)
cache=${LHE_E2E_BIN:-$(cd "$self/../../.." && pwd)/target/e2e-bin}
here=$(cd "${1:-$self}" && pwd)
link=${2:-current}
tools=$(sed -n '/^tool (/,/^)/s/^\t//p' "$here/go.mod")

say() { echo "e2e tools: $*"; }

no_go() {
    bar=$(printf '%78s' '' | tr ' ' '!')
    printf '\n%s\n!! THE END-TO-END TESTS CANNOT RUN: %s\n' "$bar" "$1"
    printf '!! They build a real kube-apiserver, which needs Go %s or newer on PATH.\n%s\n\n' \
        "$(sed -n 's/^go //p' "$here/go.mod")" "$bar"
    exit 3
} >&2

mkdir -p "$cache"
cache=$(cd "$cache" && pwd)
exec 9>"$cache/lock"
flock 9

key=$(cat "$here/go.mod" "$here/go.sum" "$self/build.sh" | sha256sum | cut -c1-16)
bin=$cache/$key
missing=
for package in $tools; do
    [ -x "$bin/${package##*/}" ] || missing="$missing $package"
done

if [ -n "$missing" ]; then
    cd "$here"
    # Nothing from the caller's own workspace or flags may change what is built.
    export CGO_ENABLED=0 GOFLAGS='-mod=readonly -buildvcs=false' GOWORK=off
    command -v go >/dev/null || no_go "go is not installed"
    why=$(go list -m 2>&1) || no_go "$why"

    version() { sed -n "s|^	\(.* \)\{0,1\}$1 \(v[^ ]*\).*|\2|p" go.mod | head -n 1; }
    kubernetes=$(version k8s.io/kubernetes)
    minor=${kubernetes#v1.}
    minor=${minor%%.*}
    stamp="-X k8s.io/component-base/version.gitVersion=$kubernetes"
    stamp="$stamp -X k8s.io/component-base/version.gitMajor=1"
    stamp="$stamp -X k8s.io/component-base/version.gitMinor=$minor"
    stamp="$stamp -X helm.sh/helm/v4/internal/version.version=$(version helm.sh/helm/v4)"
    stamp="$stamp -X main.version=$(version github.com/yannh/kubeconform)"

    # A build that is cut short leaves whole files only.
    mkdir -p "$bin"
    scratch=$(mktemp -d "$cache/build.XXXXXX")
    trap 'rm -rf "$scratch"' EXIT
    for package in $missing; do
        name=${package##*/}
        say "building $name with $(go env GOVERSION) ..."
        start=$(date +%s)
        # No debug information: it would only cost time and space here.
        go build -trimpath -gcflags=all=-dwarf=false -ldflags "-s -w $stamp" -o "$scratch/" "$package"
        mv "$scratch/$name" "$bin/$name"
        say "built $name in $(($(date +%s) - start)) s, $(($(wc -c <"$bin/$name") / 1000000)) MB"
    done
fi

ln -sfn "$key" "$cache/$link"
say "ready in $cache/$link"
