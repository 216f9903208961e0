# The newcomer's path: make demo, make test. Everything lands in .venv and build/.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check
NEWEST := build/newest-gymnasium

.PHONY: install demo test lint types bench golden gallery fuzz sanitize torture docs clean

install: build

# The build tools come first and the package is built without isolation: then a second build finds the objects of the first.
$(STAMP): pyproject.toml $(wildcard requirements/*.txt)
	$(PYTHON) -m venv $(VENV)
	$(PIP) --upgrade pip
	$(PIP) -r requirements/build.txt
	$(PIP) -r requirements/torch.txt
	$(PIP) -r requirements/test.txt
	touch $(STAMP)

# Sources in C need a build before they are seen; ninja does only what is needed.
.PHONY: build
build: $(STAMP)
	$(PIP) --no-build-isolation --no-deps --editable .

demo: build
	$(BIN)/puzzleport demo

# The second run is for the other end of the Gymnasium releases that are supported.
test: build lint types
	$(BIN)/python -m pytest -n auto
	$(PIP) --upgrade --no-deps --target $(NEWEST) 'gymnasium<2'
	PYTHONPATH=$(NEWEST) $(BIN)/python -m pytest -n auto -q tests/adapters/test_gymnasium.py tests/adapters/test_minari.py

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	find native -name engine -prune -o -name '*.[ch]' -print | xargs $(BIN)/clang-format --dry-run --Werror

types: build
	$(BIN)/python tools/check_types.py

bench: build
	$(BIN)/puzzleport bench

golden: build
	$(BIN)/python -m tests.golden_playthrough

gallery: build
	$(BIN)/python tools/gallery.py docs/gallery.png

docs: build
	$(BIN)/python tools/docs.py
	$(BIN)/python -m mkdocs build --strict

fuzz: build
	bash tools/fuzz.sh

sanitize: build
	bash tools/sanitize.sh

# Hostile threads, forks, signals, exits and saves; SECONDS=3600 for longer.
torture: build
	$(BIN)/python -m tests.torture --seconds $(or $(SECONDS),300)

clean:
	rm -rf $(VENV) build dist site
