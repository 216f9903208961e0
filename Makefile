# The newcomer's path: make demo, make test. Everything lands in .venv and build/.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.PHONY: install demo test lint types bench golden clean

install: $(STAMP)

# The build tools come first and the package is built without isolation: then a second build finds the objects of the first.
$(STAMP): pyproject.toml requirements/build.txt requirements/test.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet -r requirements/build.txt
	$(BIN)/python -m pip install --quiet -r requirements/test.txt
	$(BIN)/python -m pip install --quiet --no-build-isolation --editable .
	touch $(STAMP)

# Sources in C need a build before they are seen; ninja does only what is needed.
.PHONY: build
build: install
	$(BIN)/python -m pip install --quiet --no-build-isolation --no-deps --editable .

demo: build
	$(BIN)/puzzleport demo

test: build lint types
	$(BIN)/python -m pytest -n auto

lint: install
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: install
	$(BIN)/python tools/check_types.py

bench: build
	$(BIN)/puzzleport bench

golden: build
	$(BIN)/python -m tests.golden_playthrough

clean:
	rm -rf $(VENV) build dist site
