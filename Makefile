# Recipes for those who like make; the scripts do the work.

.PHONY: demo test quick mutants check-of check-plan generate golden bench bench-peers
demo: ; scripts/demo
test: ; scripts/test

# what a change of a check breaks first, its cases among them
quick:
	cargo test --quiet --locked --no-fail-fast --lib -p longhorn-health-checks -p longhorn-health-facts -p longhorn-health-report -p longhorn-health-desk
	cargo test --quiet --locked --no-fail-fast --test suite --test clusters -- catalogue:: docs:: generated:: verdicts:: reads:: corpus:: scenarios::

# the tests and the cases of one check: make check-of CHECK=manager_crash_loop
check-of:
	@test -d src/checks/$(CHECK) || { echo "no src/checks/$(CHECK): name a check, as in CHECK=manager_probes" >&2; exit 2; }
	@test ! -e tests/corpus/$(CHECK).yaml || grep -q $(CHECK) tests/corpus/mod.rs || { echo "add $(CHECK) to subjects! in tests/corpus/mod.rs: its cases do not run" >&2; exit 2; }
	cargo test --quiet --locked --package longhorn-health-checks --lib -- $(CHECK)::
	cargo test --quiet --locked --test clusters -- corpus::$(CHECK)

# the cases of plans, tests/plan/
check-plan: ; cargo test --quiet --locked --package longhorn-health-desk --lib -- plan::

# do the tests notice mistakes in the logic? tests/mutants.txt lists them; make mutants MUTANTS=3,17 tries some
mutants: ; MUTANTS=$(MUTANTS) cargo test --locked --test suite -- code_mutants:: --ignored --nocapture

# writes rules/, dashboards/, mixin/, deploy/ and docs/ again from the checks
generate: ; cargo run --quiet --locked -- generate all

# writes the golden files of the tests again; read the difference before committing it
golden:
	UPDATE_GOLDEN=1 cargo test --locked --no-fail-fast --test monitoring
	UPDATE_GOLDEN=1 cargo test --locked --no-fail-fast --test clusters --test suite -- scenarios:: chain::

bench: ; cargo bench --locked --bench sync

# serve, check and record beside kubectl, and kube-state-metrics where it is on PATH, with 1,000, 5,000 and 20,000 volumes on a real
# API server (tests/e2e/tools/build.sh); LONGHORN_HEALTH_BENCH_VOLUMES says other sizes
bench-peers: ; LHE_E2E=required cargo bench --locked --bench peers
