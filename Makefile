# Needs python3 (>= 3.11, with venv) and make, nothing else. The environment lives in .venv; a stamp says what is in it.
PYTHON ?= python3
VENV ?= .venv
TEST_PROCESSES ?= 3
SECONDS ?= 60
MINUTES ?= 1
SEED ?= 1
PY := $(VENV)/bin/python
RAY_VERSIONS ?= 2.49 2.54 2.60
REAL_FILES = $(shell grep -rl --include='test_*.py' 'mark\.real' tests)
# What runs at each commit: all but other programs, and of these the tests that tests/core.py lists.
OUTSIDE := ray or browser or real or slow
# A test that outlasts its limit ends its process and the run, since xdist would wait for the tests of its lane. The runner
# then runs the rest.
RUN_TESTS = $(PY) -m tools.run_tests -n $(TEST_PROCESSES) --dist loadgroup --no-loadscope-reorder --max-worker-restart 0
NODE_MODULES := frontend/node_modules/.package-lock.json
EXTENSION_SOURCES := $(shell find extension frontend/src -type f \
    -not -path '*/node_modules/*' -not -path '*/labextension/*' -not -name '*.pyc')

# Images of Python often forbid it to keep bytecode. Each of a run's thousands of processes would then compile nbaccel.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: demo dist docs notebooks extension installed-for-tests test test-commit test-all test-ray-versions check fuzz soak \
    bench lab clean

# Run the quickstart notebook without a browser and print what it showed.
demo: $(VENV)/.stamp-demo
	$(PY) notebooks/run_quickstart.py

# The panel and the Jupyter server extension, built from this checkout, in the environment of JupyterLab.
extension: $(VENV)/.stamp-extension

# What needs this machine and the packages of the extra "test" only; TEST_PROCESSES=0 is in one process.
test: $(VENV)/.stamp-test
	$(RUN_TESTS) -m "not ($(OUTSIDE) or extra)" $(PYTEST_ARGS)

# What `make test` leaves out and each commit needs: torch, a core of the tests with a real Ray and a real browser.
test-commit: installed-for-tests
	$(RUN_TESTS) -m "core or extra and not ($(OUTSIDE))" $(PYTEST_ARGS)

# All tests. Those of other programs are skipped, with the reason, where there are none. Each file of theirs has a process
# of its own, since Ray keeps the token of the first cluster for the life of a process.
test-all: installed-for-tests $(VENV)/.stamp-others
	$(RUN_TESTS) -m "not real" $(PYTEST_ARGS)
	set -e; for file in $(REAL_FILES); do $(PY) -m tools.run_tests -m real $$file $(PYTEST_ARGS); done
	$(MAKE) --no-print-directory --jobs=2 --output-sync fuzz soak SECONDS=300 MINUTES=5

# A core of the contract with each of these versions of Ray, in an environment of its own. Older ones leave files open.
test-ray-versions:
	set -e; for version in $(RAY_VERSIONS); do \
	    $(PYTHON) -m venv build/ray-$$version; \
	    build/ray-$$version/bin/python -m pip install --quiet --disable-pip-version-check \
	        --editable '.[test]' "ray[client]==$$version.*"; \
	    build/ray-$$version/bin/python -m pytest -m ray_versions -W ignore::ResourceWarning \
	        -W ignore::pytest.PytestUnraisableExceptionWarning tests/engines tests/ray_engine/test_internals.py; \
	done

installed-for-tests: $(VENV)/.stamp-dev
	if command -v npm >/dev/null; then $(MAKE) --no-print-directory $(NODE_MODULES) || \
	    echo "npm could not install what the front end is built and checked with; its tests are skipped" >&2; fi
	$(MAKE) --no-print-directory extension || echo "nbaccel-lab could not be installed; its tests are skipped" >&2

# Format, lint, types, and generated files.
check: $(VENV)/.stamp-test
	$(PY) -m ruff format --check .
	$(PY) -m ruff check .
	$(PY) -m mypy
	$(PY) tools/observer_schema.py --check
	$(PY) -m tools.panel_types --check
	if command -v npm >/dev/null; then \
	    $(MAKE) --no-print-directory $(NODE_MODULES) && npm --prefix frontend run --silent check; fi

# Bytes at random, from every kind of connection and file that others may write.
fuzz: $(VENV)/.stamp-test
	$(PY) -m tools.fuzz --seconds $(SECONDS) --seed $(SEED)

# Random work on heads whose processes are killed and stopped meanwhile; all results are checked, and what is left.
soak: $(VENV)/.stamp-test
	$(PY) -m tools.soak --minutes $(MINUTES) --seed $(SEED)

# nbaccel beside what users would pick instead, on this machine.
bench: $(VENV)/.stamp-bench
	$(PY) benchmarks/core.py $(BENCH_ARGS)

# Run the notebooks of the course and save them with what they show.
notebooks: $(VENV)/.stamp-test
	$(PY) notebooks/run_course.py

# The site: tutorials, how-to, explanation, reference. `nbaccel docs` opens it, and a wheel that is built afterwards has it.
docs: $(VENV)/.stamp-docs
	rm -rf build/doctrees build/site nbaccel/site
	$(PY) -m sphinx -q -W --keep-going -b html -d build/doctrees docs build/site
	mv build/site nbaccel/site
	@echo "nbaccel/site/index.html is the first page."

# sdist and wheel of nbaccel and of nbaccel-lab, in dist/. Two builds of a commit are equal byte for byte.
dist: export SOURCE_DATE_EPOCH ?= $(shell git log -1 --format=%ct 2>/dev/null || echo 315532800)
dist: $(VENV)/.stamp-dist
	rm -rf dist
	$(PY) -m build --outdir dist .
	$(PY) -m build --outdir dist extension
	$(PY) -m twine check --strict dist/*

# JupyterLab with nbaccel's panel on the tutorials.
lab: $(VENV)/.stamp-tutorials
	$(MAKE) --no-print-directory extension
	PATH="$(abspath $(VENV))/bin:$$PATH" $(PY) -m jupyter lab $(if $(filter 0,$(shell id -u)),--allow-root) notebooks

clean:
	rm -rf $(VENV) frontend/node_modules extension/node_modules extension/nbaccel_lab/labextension build dist nbaccel/site .pytest_cache .mypy_cache .ruff_cache .hypothesis

# What builds and checks the front end. npm writes this file once it has installed everything.
$(NODE_MODULES): frontend/package-lock.json
	npm --prefix frontend ci --loglevel=error
	touch $@

$(VENV)/.stamp-env:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "nbaccel needs Python 3.11 or newer; say PYTHON=python3.12 make ...")'
	$(PYTHON) -m venv $(VENV)
	touch $@

# A wheel's files for Jupyter are copied, so nbaccel-lab is installed anew when a source of it has changed.
$(VENV)/.stamp-extension: $(EXTENSION_SOURCES) $(VENV)/.stamp-env
	$(PY) -m pip install --quiet --disable-pip-version-check ./extension
	touch $@

# nbaccel is installed in place, so only a change of what it depends on asks for a new installation.
$(VENV)/.stamp-%: pyproject.toml $(VENV)/.stamp-env
	$(PY) -m pip install --quiet --disable-pip-version-check --editable '.[$*]'
	touch $@
