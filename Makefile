# `make test` is all a fresh machine with a Rust toolchain, Python and Node needs; the rest is for those who
# change things.

.PHONY: mutants test test-web test-rust test-python kills check bench fuzz soak peers browser \
	try-browser gallery wheel java try-java spark-cluster bench-spark docs docs-links oracle oracle-pairs \
	oracle-answers oracle-search oracle-hostile oracle-certificates oracle-mechanisms oracle-estimate \
	oracle-rounding oracle-design oracle-reference elementary bench-estimate coverage bench-tables spelling \
	table-errors design-coverage msrv packages workflows wasm debian-wasm try-wasm test-wasm test-types \
	firefox test-firefox pack site sanitize timing supply-chain audit-python

# Everything but the benches that compile others' programs to measure against.
WORKSPACE = --workspace --exclude unspent-bench-noise --exclude unspent-bench-tables

# The WebAssembly module and the wheel are built beside the tests, which do not use all cores all the time.
test: try-browser try-java test-web
	$(MAKE) --no-print-directory -j3 try-wasm test-rust test-python

# The pages' modules, as far as they need no browser.
test-web:
	node --test crates/unspent-explorer/web/tests/*.test.js

# Unit, integration, command-line and documentation tests. The Python package can only be loaded by Python.
test-rust:
	cargo test $(WORKSPACE) --exclude unspent-py --locked

# The wheel, built and installed into a virtual environment of its own, and its tests.
PYTHON = target/python-venv/bin/python

target/python-venv/installed: crates/unspent-py/requirements.txt
	python3 -m venv target/python-venv
	$(PYTHON) -m pip install --quiet --disable-pip-version-check -r crates/unspent-py/requirements.txt
	touch $@

INSTALL = -m pip install --quiet --disable-pip-version-check

wheel: target/python-venv/installed
	rm -rf target/wheels
	$(PYTHON) -m pip wheel --quiet --disable-pip-version-check --no-deps --wheel-dir target/wheels .
	$(PYTHON) $(INSTALL) --no-deps --force-reinstall target/wheels/unspent-*.whl

test-python: wheel
	$(PYTHON) -m pytest --quiet

# A release on a standalone Spark cluster, of which a worker is killed while it writes, and of which tasks are
# started twice: with PySpark 4 and 3.5. Takes some minutes.
SPARK35 = target/spark35-venv/bin/python

spark-cluster: wheel java
	test -x $(SPARK35) || python3 -m venv target/spark35-venv
	$(SPARK35) $(INSTALL) 'pyspark==3.5.*' 'pyarrow==18.*' 'numpy==1.26.*' 'pandas==2.2.*' pytest setuptools
	$(SPARK35) $(INSTALL) --no-deps --force-reinstall target/wheels/unspent-*.whl
	$(PYTHON) crates/unspent-py/tests/spark_cluster.py
	$(SPARK35) crates/unspent-py/tests/spark_cluster.py

# Rows a second on Spark, beside the command's.
bench-spark: wheel java
	cargo build --release --locked -p unspent-cli
	$(PYTHON) benchmarks/spark.py target/release/unspent

# Runs of `measure` and `estimate` that are killed, panic or find a full disk, at two hundred points each; the
# tests have some.
kills:
	UNSPENT_KILLS=200 cargo test --locked -p unspent-cli --test it -- --nocapture \
		disk::a_run_that_is_killed kills::

# What the tests of the pages need besides: a Chromium, which is Debian's if there is none and it may be
# installed; Node; and from npm the driver between them.
CHROMIUM ?= /usr/bin/chromium
browser:
	test -x $(CHROMIUM) || { [ "$$(id -u)" = 0 ] && timeout 60 apt-get update -qq && \
		timeout 240 apt-get install -y -qq chromium > /dev/null; }
	mkdir -p target/browser
	cd target/browser && { test -d node_modules/playwright-core || \
		timeout 120 npm install --silent --no-save playwright-core@1.64.1; }

# The same where it is possible. Without it those tests are skipped, by name; nothing else is.
try-browser:
	@$(MAKE) --silent browser || echo "SKIPPED: no browser for the tests of the pages (make browser)"

# What the tests of unspent.spark need besides: Java, which is Debian's if there is none and it may be
# installed.
java:
	command -v java > /dev/null || { [ "$$(id -u)" = 0 ] && timeout 60 apt-get update -qq && \
		timeout 240 apt-get install -y -qq openjdk-17-jre-headless > /dev/null; }

try-java:
	@$(MAKE) --silent java || echo "SKIPPED: no Java for the tests of unspent.spark (make java)"

# The documentation's pictures; those of the explorer are made by its test.
gallery: browser
	cargo test --locked -p unspent-cli --test it serve::the_page_in_a_browser
	cp target/explorer/explorer.png target/explorer/explorer-dark.png target/explorer/explorer-narrow.png docs/
	cargo run --release --locked -- reproduce --force --no-png --out target/gallery
	cp target/gallery/figures/curves-by-level.svg target/gallery/figures/tradeoff-by-level.svg \
		target/gallery/figures/overall-curve.svg docs/

# The accountant as a WebAssembly module, and the pages with it inside: target/web. By rustup's toolchain
# where it has the target or can get it, else by Debian's, which builds the standard library along.
WEB = target/web
WASM = wasm32-unknown-unknown
WASM_BUILD = build --package unspent-wasm --lib --profile wasm --target $(WASM) --locked
DEBIAN = RUSTC=/usr/bin/rustc RUSTC_BOOTSTRAP=1 CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER=wasm-ld \
	/usr/bin/cargo

wasm:
	if rustup target list --installed 2> /dev/null | grep -qx $(WASM) \
		|| timeout 120 rustup target add $(WASM) 2> /dev/null; then cargo $(WASM_BUILD); \
		else $(MAKE) debian-wasm && $(DEBIAN) $(WASM_BUILD) -Zbuild-std=std,panic_abort; fi
	mkdir -p $(WEB)
	cp target/$(WASM)/wasm/unspent_wasm.wasm $(WEB)/unspent.wasm
	cargo run --quiet --locked --package unspent-site -- $(WEB)/unspent.wasm $(WEB)

# Debian's toolchain, if need be installed.
DEBIAN_SOURCES = /usr/lib/rustlib/src/rust/library/std
debian-wasm:
	test -x /usr/bin/cargo -a -d $(DEBIAN_SOURCES) || { [ "$$(id -u)" = 0 ] && timeout 60 apt-get update -qq && \
		timeout 240 apt-get install -y -qq rustc-web cargo-web rust-web-src lld > /dev/null; }

# The package for JavaScript: what `npm pack target/web/package` packs.
PACKAGE = $(WEB)/package
pack: wasm
	rm -rf $(PACKAGE)
	mkdir -p $(PACKAGE)
	cp crates/unspent-wasm/package/* crates/unspent-explorer/web/alone/accountant.js LICENSE-* \
		$(WEB)/unspent.wasm $(PACKAGE)
	npm pack --silent --pack-destination $(WEB) ./$(PACKAGE)

# The module and the package by themselves, where they can be built. Otherwise they are skipped, by name;
# nothing else is.
try-wasm:
	@if $(MAKE) --silent pack; then \
		node --test crates/unspent-wasm/tests/module.test.js crates/unspent-wasm/tests/package.test.js; \
		else echo "SKIPPED: no WebAssembly module for its tests (make wasm)"; fi

# The module beside the native library, on all reference values and presets, bit for bit; the package; and the
# pages from a disk, in Chromium. Takes some minutes.
test-wasm: pack browser test-types
	cargo build --quiet --locked --package unspent-wasm --example native
	NATIVE=target/debug/examples/native node --test crates/unspent-wasm/tests/*.test.js
	cargo test --locked -p unspent-cli --test it serve::the_page -- --ignored --nocapture

# What the package's types allow and refuse, by the compiler of TypeScript, which is from npm.
TYPES = target/types
test-types: pack
	mkdir -p $(TYPES)
	cd $(TYPES) && { test -d node_modules/typescript || \
		timeout 120 npm install --silent --no-save typescript@5.9.3; }
	rm -rf $(TYPES)/node_modules/unspent
	cp -r $(PACKAGE) $(TYPES)/node_modules/unspent
	cp crates/unspent-wasm/tests/types.ts $(TYPES)/types.mts
	node $(TYPES)/node_modules/typescript/bin/tsc --noEmit --strict --target es2022 --module nodenext \
		$(TYPES)/types.mts

# The pages from a disk in Firefox, which is Debian's if there is none and it may be installed; the driver is
# from npm. Where they cannot be had the test is skipped, by name.
FIREFOX ?= /usr/bin/firefox-esr
firefox:
	test -x $(FIREFOX) || { [ "$$(id -u)" = 0 ] && timeout 60 apt-get update -qq && \
		timeout 240 apt-get install -y -qq firefox-esr > /dev/null; }
	mkdir -p target/firefox
	cd target/firefox && { test -d node_modules/puppeteer-core || \
		timeout 120 npm install --silent --no-save puppeteer-core@24.43.1; }

test-firefox: wasm
	cargo build --quiet --locked --package unspent-cli
	@if $(MAKE) --silent firefox; then cp crates/unspent-cli/tests/browser/firefox.mjs target/firefox && \
		FIREFOX=$(FIREFOX) UNSPENT=target/debug/unspent EXAMPLES=examples \
		node target/firefox/firefox.mjs $(WEB)/explorer.html $(WEB)/calculator.html; \
		else echo "SKIPPED: no Firefox for the tests of the pages (make firefox)"; fi

# Explorer, calculator, documentation and the report on the paper as one static site: target/site.
SITE = target/site
site: wasm docs
	rm -rf $(SITE)
	mkdir -p $(SITE)
	cp $(WEB)/explorer.html $(WEB)/calculator.html crates/unspent-site/index.html $(SITE)
	cargo run --quiet --locked -- reproduce --force --no-png --out $(SITE)/paper
	cp -r target/book $(SITE)/docs

# The documentation as a site in target/book, with its links and spelling checked. The program that makes it
# is compiled once, which takes some minutes; the tests check links and run every block without it.
MDBOOK = target/mdbook/bin/mdbook

$(MDBOOK):
	cargo install --locked --quiet --debug --root target/mdbook \
		--target-dir target/mdbook/build --no-default-features \
		--version 0.5.4 mdbook

docs: $(MDBOOK) spelling
	python3 crates/unspent-py/tests/pages.py --check
	$(MDBOOK) build
	python3 crates/unspent-py/tests/pages.py --built target/book

# The spelling of all pages, code left out: British English, and the words of .ci/spelling.json.
SPELLING = target/spelling
spelling:
	mkdir -p $(SPELLING)
	cd $(SPELLING) && { test -d node_modules/cspell || timeout 240 npm install --silent --no-save cspell@9.8.0; }
	git ls-files '*.md' ':!fuzz/seeds' | $(SPELLING)/node_modules/.bin/cspell lint --config .ci/spelling.json \
		--no-progress --no-must-find-files --file-list stdin

# Links every term of the glossary where a page first uses it.
docs-links:
	python3 crates/unspent-py/tests/pages.py

# The oldest compiler that Cargo.toml states builds all that is released, with what Cargo.lock has.
MSRV = $(shell sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)
msrv:
	rustup toolchain install $(MSRV) --profile minimal
	CARGO_TARGET_DIR=target/msrv cargo +$(MSRV) check --locked -p unspent-cli -p unspent-py

PACKAGES_VENV = target/packages-venv

# What registries would get, built from itself: crates, and the source of the wheel.
packages: $(PACKAGES_VENV)/installed
	cargo package --locked -p unspent -p unspent-estimate -p unspent-data -p unspent-plot -p unspent-explorer \
		-p unspent-cli
	$(PACKAGES_VENV)/bin/maturin sdist --out target/package

# The workflows, against the schema of such files.
workflows: $(PACKAGES_VENV)/installed
	$(PACKAGES_VENV)/bin/check-jsonschema --builtin-schema vendor.github-workflows .github/workflows/*.yml

$(PACKAGES_VENV)/installed:
	python3 -m venv $(PACKAGES_VENV)
	$(PACKAGES_VENV)/bin/pip install --quiet --disable-pip-version-check 'maturin>=1.9,<2' check-jsonschema
	touch $@

# Formatting, lints and documentation, warnings denied. (What documents the Python package is for Python.)
check: target/python-venv/installed
	$(PYTHON) -m ruff format --check --quiet
	$(PYTHON) -m ruff check --quiet
	cargo fmt --all --check
	python3 .ci/supply_chain.py
	cargo metadata --locked --format-version 1 --manifest-path fuzz/libfuzzer/Cargo.toml > /dev/null
	cargo clippy $(WORKSPACE) --all-targets --locked -- -D warnings
	RUSTDOCFLAGS="-D warnings" \
		cargo doc $(WORKSPACE) --exclude unspent-py --no-deps --document-private-items --locked

# Speed, one thread, next to an uncertified convolution in the same run; the explorer's server; and draws of
# noise per second, next to a textbook sampler and OpenDP's (alone: cargo bench -p unspent-bench-noise).
bench:
	cargo bench -p unspent --bench accountant
	cargo bench -p unspent-estimate --bench cells
	cargo bench -p unspent-estimate --bench design
	cargo bench -p unspent-cli --bench serve
	cargo bench -p unspent-bench-noise

# Every parser and entry, and answers that must agree, under libFuzzer: MINUTES for all of them together, or
# for those of TARGETS. Needs a C++ compiler. The tests try the same targets with fewer inputs.
MINUTES ?= 17
TARGETS ?=
fuzz:
	fuzz/run $(MINUTES) $(TARGETS)

# Licences, sources and duplicates of all dependencies; with ADVISORIES, the directory of a copy of the
# RustSec advisory database, known defects of them too.
ADVISORIES ?=
supply-chain:
	python3 .ci/supply_chain.py $(ADVISORIES)

# Known defects of the Python packages that tests and benches install. Asks PyPI, and fails where it cannot.
audit-python: target/python-venv/installed
	$(PYTHON) $(INSTALL) pip-audit
	$(PYTHON) -m pip_audit --strict --local

# The sampler's tests under AddressSanitizer, registers and all. RUSTC_BOOTSTRAP because the sanitizer is not
# stable yet; the program itself is never built so.
HOST = $(shell rustc -vV | sed -n 's/^host: //p')
sanitize:
	RUSTC_BOOTSTRAP=1 RUSTFLAGS=-Zsanitizer=address \
		cargo test --locked -p unspent --lib --target $(HOST) --target-dir target/sanitize sampler::tests -- \
		--skip ten_million --skip statistics

# Whether the time of draws depends on what is drawn. On a machine that has nothing else to do.
timing:
	cargo bench --locked -p unspent --bench timing

# Elementary functions at ARGUMENTS random arguments in each of their ranges, beside double-doubles: the one
# assumption about the library behind them. For a new version of it. Takes some minutes.
ARGUMENTS ?= 5000000
elementary:
	ARGUMENTS=$(ARGUMENTS) SEED=$(SEED) \
		cargo test --release --locked -p unspent --lib float::elementary -- --nocapture

# How long good clients of the explorer's server wait beside bad ones, and whether memory stays: five parts of
# SECONDS each, on this machine only. SECONDS=120 is ten minutes.
SECONDS ?= 30
soak:
	cargo build --release --locked -p unspent-cli
	python3 benchmarks/soak.py target/release/unspent $(SECONDS)

# Estimates: times beside a general sparse solver, and how often intervals are right in RUNS runs.
RUNS ?= 100
BENCH_VENV = target/bench-venv

$(BENCH_VENV)/installed: benchmarks/requirements.txt
	python3 -m venv $(BENCH_VENV)
	$(BENCH_VENV)/bin/pip install --quiet -r benchmarks/requirements.txt
	touch $@

bench-estimate: $(BENCH_VENV)/installed
	cargo build --release --locked -p unspent-cli
	$(BENCH_VENV)/bin/python benchmarks/estimate.py target/release/unspent times

coverage: $(BENCH_VENV)/installed
	cargo build --release --locked -p unspent-cli
	$(BENCH_VENV)/bin/python benchmarks/estimate.py target/release/unspent coverage $(RUNS)

# Designs: how often estimates are within the margins that were asked for, in RUNS runs.
design-coverage: RUNS = 200
design-coverage: $(BENCH_VENV)/installed
	cargo build --release --locked -p unspent-cli
	$(BENCH_VENV)/bin/python benchmarks/design.py target/release/unspent $(RUNS)

# Whole tables: times beside an interior-point solver, and their errors in RUNS runs (10 by default; they
# take about twenty minutes on two free cores).
bench-tables: $(BENCH_VENV)/installed
	cargo build --release --locked -p unspent-cli
	cargo bench --locked --profile release -p unspent-bench-tables --no-run
	$(BENCH_VENV)/bin/python benchmarks/tables.py target/release/unspent times

table-errors: RUNS = 10
table-errors: $(BENCH_VENV)/installed
	cargo build --release --locked -p unspent-cli
	$(BENCH_VENV)/bin/python benchmarks/tables.py target/release/unspent errors $(RUNS)

# Other accountants on the same problems, side by side: docs/benchmarks.md. Takes about half an hour.
peers:
	python3 benchmarks/peers/run.py

# Fresh random answers against exact ones: compositions of discrete Gaussian noise (PAIRS of them), of all
# mechanisms (COUNT values), all kinds of questions to the library (CASES_OF_ALL compositions), and to the
# Python package (ANSWERS). SEED and these may be given. Takes some fifteen minutes; nothing may be outside.
SEED ?= 1
PAIRS ?= 2000
CASES_OF_ALL ?= 200
ANSWERS ?= 5000
ORACLE_VENV = target/oracle-venv
ORACLE = $(ORACLE_VENV)/bin/python -m oracle

$(ORACLE_VENV)/installed: oracle/requirements.txt
	python3 -m venv $(ORACLE_VENV)
	$(ORACLE_VENV)/bin/pip install --quiet -r oracle/requirements.txt
	touch $@

oracle: oracle-pairs oracle-mechanisms oracle-answers oracle-search

oracle-pairs: $(ORACLE_VENV)/installed
	$(ORACLE) random --seed $(SEED) --pairs $(PAIRS) --out target/oracle-$(SEED).json
	UNSPENT_ORACLE=$(CURDIR)/target/oracle-$(SEED).json \
		cargo test --release --locked -p unspent --lib every_answer_of_the_oracle -- --nocapture

# Questions of all kinds, knots, beliefs and expected errors among them, with enclosures of the answers.
oracle-answers: $(ORACLE_VENV)/installed
	$(ORACLE).answers --seed $(SEED) --cases $(CASES_OF_ALL) --out target/oracle-answers-$(SEED).json
	UNSPENT_ORACLE_ANSWERS=$(CURDIR)/target/oracle-answers-$(SEED).json \
		cargo test --release --locked -p unspent --lib oracle::answers -- --nocapture

# Hostile compositions, and all that the Python package can be asked about them. The second is the long one.
oracle-search: $(ORACLE_VENV)/installed wheel
	$(ORACLE_VENV)/bin/pip install --quiet --no-deps --force-reinstall target/wheels/unspent-*.whl
	$(ORACLE).search run --seed $(SEED) --answers $(ANSWERS) --out target/oracle-search-$(SEED).jsonl

oracle-hostile: ANSWERS = 100000
oracle-hostile: oracle-search

# Mutants of the libraries, all in one build, and which of them the tests notice: MUTANTS of them from SEED,
# for so many MINUTES; the quick tests are asked about all of them first. `docs/mutants.md` has what was
# found.
MUTANTS ?= 120
mutants: MINUTES = 30
mutants:
	python3 -m oracle.mutants build --seed $(SEED) --count $(MUTANTS)
	python3 -m oracle.mutants run --minutes $(MINUTES) --slow 2
	python3 -m oracle.mutants run --minutes $(MINUTES)
	python3 -m oracle.mutants table

# Every line of every preset's certificate, by the oracle's own reading of the preset.
oracle-certificates: $(ORACLE_VENV)/installed
	cargo build --release --locked
	$(ORACLE_VENV)/bin/python -m oracle.certificates target/release/unspent crates/unspent/presets

# Fresh random compositions of all mechanisms against the bounds; COUNT is the number of values. SEED and
# COUNT may be given. Takes some five minutes.
oracle-mechanisms: $(ORACLE_VENV)/installed
	$(ORACLE).mechanisms random --seed $(SEED) --count $(COUNT) --out target/oracle-mechanisms-$(SEED).json
	UNSPENT_ORACLE_MECHANISMS=$(CURDIR)/target/oracle-mechanisms-$(SEED).json \
		cargo test --release --locked -p unspent --lib oracle_for_other_mechanisms -- --nocapture

# Fresh random trees: the estimates and all their covariances against the dense definition in exact rationals.
# SEED and COUNT may be given.
COUNT ?= 1000

oracle-estimate: $(ORACLE_VENV)/installed
	$(ORACLE).estimate --seed $(SEED) --count $(COUNT) --out target/oracle-estimate.jsonl
	UNSPENT_ORACLE_ESTIMATE=$(CURDIR)/target/oracle-estimate.jsonl \
		cargo test --locked --release -p unspent-estimate --test oracle

# Fresh random problems: whole tables with given sums against a linear program. SEED and COUNT may be given.
oracle-rounding: $(ORACLE_VENV)/installed
	$(ORACLE).rounding --seed $(SEED) --count $(COUNT) --out target/oracle-rounding.jsonl
	UNSPENT_ORACLE_ROUNDING=$(CURDIR)/target/oracle-rounding.jsonl \
		cargo test --locked --release -p unspent-estimate --test rounding

# Fresh random needs: least budgets against a solver of cone programs; and a thousand random trees, whose
# variances are compared with the estimator's and with the definition. SEED and COUNT may be given.
oracle-design: $(ORACLE_VENV)/installed
	$(ORACLE).design --seed $(SEED) --count $(COUNT) --out target/oracle-design.jsonl
	UNSPENT_ORACLE_DESIGN=$(CURDIR)/target/oracle-design.jsonl \
		cargo test --locked --release -p unspent-estimate --test design -- --nocapture
	UNSPENT_DESIGN_CASES=$(COUNT) \
		cargo test --locked --release -p unspent-estimate --lib design::tests -- --nocapture

# Regenerates the reference files of the tests.
oracle-reference: $(ORACLE_VENV)/installed
	$(ORACLE) selftest
	$(ORACLE) fixed oracle
	$(ORACLE) random --seed 20221 --pairs 3000 --out oracle/reference.json
	$(ORACLE).answers --seed 20228 --cases 80 --out oracle/answers.json
	$(ORACLE).mechanisms check oracle/mechanisms.json
	$(ORACLE).mechanisms random --seed 20226 --count 1930 --out oracle/mechanisms_random.json
	$(ORACLE).mechanisms random --closed --seed 20227 --count 400 --out oracle/mechanisms_closed.json
	$(ORACLE).estimate --seed 20222 --count 60 --largest 60 --out oracle/estimate.jsonl
	$(ORACLE).design --seed 20223 --count 200 --out oracle/design.jsonl
