# `make test` is all a fresh machine with a Rust toolchain needs; the rest is for those who change things.

.PHONY: test check bench oracle oracle-reference

# Unit, integration, command-line and documentation tests.
test:
	cargo test --workspace --locked

# Formatting, lints and documentation, warnings denied.
check:
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --locked -- -D warnings
	RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --document-private-items --locked

# Speed, one thread, next to an uncertified convolution in the same run.
bench:
	cargo bench -p unspent --bench accountant

# The long search: fresh random compositions from the high-precision oracle against the bounds.
# SEED and PAIRS may be given. Takes some fifteen minutes.
SEED ?= 1
PAIRS ?= 10000
ORACLE_VENV = target/oracle-venv
ORACLE = $(ORACLE_VENV)/bin/python oracle/oracle.py

$(ORACLE_VENV)/installed: oracle/requirements.txt
	python3 -m venv $(ORACLE_VENV)
	$(ORACLE_VENV)/bin/pip install --quiet -r oracle/requirements.txt
	touch $@

oracle: $(ORACLE_VENV)/installed
	$(ORACLE) random --seed $(SEED) --pairs $(PAIRS) --out target/oracle-$(SEED).json
	UNSPENT_ORACLE=$(CURDIR)/target/oracle-$(SEED).json \
		cargo test --release --locked -p unspent --lib more_of_the_oracle -- --nocapture

# Regenerates the reference file of the tests.
oracle-reference: $(ORACLE_VENV)/installed
	$(ORACLE) selftest
	$(ORACLE) random --seed 20221 --pairs 3000 --out oracle/reference.json
