# Recipes for those who like make; the scripts do the work.

.PHONY: demo test generate golden bench
demo: ; scripts/demo
test: ; scripts/test

# writes rules/, dashboards/, deploy/ and docs/ anew from the checks
generate: ; cargo run --quiet --locked -- generate all

# writes the golden files of the tests anew; read the difference before committing it
golden: ; UPDATE_GOLDEN=1 cargo test --locked --workspace --lib --tests

bench: ; cargo bench --locked
