# Recipes for those who like make; the scripts do the work.

.PHONY: demo test quick generate golden bench bench-peers
demo: ; scripts/demo
test: ; scripts/test

# what a change of a check breaks first, within a minute of a build
quick:
	cargo test --quiet --locked --no-fail-fast -p longhorn-health-checks -p longhorn-health-report --lib
	cargo test --quiet --locked --no-fail-fast --test suite --test scenarios -- docs:: catalogue:: generated:: verdicts:: reads:: written_down

# writes rules/, dashboards/, deploy/ and docs/ anew from the checks
generate: ; cargo run --quiet --locked -- generate all

# writes the golden files of the tests anew; read the difference before committing it
# (not the other tests: they would take minutes, and the first that fails would end it)
golden:
	UPDATE_GOLDEN=1 cargo test --locked --no-fail-fast --test scenarios --test monitoring
	UPDATE_GOLDEN=1 cargo test --locked --test suite chain::

bench: ; cargo bench --locked --bench sync

# serve, check and record beside kubectl, and kube-state-metrics where it is on PATH, with 1,000, 5,000 and 20,000 volumes on a real
# API server (tests/e2e/tools/build.sh); LONGHORN_HEALTH_BENCH_VOLUMES says other sizes
bench-peers: ; LHE_E2E=required cargo bench --locked --bench peers
