# Recipes for those who like make; the scripts do the work.

.PHONY: demo test generate golden bench
demo: ; scripts/demo
test: ; scripts/test

# writes rules/, dashboards/, deploy/ and docs/ anew from the checks
generate: ; cargo run --quiet --locked -- generate all

# writes the golden files of the tests anew; read the difference before committing it
# (not the other tests: they would take minutes, and the first that fails would end it)
golden: ; UPDATE_GOLDEN=1 cargo test --locked --no-fail-fast --test scenarios --test chain --test monitoring

bench: ; cargo bench --locked
